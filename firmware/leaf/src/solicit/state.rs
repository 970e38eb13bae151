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

/// Whether there is a link. Between dials it goes through many states that are all the same to
/// whoever asks how long the line has been down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Up,
    Down,
    Off,
}

impl State {
    pub(super) const fn reach(&self) -> Reach {
        match self {
            Self::Up { .. } => Reach::Up,
            Self::Disabled => Reach::Off,
            Self::Idle
            | Self::Dialing { .. }
            | Self::AwaitingInfo { .. }
            | Self::Securing { .. }
            | Self::AwaitingConnectInfo { .. }
            | Self::Waiting { .. } => Reach::Down,
        }
    }

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
