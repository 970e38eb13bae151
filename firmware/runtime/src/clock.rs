use std::time::{Duration, SystemTime, UNIX_EPOCH};

use frond_clock::{Instant, Now, Timestamp};

/// The system's two clocks, read together. The only place that asks for the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// A clock that starts at [`Instant::START`].
    pub(crate) fn start() -> Self {
        Self {
            start: std::time::Instant::now(),
        }
    }

    /// Both clocks now.
    pub(crate) fn now(&self) -> Now {
        let mono = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Now {
            mono: Instant::from_nanos(mono),
            wall: wall_clock(),
        }
    }

    /// The system's form of a monotonic instant.
    pub(crate) fn system(&self, at: Instant) -> std::time::Instant {
        self.start + Duration::from_nanos(at.as_nanos())
    }
}

/// The wall clock; before 1970 it reads 0.
pub(crate) fn wall_clock() -> Timestamp {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_nanos(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
}

/// The same moment as the clocks on the wall here show it.
pub(crate) fn local(at: Timestamp) -> Timestamp {
    let zone = jiff::tz::TimeZone::system();
    let Ok(moment) = jiff::Timestamp::from_nanosecond(i128::from(at.as_nanos())) else {
        return at;
    };
    let offset = i64::from(zone.to_offset(moment).seconds());
    Timestamp::from_nanos(at.as_nanos().saturating_add(offset * 1_000_000_000))
}

/// Waits on purpose: for a slow receiver, or for the system to recover. The only place that does.
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
