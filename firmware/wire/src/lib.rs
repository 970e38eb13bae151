//! Bytes to NATS operations and back, for client and leaf, deciding nothing.
//!
//! Operations are slices of the connection's own buffer: nothing is copied here.
//! This crate knows no sessions, no accounts and no sockets.

mod common;
mod connect_info;
pub mod encode;
mod error;
mod fields;
pub mod go_json;
pub mod headers;
mod leaf_connect;
pub mod limits;
mod message;
mod op;
mod operation;
mod parser;
mod proxy_header;
mod route_connect;
mod route_op;
mod routed;
mod server_info;
mod verb;

pub use common::Head;
pub use connect_info::ConnectInfo;
pub use error::WireError;
pub use headers::Headers;
pub use leaf_connect::LeafConnect;
pub use limits::Limits;
pub use message::{Message, MessageBuf};
pub use op::Op;
pub use parser::{Parser, Step};
pub use proxy_header::{PROXY_START_BYTES, ProxyHeader};
pub use route_connect::RouteConnect;
pub use route_op::RouteOp;
pub use server_info::{ServerInfo, SubjectPermission};
pub use verb::Dialect;
