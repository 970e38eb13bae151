//! Updates from a web server: when the bundle is asked for. Decides, and does nothing.

use std::time::Duration;

use frond_clock::Instant;

/// Where the owner has bundles, and when to look there.
#[derive(Debug)]
pub(crate) struct Web {
    address: Option<String>,
    next: Instant,
    /// Until the one after the next.
    pause: Duration,
}

/// After the start: the network is to be there, and more urgent things are done.
const FIRST: Duration = Duration::from_secs(30);
/// Doubles from one time to the next: who was cut off soon tries again, and who has what there is
/// asks once an hour, for the first bytes of it.
const PAUSE_MIN: Duration = Duration::from_secs(60);
const PAUSE_MAX: Duration = Duration::from_secs(3600);

impl Web {
    /// With the text of the owner's file: an address on a line, if any.
    pub(crate) fn new(now: Instant, text: &str) -> Self {
        let mut lines = text.lines().map(str::trim);
        let address = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        Self {
            address: address.map(str::to_owned),
            next: now + FIRST,
            pause: PAUSE_MIN,
        }
    }

    /// The address, when it is time.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<&str> {
        if self.next > now {
            return None;
        }
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        self.address.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn it_is_asked_soon_and_then_once_an_hour() {
        let mut web = Web::new(at(0), "# ours\n\n https://example.com/a.frondimg \n");
        let mut times = Vec::new();
        for second in 0..40_000 {
            if let Some(address) = web.poll(at(second)) {
                assert_eq!(address, "https://example.com/a.frondimg");
                times.push(second);
            }
        }
        let pauses: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(times.first(), Some(&30));
        assert_eq!(pauses[..8], [60, 120, 240, 480, 960, 1920, 3600, 3600]);
    }

    #[test]
    fn without_an_address_nobody_is_asked() {
        for text in ["", "\n# nowhere\n"] {
            let mut web = Web::new(at(0), text);
            assert!((0..4000).all(|second| web.poll(at(second)).is_none()));
        }
    }
}
