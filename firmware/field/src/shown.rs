use std::collections::VecDeque;
use std::time::Duration;

use frond_board::Quality;
use frond_clock::{Instant, Now, Timestamp};

use crate::conditioner::Value;
use crate::limits::{HISTORY_POINTS_MAX, HISTORY_SPACE_MAX};

/// What a sensor last said, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What the configuration calls it.
    pub name: String,
    /// Where its readings go.
    pub subject: String,
    /// The number; `None` when there is none.
    pub value: Option<f64>,
    /// What it is measured in.
    pub unit: String,
    /// How far it is to be believed.
    pub quality: Quality,
    /// Why it is not good; empty when it is.
    pub reason: String,
    /// When it was read; `None`: not yet.
    pub read_at: Option<Timestamp>,
    /// Readings before it, oldest first.
    pub history: Vec<f64>,
}

/// The latest reading of a channel, and some before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest {
    reading: Option<(Value, Timestamp)>,
    history: History,
}

/// A few points over a long time: when there are too many, every second one goes, until a day is
/// covered.
#[derive(Clone, Debug, Default)]
struct History {
    points: VecDeque<f64>,
    space: Duration,
    next: Option<Instant>,
}

impl Latest {
    pub(crate) fn take(&mut self, now: Now, value: Value) {
        self.reading = Some((value, now.wall));
        if value.quality != Quality::Bad {
            self.history.push(now.mono, value.number);
        }
    }

    pub(crate) fn shown(&self, name: &str, subject: &str, unit: &str, reason: &str) -> Shown {
        let value = self.reading.map(|(value, _)| value);
        let quality = value.map_or(Quality::Bad, |value| value.quality);
        let reason = match (quality, value) {
            (Quality::Good, _) => "",
            (_, None) => "not read yet",
            (Quality::Uncertain | Quality::Bad, Some(_)) => reason,
        };
        Shown {
            name: name.to_owned(),
            subject: subject.to_owned(),
            value: value
                .filter(|value| value.quality != Quality::Bad)
                .map(|value| value.number),
            unit: unit.to_owned(),
            quality,
            reason: reason.to_owned(),
            read_at: self.reading.map(|(_, at)| at),
            history: self.history.points.iter().copied().collect(),
        }
    }
}

impl History {
    fn push(&mut self, now: Instant, number: f64) {
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        self.points.push_back(number);
        if self.points.len() > HISTORY_POINTS_MAX {
            if self.space < HISTORY_SPACE_MAX {
                let mut nth = 0_usize;
                self.points.retain(|_| {
                    nth += 1;
                    nth % 2 == 1
                });
                let wider = (self.space * 2).max(Duration::from_secs(1));
                self.space = wider.min(HISTORY_SPACE_MAX);
            } else {
                self.points.pop_front();
            }
        }
        self.next = Some(now + self.space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Now {
        Now {
            mono: Instant::START + Duration::from_secs(seconds),
            wall: Timestamp::from_nanos(0),
        }
    }

    #[test]
    fn a_history_covers_a_day_in_few_points() {
        let mut latest = Latest::default();
        let good = |number| Value {
            number,
            quality: Quality::Good,
        };
        for second in 0..300_000_u32 {
            latest.take(at(u64::from(second)), good(f64::from(second)));
            let shown = latest.shown("a", "a", "C", "");
            assert!(shown.history.len() <= HISTORY_POINTS_MAX);
            if second < 60 {
                assert!(shown.history.len() > usize::try_from(second).unwrap_or(0) / 2);
            }
        }
        let history = latest.shown("a", "a", "C", "").history;
        let (first, last) = (history[0], history[history.len() - 1]);
        assert!(
            (40_000.0..=90_000.0).contains(&(last - first)),
            "{history:?}"
        );
        assert!(history.is_sorted());
    }

    #[test]
    fn what_cannot_be_read_has_no_number_and_leaves_no_point() {
        let mut latest = Latest::default();
        let before = latest.shown("a", "s", "C", "");
        assert_eq!(
            (before.value, before.reason.as_str()),
            (None, "not read yet")
        );
        let bad = Value {
            number: 0.0,
            quality: Quality::Bad,
        };
        latest.take(at(1), bad);
        let shown = latest.shown("a", "s", "C", "no wire");
        assert_eq!((shown.value, shown.reason.as_str()), (None, "no wire"));
        assert!(shown.history.is_empty() && shown.read_at.is_some());
    }
}
