use std::io;
use std::time::Duration;

use sd_notify::NotifyState;

/// What a service manager is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// The server serves.
    Ready,
    /// The server is ending.
    Stopping,
    /// The message path made progress.
    Alive,
    /// The start, or the end, takes this much longer from now on.
    Longer(Duration),
    /// In words.
    Status(&'a str),
}

/// Tells the service manager, when there is one that wants to hear (`NOTIFY_SOCKET`).
///
/// # Errors
/// The system's.
pub fn notify(notice: Notice<'_>) -> io::Result<()> {
    let state = match notice {
        Notice::Ready => NotifyState::Ready,
        Notice::Stopping => NotifyState::Stopping,
        Notice::Alive => NotifyState::Watchdog,
        Notice::Longer(more) => {
            NotifyState::ExtendTimeoutUsec(u32::try_from(more.as_micros()).unwrap_or(u32::MAX))
        }
        Notice::Status(text) => NotifyState::Status(one_line(text)),
    };
    sd_notify::notify(&[state])
}

/// A second line would be an order of its own (`WATCHDOG=1`, say).
fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// How often the service manager wants [`Notice::Alive`] at least (`WatchdogSec=`).
#[must_use]
pub fn notify_watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_text_is_no_order() {
        for text in ["bad\nWATCHDOG=1", "bad\r\nWATCHDOG=1", "bad\n", "bad"] {
            assert_eq!(one_line(text), "bad");
        }
        assert_eq!(one_line("\nWATCHDOG=1"), "");
    }
}
