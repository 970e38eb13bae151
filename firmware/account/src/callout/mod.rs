//! An authorization service that is asked who peers are.
//! spec: ADR-26, nats-server v2.15.1 server/auth_callout.go `processClientOrLeafCallout`,
//! server/auth.go `processClientOrLeafAuthentication`.
//!
//! Asking is for others: here it is said who is asked about, and what an answer is worth.

mod answer;
mod delegate;
mod placement;
mod plan;

pub use answer::{Asked, Withheld};
pub use delegate::Delegation;
pub(crate) use plan::Callout;
pub use plan::{Basis, CalloutPlan, Delegated, Vouched};

/// Where the service listens in its account; others may not publish there.
pub const AUTH_SUBJECT: &str = "$SYS.REQ.USER.AUTH";

#[cfg(test)]
mod tests;
