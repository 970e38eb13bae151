use crate::Broker;
use crate::connection::{Kind, State};

/// Whether a connection may be served.
pub(crate) enum Readiness {
    Ready,
    Verify,
    Never,
}

impl Broker {
    /// Whether a connection may be served, given the first byte it sent.
    pub(crate) fn readiness(&mut self, slot: u32, first: Option<u8>) -> Readiness {
        let Some(connection) = self.conns.get(slot) else {
            return Readiness::Never;
        };
        match (&connection.kind, first) {
            (Kind::Closing, _) => Readiness::Never,
            _ if connection.awaits_tls() => Readiness::Verify,
            (Kind::Link(link), _) if self.is_verifying(*link) => Readiness::Verify,
            (Kind::Link(_), _) | (Kind::Client(_), None | Some(b'C' | b'c')) => {
                match connection.session().map(|session| &session.state) {
                    Some(State::Authenticating { .. }) => Readiness::Verify,
                    Some(State::Greeted | State::Ready(_)) | None => Readiness::Ready,
                }
            }
            (Kind::Client(session), Some(_)) => match session.state {
                State::Ready(_) => Readiness::Ready,
                State::Authenticating { .. } => Readiness::Verify,
                State::Greeted => self.start_without_connect(slot),
            },
        }
    }
}
