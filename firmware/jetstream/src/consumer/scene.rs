use frond_clock::{Instant, Now};

use super::io::Messages;

/// Who listens right now; asked while one input is handled.
pub(crate) trait Listening {
    /// Whether anybody would get a message published on a literal subject.
    fn anybody(&self, subject: &str) -> bool;
    /// Whether a push consumer's messages are received: somebody subscribes to exactly this
    /// subject, in this queue group (empty: in none).
    // spec: nats-server v2.15.1 server/sublist.go registerNotification
    fn receiver(&self, subject: &str, group: &str) -> bool;
}

/// Whoever can be asked.
pub(crate) type Listens<'a> = dyn Listening + 'a;

/// Tests have one answer to both questions.
#[cfg(test)]
impl<F: Fn(&str) -> bool> Listening for F {
    fn anybody(&self, subject: &str) -> bool {
        self(subject)
    }

    fn receiver(&self, subject: &str, _: &str) -> bool {
        self(subject)
    }
}

/// What a consumer sees while it handles one input.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    /// Both clocks.
    pub(crate) now: Now,
    /// The stream.
    pub(crate) messages: &'a dyn Messages,
    /// Who listens.
    pub(crate) listens: &'a Listens<'a>,
}

impl Scene<'_> {
    /// The monotonic clock.
    pub(crate) const fn mono(&self) -> Instant {
        self.now.mono
    }
}
