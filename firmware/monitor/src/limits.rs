//! How much of everything a request gets.

/// Connections listed unless another limit is asked for.
/// spec: nats-server v2.15.1 server/monitor.go `DefaultConnListSize`
pub(crate) const CONNECTIONS_LISTED_DEFAULT: usize = 1024;

/// Subscriptions listed unless another limit is asked for.
/// spec: nats-server v2.15.1 server/monitor.go `DefaultSubListSize`
pub(crate) const SUBSCRIPTIONS_LISTED_DEFAULT: usize = 1024;

/// JetStream accounts listed unless another limit is asked for.
pub(crate) const ACCOUNTS_LISTED_DEFAULT: usize = 1024;

/// Parameters read of one request; what comes after them is not seen.
pub(crate) const PARAMETERS_MAX: usize = 64;
