//! The monitoring documents, from a read-only view of the node.
//!
//! spec: nats-server v2.15.1 server/monitor.go

mod stub;

pub use stub::{DiskCounts, Page, Process, counted_as, render};
