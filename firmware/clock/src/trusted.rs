use core::time::Duration;

use crate::{Ages, Gap, Instant, Now, Timestamp};

/// A clock that is set back further was wrong before: what it said then was never known.
const LEAP: Duration = Duration::from_secs(24 * 60 * 60);

/// A clock that is ahead by more than [`LEAP`] may be wrong for so long: until it is over, nothing
/// that it said is kept for the next start, which would take every true time for one that cannot
/// be.
const SETTLING: Duration = Duration::from_secs(60 * 60);

/// Gaps that are remembered; of more the oldest is forgotten.
const GAPS_MAX: usize = 64;

/// The wall clock of a box whose own may start anywhere, because nothing keeps it while the power
/// is off.
///
/// Told a moment that is certainly past (the last time it knew, the day the program was made), it
/// takes the system's clock for wrong as long as that is before it, and counts on from there by
/// the monotonic clock instead. So what is read here is never later than the real time while time
/// is untrusted, and never before what was known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedTime {
    state: State,
    /// The latest time that was read while it was trusted, or the floor.
    known: Timestamp,
    gaps: Vec<Gap>,
    kept: Kept,
}

/// What may be kept for the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    time: Timestamp,
    /// When that was the time.
    at: Instant,
    /// Since when the clock is further ahead of it than it should be.
    leapt: Option<Instant>,
}

/// Whether the system's clock is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is before a moment that is certainly past.
    Untrusted,
    /// It may be right.
    Trusted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The floor was known at this moment of the monotonic clock.
    Untrusted {
        since: Instant,
    },
    Trusted {
        floor: Timestamp,
    },
}

impl TrustedTime {
    /// `floor` is certainly past; `now` is what the system's clocks say; `gaps` were known before.
    #[must_use]
    pub fn new(floor: Timestamp, now: Now, gaps: Vec<Gap>) -> Self {
        let state = if now.wall < floor {
            State::Untrusted { since: now.mono }
        } else {
            State::Trusted { floor }
        };
        Self {
            state,
            known: floor,
            gaps,
            kept: Kept {
                time: floor,
                at: now.mono,
                leapt: None,
            },
        }
    }

    /// What the wall clock is taken to be, when the system's clocks say `now`.
    pub fn wall(&mut self, now: Now) -> Timestamp {
        match self.state {
            State::Untrusted { since } => {
                let counted = self.known + now.mono.since(since);
                if now.wall < counted {
                    return counted;
                }
                self.end_gap(counted, now.wall);
                self.state = State::Trusted { floor: self.known };
            }
            // Set back to before anything it could be: it is believed no more.
            State::Trusted { floor } if now.wall < floor => {
                self.state = State::Untrusted { since: now.mono };
                return self.known;
            }
            State::Trusted { .. } if self.known.since(now.wall) > LEAP => {
                self.known = now.wall;
                self.kept.back_to(now);
                return now.wall;
            }
            State::Trusted { .. } => {}
        }
        self.known = self.known.max(now.wall);
        self.kept.follow(now);
        now.wall
    }

    /// How old what was stored is.
    #[must_use]
    pub fn ages(&self) -> Ages {
        Ages {
            trust: self.trust(),
            gaps: self.gaps.clone(),
        }
    }

    fn end_gap(&mut self, counted: Timestamp, set: Timestamp) {
        if self.gaps.len() >= GAPS_MAX {
            self.gaps.remove(0);
        }
        self.gaps.push(Gap {
            from: self.known,
            until: set,
            lag: set.since(counted),
        });
    }

    /// Whether the system's clock was believed when it was last read.
    #[must_use]
    pub const fn trust(&self) -> Trust {
        match self.state {
            State::Untrusted { .. } => Trust::Untrusted,
            State::Trusted { .. } => Trust::Trusted,
        }
    }

    /// The latest time that is certainly past.
    #[must_use]
    pub const fn known(&self) -> Timestamp {
        self.known
    }

    /// The same, to be kept for the next start: no time that the clock leapt to a moment ago.
    #[must_use]
    pub const fn kept(&self) -> Timestamp {
        self.kept.time
    }
}

impl Kept {
    fn follow(&mut self, now: Now) {
        let expected = self.time + now.mono.since(self.at);
        if now.wall.since(expected) > LEAP {
            let since = *self.leapt.get_or_insert(now.mono);
            if now.mono.since(since) < SETTLING {
                return;
            }
        }
        *self = Self {
            time: self.time.max(now.wall),
            at: now.mono,
            leapt: None,
        };
    }

    /// The clock was ahead and was set back.
    fn back_to(&mut self, now: Now) {
        *self = Self {
            time: self.time.min(now.wall),
            at: now.mono,
            leapt: None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn at(mono: i64, wall: i64) -> Now {
        Now {
            mono: Instant::from_nanos(u64::try_from(mono * SECOND).unwrap()),
            wall: Timestamp::from_nanos(wall * SECOND),
        }
    }

    fn seconds(time: Timestamp) -> i64 {
        time.as_nanos() / SECOND
    }

    #[test]
    fn a_clock_from_1970_counts_on_from_what_is_known_until_it_is_set() {
        let mut time = TrustedTime::new(Timestamp::from_nanos(1000 * SECOND), at(5, 0), Vec::new());
        assert_eq!(time.trust(), Trust::Untrusted);
        assert_eq!(seconds(time.wall(at(5, 0))), 1000);
        assert_eq!(seconds(time.wall(at(25, 20))), 1020);
        // Set, but to a time that cannot be.
        assert_eq!(seconds(time.wall(at(26, 1010))), 1021);
        assert_eq!(time.trust(), Trust::Untrusted);
        assert_eq!(seconds(time.wall(at(27, 5000))), 5000);
        assert_eq!(
            (time.trust(), seconds(time.known())),
            (Trust::Trusted, 5000)
        );
        // It was 1022 then, and 5000 in truth.
        let gap = Gap {
            from: Timestamp::from_nanos(1000 * SECOND),
            until: Timestamp::from_nanos(5000 * SECOND),
            lag: Duration::from_secs(5000 - 1022),
        };
        assert_eq!(time.ages().gaps, [gap]);
    }

    #[test]
    fn while_it_is_untrusted_and_when_it_is_set_it_never_goes_back() {
        for floor in [0, 10, 100, 1000] {
            for set in 0..200 {
                let start = at(0, 3);
                let mut time =
                    TrustedTime::new(Timestamp::from_nanos(floor * SECOND), start, Vec::new());
                let mut last = time.wall(start);
                let trusted = time.trust();
                for step in 1..100 {
                    let wall = if step < 50 { 3 + step } else { set * 10 + step };
                    let read = time.wall(at(step, wall));
                    let was_untrusted = trusted == Trust::Untrusted;
                    assert!(
                        !was_untrusted || step >= 50 || read >= last,
                        "{floor} {set} {step}"
                    );
                    assert!(seconds(read) >= floor, "{floor} {set} {step}");
                    last = read;
                }
            }
        }
    }

    #[test]
    fn a_clock_that_leapt_ahead_and_came_back_leaves_nothing_behind() {
        let (day, floor) = (86_400, Timestamp::from_nanos(1000 * SECOND));
        let mut time = TrustedTime::new(floor, at(0, 2000), Vec::new());
        assert_eq!(seconds(time.wall(at(1, 70 * 366 * day))), 70 * 366 * day);
        assert_eq!(seconds(time.wall(at(2, 2002))), 2002);
        assert_eq!(
            (time.trust(), seconds(time.known())),
            (Trust::Trusted, 2002)
        );
    }

    /// A clock that is ahead for a while is not taken for right by all later starts.
    #[test]
    fn a_time_that_a_clock_leapt_to_is_kept_when_it_stays() {
        let (day, hour) = (86_400, 3600);
        let start = |wall| {
            let floor = Timestamp::from_nanos(1000 * SECOND);
            TrustedTime::new(floor, at(0, wall), Vec::new())
        };
        // It started ahead, and nothing sets it right before the end.
        let mut time = start(900 * day);
        assert_eq!(seconds(time.wall(at(1, 900 * day))), 900 * day);
        assert_eq!(
            seconds(time.wall(at(hour, 900 * day + hour))),
            900 * day + hour
        );
        assert_eq!(
            (seconds(time.known()), seconds(time.kept())),
            (900 * day + hour, 1000)
        );
        // It stays: it was right, and the box off for long.
        time.wall(at(hour + 1, 900 * day + hour + 1));
        assert_eq!(seconds(time.kept()), 900 * day + hour + 1);
        // From then on it is followed at once.
        time.wall(at(hour + 9, 900 * day + hour + 9));
        assert_eq!(seconds(time.kept()), 900 * day + hour + 9);
        // It leaps while it runs, and is set right.
        let mut time = start(2000);
        time.wall(at(10, 2010));
        time.wall(at(20, 900 * day));
        assert_eq!(seconds(time.kept()), 2010);
        time.wall(at(30, 2030));
        time.wall(at(2 * hour, 2000 + 2 * hour));
        assert_eq!(seconds(time.kept()), 2000 + 2 * hour);
    }

    #[test]
    fn a_clock_set_back_a_little_is_followed_and_a_lot_is_not() {
        let mut time = TrustedTime::new(
            Timestamp::from_nanos(1000 * SECOND),
            at(0, 2000),
            Vec::new(),
        );
        assert_eq!(seconds(time.wall(at(1, 2001))), 2001);
        assert_eq!(seconds(time.wall(at(2, 1990))), 1990);
        assert_eq!(seconds(time.wall(at(3, 30))), 2001);
        assert_eq!(time.trust(), Trust::Untrusted);
        assert_eq!(seconds(time.wall(at(13, 40))), 2011);
        assert_eq!(seconds(time.wall(at(14, 2050))), 2050);
        assert_eq!(time.trust(), Trust::Trusted);
    }
}
