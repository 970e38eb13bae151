//! Routes: every server of a cluster has connections to every other, and each message goes one hop.
//!
//! A [`Route`] is one connection, a link of the broker. What the routes of a server have to know
//! of each other is in their [`Mesh`]: who is connected at which place of the pool, who is still
//! to be dialed. This crate knows no sockets, no files and no other kind of link.

mod interests;
mod limits;
mod mesh;
mod plan;
mod pool;
mod route;
mod session;
mod target;

pub use mesh::Mesh;
pub use plan::Plan;
pub use route::Route;
pub use target::Target;
