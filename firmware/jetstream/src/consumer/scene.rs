use frond_clock::{Instant, Now};

use super::io::Messages;

/// Whether anybody would get a message published on a literal subject.
pub(crate) type Listens<'a> = dyn Fn(&str) -> bool + 'a;

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
