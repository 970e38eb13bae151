use std::time::{Duration, SystemTime, UNIX_EPOCH};

use frond_clock::{Instant, Now, Timestamp};

/// Both clocks of the system, the monotonic one from the start of the desk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(std::time::Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn now(&self) -> Now {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            mono: Instant::from_nanos(nanos(self.0.elapsed())),
            wall: Timestamp::from_nanos(i64::try_from(nanos(wall)).unwrap_or(i64::MAX)),
        }
    }
}
