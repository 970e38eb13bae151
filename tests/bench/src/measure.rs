//! What one run of one load is measured by.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use interop::Server;

const LATENCY_US_MAX: u64 = 60_000_000;

/// A run being measured: the clock and the servers' usage at its start.
#[derive(Debug)]
pub struct Measure {
    start: Instant,
    before_cpu_s: f64,
}

/// What came out of a run.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Messages that made the whole way.
    pub messages: u64,
    /// How long that took.
    pub took: Duration,
    /// Per message, in microseconds; empty when not measured.
    pub latency: Histogram<u64>,
    /// The servers' user and system time, in seconds.
    pub cpu_s: f64,
    /// The servers' resident memory at the end, in bytes.
    pub rss_bytes: u64,
}

impl Measure {
    /// Starts the clock.
    #[must_use]
    pub fn begin(servers: &[&Server]) -> Self {
        Self {
            before_cpu_s: cpu_s(servers),
            start: Instant::now(),
        }
    }

    /// Stops the clock.
    #[must_use]
    pub fn end(self, servers: &[&Server], messages: u64, latency: Histogram<u64>) -> Sample {
        let took = self.start.elapsed();
        Sample {
            messages,
            took,
            latency,
            cpu_s: cpu_s(servers) - self.before_cpu_s,
            rss_bytes: servers.iter().map(|one| one.usage().rss_bytes).sum(),
        }
    }
}

impl Sample {
    /// Messages per second.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of a run are far below 2^52"
    )]
    pub fn rate(&self) -> f64 {
        self.messages as f64 / self.took.as_secs_f64()
    }

    /// CPU seconds per million messages.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of a run are far below 2^52"
    )]
    pub fn cpu_s_per_million(&self) -> f64 {
        self.cpu_s * 1e6 / self.messages as f64
    }
}

fn cpu_s(servers: &[&Server]) -> f64 {
    servers.iter().map(|one| one.usage().cpu_s).sum()
}

pub(crate) fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("bounds of a histogram")
}

pub(crate) fn record(latency: &mut Histogram<u64>, since: Instant) {
    let us = u64::try_from(since.elapsed().as_micros()).unwrap_or(LATENCY_US_MAX);
    latency.saturating_record(us.max(1));
}
