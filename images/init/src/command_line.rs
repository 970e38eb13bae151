use std::time::Duration;

use frond_slot::Slot;

use crate::tryboot;

/// What the boot loader said to the kernel and meant for us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// The slot that was started.
    pub(crate) slot: Option<Slot>,
    /// Whether `frond`'s log goes to the console too.
    pub(crate) is_chatty: bool,
    /// The time to confirm a new slot in, instead of the usual.
    pub(crate) window: Option<Duration>,
}

impl CommandLine {
    pub(crate) fn read() -> Self {
        let text = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
        let mut line = Self::parse(&text);
        line.slot = line.slot.or_else(tryboot::running);
        line
    }

    fn parse(text: &str) -> Self {
        let mut line = Self::default();
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some(("frond.slot", slot)) => line.slot = Slot::parse(slot),
                Some(("frond.log", "console")) => line.is_chatty = true,
                Some(("frond.window", seconds)) => {
                    line.window = seconds.parse().ok().map(Duration::from_secs);
                }
                Some(_) | None => {}
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let line = CommandLine::parse(
            "console=ttyAMA0 frond.slot=B quiet frond.log=console frond.window=40\n",
        );
        assert_eq!(line.slot, Some(Slot::B));
        assert!(line.is_chatty);
        assert_eq!(line.window, Some(Duration::from_secs(40)));
        assert_eq!(CommandLine::parse("frond.slot=C"), CommandLine::default());
    }
}
