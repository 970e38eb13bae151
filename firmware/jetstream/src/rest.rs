use std::time::Duration;

use frond_clock::Instant;

use crate::limits::{OWN_RETRY_MS_MAX, OWN_RETRY_MS_MIN};

/// How long a stream leaves alone what of its own was refused: markers, and what schedules
/// publish. It is due still, and would be refused again at once.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    until: Option<Instant>,
    wait: Duration,
}

impl Rest {
    /// Something was refused; `true` when nothing was before.
    pub(crate) fn begin(&mut self, now: Instant) -> bool {
        if self.until.is_some_and(|until| until > now) {
            return false;
        }
        let is_first = self.until.is_none();
        let least = Duration::from_millis(OWN_RETRY_MS_MIN);
        let most = Duration::from_millis(OWN_RETRY_MS_MAX);
        self.wait = (self.wait * 2).clamp(least, most);
        self.until = Some(now + self.wait);
        is_first
    }

    /// Something was taken, or may be by now.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    /// When what is due at `at` is tried.
    pub(crate) fn after(&self, at: Instant) -> Instant {
        self.until.map_or(at, |until| until.max(at))
    }
}
