use std::time::Duration;

use frond_clock::Instant;

/// A bound on bytes per second, with a burst.
#[derive(Debug)]
pub(crate) struct Rate {
    bytes_per_second: u64,
    burst: Duration,
    /// When everything sent so far would have been sent at the steady rate.
    paid: Instant,
}

impl Rate {
    /// `bits_per_second` as clients give it; one burst of `burst_bytes` passes at once.
    pub(crate) fn new(bits_per_second: u64, burst_bytes: u64) -> Self {
        let bytes_per_second = (bits_per_second / 8).max(1);
        Self {
            bytes_per_second,
            burst: cost(burst_bytes, bytes_per_second),
            paid: Instant::START,
        }
    }

    /// When the next message may go.
    pub(crate) fn ready_at(&self) -> Instant {
        let paid = self.paid.as_nanos();
        let burst = u64::try_from(self.burst.as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(paid.saturating_sub(burst))
    }

    /// Counts a message.
    pub(crate) fn sent(&mut self, now: Instant, bytes: u64) {
        self.paid = self.paid.max(now) + cost(bytes, self.bytes_per_second);
    }
}

fn cost(bytes: u64, bytes_per_second: u64) -> Duration {
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_second);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_it_takes_its_time() {
        let mut rate = Rate::new(8_000, 500);
        let now = Instant::from_nanos(10_000_000_000);
        assert!(rate.ready_at() <= now);
        rate.sent(now, 500);
        assert!(rate.ready_at() <= now);
        rate.sent(now, 1000);
        assert_eq!(rate.ready_at(), now + Duration::from_secs(1));
    }
}
