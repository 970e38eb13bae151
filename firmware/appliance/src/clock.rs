use std::time::{Duration, SystemTime, UNIX_EPOCH};

use frond_clock::{Instant, Now, Timestamp};
use frond_field::Change;
use frond_linux::LineEvent;

/// Both clocks of the system, the monotonic one from the start of the desk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(std::time::Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn now(&self) -> Now {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            mono: Instant::from_nanos(nanos(self.0.elapsed())),
            wall: Timestamp::from_nanos(i64::try_from(nanos(wall)).unwrap_or(i64::MAX)),
        }
    }

    /// Changes of a line by this clock.
    pub(crate) fn changes(&self, events: &[LineEvent]) -> Vec<Change> {
        let change = |event: &LineEvent| Change {
            active: event.active,
            at: Instant::from_nanos(nanos(event.at.saturating_duration_since(self.0))),
        };
        events.iter().map(change).collect()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
