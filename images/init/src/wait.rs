use std::time::{Duration, Instant};

const LOOKED_EVERY: Duration = Duration::from_millis(10);

/// Looks for something every now and then until it is there, or `bound` has passed: nobody tells
/// the first process of devices, or of children that others started.
pub(crate) fn wait_for<T>(bound: Duration, mut state: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let found = state();
        if found.is_some() || start.elapsed() > bound {
            return found;
        }
        std::thread::sleep(LOOKED_EVERY);
    }
}
