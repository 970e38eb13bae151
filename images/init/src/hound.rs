//! The hardware watchdog in the hand of the first process, which has one from its start to its end.

use frond_linux::{Roots, Watchdog};

use crate::message::say;

/// The watchdog, when the board has one.
#[derive(Debug)]
pub(crate) struct Hound(Option<Watchdog>);

impl Hound {
    /// Opens it, which arms it: a start that hangs from here on ends by itself.
    pub(crate) fn open() -> Self {
        match Watchdog::open(&Roots::default(), "watchdog0") {
            Ok(watchdog) => {
                let timeout = watchdog.timeout().unwrap_or_default();
                say(&format!("the watchdog bites after {timeout:?} of silence"));
                Self(Some(watchdog))
            }
            Err(error) => {
                say(&error.to_string());
                Self(None)
            }
        }
    }

    pub(crate) fn feed(&mut self) {
        if let Some(watchdog) = &mut self.0 {
            let _ = watchdog.feed();
        }
    }
}
