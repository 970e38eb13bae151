use frond_clock::Instant;
use frond_wire::ServerInfo;

use super::hello::Greeted;
use crate::session::Session;

/// Every state but `Disabled` has a deadline: there is nowhere to be stuck.
#[derive(Debug)]
pub(super) enum State {
    /// New: dials as soon as it is woken.
    Idle,
    /// The answer to a dial is pending.
    Dialing { until: Instant },
    /// Connected; the hub speaks first.
    AwaitingInfo { until: Instant },
    /// The hub spoke; TLS comes before our answer.
    Securing {
        until: Instant,
        info: Box<ServerInfo>,
    },
    /// `CONNECT` is sent; its answer is pending.
    AwaitingConnectInfo {
        until: Instant,
        greeted: Box<Greeted>,
    },
    /// Interest and messages flow.
    Up {
        since: Instant,
        greeted: Box<Greeted>,
        session: Box<Session>,
    },
    /// Between two dials.
    Waiting { until: Instant },
    /// Switched off in the configuration.
    Disabled,
}

impl State {
    /// As monitoring calls it.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Idle | Self::Dialing { .. } => "dialing",
            Self::AwaitingInfo { .. }
            | Self::Securing { .. }
            | Self::AwaitingConnectInfo { .. } => "handshaking",
            Self::Up { .. } => "up",
            Self::Waiting { .. } => "waiting",
            Self::Disabled => "disabled",
        }
    }
}
