//! Gateways: clusters that stay clusters, and messages that go to another one when it wants them.
//!
//! A [`Gateway`] is one connection, a link of the broker: messages go from the server that dialed
//! to the one that accepted, and what is wanted comes back. What the gateways of a server have to
//! know of each other is in their [`Clusters`]. A [`Keeper`] is a link without a connection that
//! hears of clusters while there is none. This crate knows no sockets, no files and no routes.

mod clusters;
mod gateway;
mod inbound;
mod interests;
mod keeper;
mod limits;
mod outbound;
mod plan;
mod recent;
mod said;
mod target;
#[cfg(test)]
mod testing;

pub use clusters::Clusters;
pub use gateway::Gateway;
pub use keeper::Keeper;
pub use plan::Plan;
pub use target::Target;
