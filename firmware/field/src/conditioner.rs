use std::time::Duration;

use frond_board::Quality;
use frond_clock::Instant;
use frond_config::Conditioning;

/// Decides which readings of one subject are worth sending. No allocation, a few comparisons.
#[derive(Clone, Debug)]
pub struct Conditioner {
    deadband: Option<f64>,
    rate: Duration,
    window: Option<Duration>,
    heartbeat: Option<Duration>,
    /// What was sent last, and when.
    sent: Option<(Value, Instant)>,
    /// The latest reading that was not sent.
    held: Option<Value>,
    open: Option<Window>,
    left_out: u64,
}

/// A reading: a number that is good or uncertain, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The number; meaningless when the quality is bad.
    pub number: f64,
    /// How far it is to be believed.
    pub quality: Quality,
}

/// What is worth sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// The reading, or the mean of a window.
    pub value: Value,
    /// What was in the window.
    pub stats: Option<Stats>,
    /// Readings since the last one sent that were left out.
    pub left_out: u64,
}

/// The readings of a window in short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stats {
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// How many.
    pub count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    until: Instant,
    min: f64,
    max: f64,
    sum: f64,
    count: u32,
    quality: Quality,
}

impl Conditioner {
    /// As the options say.
    #[must_use]
    pub fn new(options: &Conditioning) -> Self {
        Self {
            deadband: options.deadband.map(|band| band.0),
            rate: options.rate.unwrap_or_default(),
            window: options.window,
            heartbeat: options.heartbeat,
            sent: None,
            held: None,
            open: None,
            left_out: 0,
        }
    }

    /// A reading came; what to send now.
    pub fn take(&mut self, now: Instant, value: Value) -> Option<Said> {
        match self.window {
            // What has no number is told at once, and the window goes on.
            Some(_) if value.quality == Quality::Bad => self.offer(now, value, None),
            Some(length) => {
                let due = self.due_window(now);
                self.gather(now, length, value);
                due
            }
            None => self.offer(now, value, None),
        }
    }

    /// Time has passed; what to send now.
    pub fn time(&mut self, now: Instant) -> Option<Said> {
        if let Some(said) = self.due_window(now) {
            return Some(said);
        }
        let value = self.held?;
        let (last, at) = self.sent?;
        let is_new = self.differs(last, value) && now.since(at) >= self.rate;
        let is_silent = self.heartbeat.is_some_and(|beat| now.since(at) >= beat);
        (is_new || is_silent).then(|| self.send(now, value, None))
    }

    /// What was to be sent could not be.
    pub fn unsent(&mut self, said: &Said) {
        self.sent = None;
        self.held = Some(said.value);
        self.left_out = said.left_out + said.stats.map_or(1, |stats| u64::from(stats.count));
    }

    /// The latest reading, if none was sent yet, or since one could not be.
    pub fn again(&mut self, now: Instant) -> Option<Said> {
        let value = self.held.filter(|_| self.sent.is_none())?;
        Some(self.send(now, value, None))
    }

    /// When to call [`Conditioner::time`].
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let window = self.open.map(|window| window.until);
        let held = self.held.zip(self.sent).and_then(|(value, (last, at))| {
            let rate = self.differs(last, value).then(|| at + self.rate);
            let beat = self.heartbeat.map(|beat| at + beat);
            rate.into_iter().chain(beat).min()
        });
        window.into_iter().chain(held).min()
    }

    fn offer(&mut self, now: Instant, value: Value, stats: Option<Stats>) -> Option<Said> {
        let Some((last, at)) = self.sent else {
            return Some(self.send(now, value, stats));
        };
        let silent = now.since(at);
        let beats = self.heartbeat.is_some_and(|beat| silent >= beat);
        let spread =
            stats.is_some_and(|s| self.is_apart(last, s.min) || self.is_apart(last, s.max));
        if silent >= self.rate && (spread || self.differs(last, value)) || beats {
            return Some(self.send(now, value, stats));
        }
        self.held = Some(value);
        self.left_out += stats.map_or(1, |stats| u64::from(stats.count));
        None
    }

    fn send(&mut self, now: Instant, value: Value, stats: Option<Stats>) -> Said {
        let left_out = self.left_out.saturating_sub(u64::from(
            self.held
                .is_some_and(|held| stats.is_none() && held == value),
        ));
        self.left_out = 0;
        self.held = None;
        self.sent = Some((value, now));
        Said {
            value,
            stats,
            left_out,
        }
    }

    fn differs(&self, last: Value, new: Value) -> bool {
        last.quality != new.quality
            || (new.quality != Quality::Bad && self.is_apart(last, new.number))
    }

    /// Without a band every value is apart from the last.
    fn is_apart(&self, last: Value, number: f64) -> bool {
        self.deadband
            .is_none_or(|band| (number - last.number).abs() > band)
    }

    fn due_window(&mut self, now: Instant) -> Option<Said> {
        let window = self.open.take_if(|window| now >= window.until)?;
        let value = Value {
            number: window.sum / f64::from(window.count),
            quality: window.quality,
        };
        let stats = Stats {
            min: window.min,
            max: window.max,
            count: window.count,
        };
        self.offer(now, value, Some(stats))
    }

    fn gather(&mut self, now: Instant, length: Duration, value: Value) {
        let number = value.number;
        let window = self.open.get_or_insert(Window {
            until: now + length,
            min: number,
            max: number,
            sum: 0.0,
            count: 0,
            quality: Quality::Good,
        });
        window.min = window.min.min(number);
        window.max = window.max.max(number);
        window.sum += number;
        window.count += 1;
        if value.quality == Quality::Uncertain {
            window.quality = Quality::Uncertain;
        }
    }
}

#[cfg(test)]
mod tests;
