//! Sessions, interest, delivery, queue groups, outboxes, and the one path every message takes.
//!
//! This crate knows no streams (a stream is a number it delivers to), no sockets and no files.
//! [`Broker`] is the machine; [`Link`] is the seam to other servers.

mod account_limits;
mod arrival;
mod asking;
mod broker;
mod calls;
mod claimed;
mod client;
mod client_info;
mod closing;
mod common;
mod compression;
mod connection;
mod crossings;
mod deliver;
mod deliver_links;
mod doorway;
mod front;
mod garbage;
mod gone;
mod groups;
mod interest;
mod internal;
mod keepalive;
mod label;
mod latency;
mod limits;
mod link;
mod link_detail;
mod link_login;
mod links;
mod mapped_reply;
mod memory;
mod msgtrace;
mod msgtrace_accounts;
mod options;
mod outbox;
mod output;
mod oversized;
mod packs;
mod proof;
mod publish;
mod pulse;
mod readiness;
mod refrain;
mod rejudge;
mod reload;
mod requests;
mod responses;
mod setup;
mod shadows;
mod sharing;
mod slab;
mod stalls;
mod stock;
mod strangers;
mod subscribe;
mod system;
mod taken;
mod trace;
mod trace_headers;
mod trace_report;
mod unmet;
mod upcalls;
mod view;
mod wide_links;

#[cfg(test)]
mod tests;

pub use arrival::{Address, Arrival, PeerAddr, Security, Upgrade};
pub use asking::Asking;
pub use broker::Broker;
pub use compression::{Agreed, Compression, Packing};
pub use connection::Traffic;
pub use doorway::{Admission, Doorway, REFUSED_CAUSE, REFUSED_TEXT, told_as};
pub use front::Front;
pub use garbage::garbage_cause;
pub use gone::{Gone, GoneSub};
pub use interest::InterestCounts;
pub use limits::{FastProducers, Limits};
pub use link::{
    Conn, InterestChange, Level, Link, LinkId, LinkKind, LinkPeer, LinkStatus, LinkVerdict, Sent,
    ServerFacts, ServerUrls, Source, Upcalls, Via, Wanted,
};
pub use link_detail::{
    GatewayAccount, GatewayDetail, GatewayWay, InterestMode, LinkDetail, RouteDetail, Subjects,
};
pub use mapped_reply::{MappedReply, name_hash};
pub use outbox::Outbox;
pub use output::{Output, Pack};
pub use packs::{Packs, Settled};
pub use pulse::{Beat, Pulse};
pub use setup::Setup;
pub use taken::{Next, Taken};
pub use trace::LineTrace;
pub use trace_report::{TraceEvent, TraceMark, TracePeer, TraceReport, TraceStep};
pub use unmet::{Room, Unmet, Wish};
pub use view::{AccountView, ByPeer, ClientView, ClosedClient, Fanout, LineView, SubView, Totals};
