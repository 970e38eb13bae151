use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use frond_clock::{Ages, Gap, Instant, Now, Timestamp, Trust, TrustedTime};

use crate::limits::RELEASED_SECONDS;

/// For so long after its release a program may be in use.
const IN_USE: Duration = Duration::from_secs(20 * 366 * 24 * 60 * 60);

/// The system's two clocks, read together. The only place that asks for the time.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    start: std::time::Instant,
    wall: Rc<RefCell<TrustedTime>>,
}

impl Clock {
    /// A clock that starts at [`Instant::START`]; it is certainly later than `known`, unless that
    /// is later than this program can be in use: a clock once leapt ahead.
    pub(crate) fn start(known: Option<Timestamp>, gaps: Vec<Gap>) -> Self {
        let released = Timestamp::from_nanos(RELEASED_SECONDS * 1_000_000_000);
        let known = known.filter(|known| known.since(released) <= IN_USE);
        let floor = known.map_or(released, |known| known.max(released));
        let now = Now {
            mono: Instant::START,
            wall: wall_clock(),
        };
        Self {
            start: std::time::Instant::now(),
            wall: Rc::new(RefCell::new(TrustedTime::new(floor, now, gaps))),
        }
    }

    /// Both clocks now.
    pub(crate) fn now(&self) -> Now {
        let mono = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let now = Now {
            mono: Instant::from_nanos(mono),
            wall: wall_clock(),
        };
        Now {
            wall: self.wall.borrow_mut().wall(now),
            ..now
        }
    }

    /// Whether the system's wall clock is believed.
    pub(crate) fn trust(&self) -> Trust {
        self.wall.borrow().trust()
    }

    /// How old what was stored is.
    pub(crate) fn ages(&self) -> Ages {
        self.wall.borrow().ages()
    }

    /// The latest time that is certainly past, for the next start.
    pub(crate) fn kept(&self) -> Timestamp {
        self.wall.borrow().kept()
    }

    /// Waits for a deadline, for ever without one. When it is past, others have a turn and no
    /// timer is set: those count in whole milliseconds.
    pub(crate) async fn until(&self, deadline: Option<Instant>) {
        match deadline {
            Some(at) if at <= self.now().mono => tokio::task::yield_now().await,
            Some(at) => tokio::time::sleep_until(self.system(at).into()).await,
            None => std::future::pending().await,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_waits_for_no_timer() {
        // It has no timers: to set one panics.
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let clock = Clock::start(None, Vec::new());
        runtime
            .expect("a runtime")
            .block_on(clock.until(Some(Instant::START)));
    }
}
