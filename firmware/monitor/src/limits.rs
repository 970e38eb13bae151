//! How much of everything a request gets.

/// Connections listed unless another limit is asked for.
/// spec: nats-server v2.15.1 server/monitor.go `DefaultConnListSize`
pub(crate) const CONNECTIONS_LISTED_DEFAULT: usize = 1024;

/// Subscriptions listed unless another limit is asked for.
/// spec: nats-server v2.15.1 server/monitor.go `DefaultSubListSize`
pub(crate) const SUBSCRIPTIONS_LISTED_DEFAULT: usize = 1024;

/// JetStream accounts listed unless another limit is asked for.
pub(crate) const ACCOUNTS_LISTED_DEFAULT: usize = 1024;

/// After so many subjects that interest nobody, a gateway asks to be sent only what does.
/// spec: nats-server v2.15.1 server/gateway.go `gatewayMaxRUnsubBeforeSwitch`
pub(crate) const INTEREST_ONLY_THRESHOLD: usize = 1000;

/// Parameters read of one request; what comes after them is not seen.
pub(crate) const PARAMETERS_MAX: usize = 64;

/// Devices that the status page lists.
pub(crate) const DEVICES_SHOWN_MAX: usize = 50;

/// Streams that the status page lists.
pub(crate) const STREAMS_SHOWN_MAX: usize = 50;

/// Things to be told on the status page.
pub(crate) const FINDINGS_SHOWN_MAX: usize = 20;
