use std::time::Duration;

use frond_clock::Instant;

use crate::limits::{OWN_RETRY_MS_MAX, OWN_RETRY_MS_MIN};

/// How long a stream leaves alone what of its own was refused: markers, and what schedules
/// publish. It is due still, and would be refused again at once.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    until: Option<Instant>,
    wait: Duration,
    /// Something was refused, rather than not yet to be done.
    is_refused: bool,
}

impl Rest {
    /// Something was refused; `true` when nothing was before.
    pub(crate) fn begin(&mut self, now: Instant) -> bool {
        self.pause(now);
        !core::mem::replace(&mut self.is_refused, true)
    }

    /// Something cannot be done yet.
    pub(crate) fn pause(&mut self, now: Instant) {
        if self.until.is_some_and(|until| until > now) {
            return;
        }
        let least = Duration::from_millis(OWN_RETRY_MS_MIN);
        let most = Duration::from_millis(OWN_RETRY_MS_MAX);
        self.wait = (self.wait * 2).clamp(least, most);
        self.until = Some(now + self.wait);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_no_refusal() {
        let (mut rest, now) = (Rest::default(), Instant::default());
        rest.pause(now);
        assert!(rest.after(now) > now);
        assert!(rest.begin(now), "the first refusal is told");
        assert!(!rest.begin(now));
        rest.end();
        assert_eq!(rest.after(now), now);
    }
}
