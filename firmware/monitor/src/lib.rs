//! The monitoring documents, from a read-only view of the node.
//!
//! [`render`] answers one HTTP request: nats-server's documents with its keys, their order,
//! parameters and error texts, and a page that lists them; [`report`] answers the same for the
//! system account. `gather` takes plain rows out of the
//! view, the documents know only those. This crate knows no sockets, counts nothing and keeps
//! nothing: what is not in the view the caller tells in [`Process`].

mod accountz;
mod accstatz;
mod answer;
mod connz;
mod endpoint;
mod expvarz;
mod gatewayz;
mod gather;
mod healthz;
mod ipqueuesz;
mod jetstream;
mod jsz;
mod leafz;
mod limits;
mod metrics;
mod page;
mod pages;
mod paging;
mod process;
mod query;
mod raw;
mod render;
mod report;
mod root;
mod routez;
mod rows;
mod stacksz;
mod statsz;
mod status;
mod subsz;
mod text;
mod varz;

#[cfg(test)]
mod tests;

pub use endpoint::{counted_as, is_private};
pub use page::{HTML, JSON, Page};
pub use pages::whole_page;
pub use process::{CertEnds, DiskCounts, OcspCacheStats, Process};
pub use render::render;
pub use report::{Unanswered, report};
pub use stacksz::Thread;
pub use status::{
    Condition, Configuration, Outcome, Quality, Seen, Sensor, Step, Trouble, Version, condition,
};
