//! The whole server as one value: handle, poll, deadline.
//!
//! The node moves outputs of one machine to inputs of another and decides nothing itself:
//! the broker knows no streams, the streams know no connections. It knows no sockets, no files
//! and no kind of peer: see [`LinkMakers`].

mod authority;
mod bridge;
mod callout;
mod claims;
mod cluster;
mod gateway;
mod io;
mod lame_duck;
mod left_over;
mod limits;
mod lines;
mod links;
mod node;
mod owner;
mod pins;
mod reload;
mod report;
mod seed;
mod setup;
mod sharing;
mod switch;
mod system;
mod tracing;
mod view;

pub use authority::{Authority, authority};
pub use claims::{ClaimsNews, ClaimsWish};
pub use cluster::{ClusterSeed, Clustering, RouteChange, Routes};
pub use gateway::{Crossing, GatewaySeed, Gateways};
pub use io::{Input, Listener, Output};
pub use lines::{Late, WriteRule};
pub use links::{Accepting, LeafListener, LinkMakers, Soliciting};
pub use node::Node;
pub use report::{ReportError, ReportRequest};
pub use seed::{NodeSeed, StorageLimits, VERSION};
pub use setup::check_accounts;
pub use system::ocsp::{CertInfo, OcspNews};
pub use view::{StreamsView, View};

/// A stream refuses further messages while so many wait for the disk.
pub use frond_jetstream::limits::INFLIGHT_MESSAGES_MAX;
