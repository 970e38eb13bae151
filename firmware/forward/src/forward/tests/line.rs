use std::collections::VecDeque;
use std::time::Duration;

use frond_clock::Instant;

use super::world::Heard;
use crate::io::Letter;

/// A slow line: what is sent waits for what was sent before it.
pub(crate) struct Line {
    pub(super) up: Way<Letter>,
    pub(super) down: Way<Heard>,
}

pub(super) struct Way<T> {
    bytes_per_second: u64,
    /// By when it is through.
    queue: VecDeque<(Instant, T)>,
    free_at: Instant,
    /// All that ever went.
    bytes: u64,
}

impl Line {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self {
            up: Way::new(bytes_per_second),
            down: Way::new(bytes_per_second),
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        let up = self.up.queue.front().map(|(at, _)| *at);
        let down = self.down.queue.front().map(|(at, _)| *at);
        up.into_iter().chain(down).min()
    }

    /// Bytes that went to the hub, and that came from it.
    pub(crate) const fn bytes(&self) -> (u64, u64) {
        (self.up.bytes, self.down.bytes)
    }

    /// How long something that is sent now takes to the hub.
    pub(crate) fn queue(&self, now: Instant) -> Duration {
        self.up.free_at.since(now)
    }
}

impl<T> Way<T> {
    const fn new(bytes_per_second: u64) -> Self {
        Self {
            bytes_per_second,
            queue: VecDeque::new(),
            free_at: Instant::START,
            bytes: 0,
        }
    }

    pub(super) fn send(&mut self, now: Instant, bytes: usize, it: T) {
        self.bytes += bytes as u64;
        let takes = bytes as u64 * 1_000_000_000 / self.bytes_per_second;
        self.free_at = self.free_at.max(now) + Duration::from_nanos(takes);
        self.queue.push_back((self.free_at, it));
    }

    pub(super) fn due(&mut self, now: Instant) -> Option<T> {
        let is_due = self.queue.front().is_some_and(|(at, _)| *at <= now);
        if !is_due {
            return None;
        }
        let (_, it) = self.queue.pop_front()?;
        Some(it)
    }
}
