//! Waiting for a state, with a bound.

use std::time::{Duration, Instant};

const PAUSE_MS: u64 = 5;

/// Polls `state` until it gives a value; panics, naming `what`, when `bound` has passed.
pub fn wait_for<T>(what: &str, bound: Duration, state: impl FnMut() -> Option<T>) -> T {
    wait_or(bound, state, || what.to_owned())
}

/// `wait_for`, where what was waited for is told with what there was instead.
pub(crate) fn wait_or<T>(
    bound: Duration,
    mut state: impl FnMut() -> Option<T>,
    what: impl Fn() -> String,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = state() {
            return value;
        }
        assert!(
            start.elapsed() < bound,
            "waited {bound:?} in vain for: {}",
            what()
        );
        std::thread::sleep(Duration::from_millis(PAUSE_MS));
    }
}

/// `wait_for` for a state that is asked over the network.
pub async fn wait_for_async<T>(
    what: &str,
    bound: Duration,
    mut state: impl AsyncFnMut() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Ok(Some(value)) = tokio::time::timeout(bound, state()).await {
            return value;
        }
        assert!(
            start.elapsed() < bound,
            "waited {bound:?} in vain for: {what}"
        );
        tokio::time::sleep(Duration::from_millis(4 * PAUSE_MS)).await;
    }
}
