use crate::debounce::Debounce;

/// A push button: a short press asks for the state, a long one for the rescue configuration.
#[derive(Clone, Debug)]
pub struct Button {
    contact: Debounce,
    times: ButtonTimes,
    stage: Stage,
    raw: bool,
    press: Option<Press>,
}

/// How long is how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ButtonTimes {
    /// A contact that is the same for so long has settled.
    pub settle_ms: u64,
    /// From here on a press is a hold, and the lamp says so.
    pub warn_ms: u64,
    /// From here on it counts as held.
    pub hold_ms: u64,
}

/// What was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// Show the state.
    Short,
    /// It is being held: warn, and nothing else.
    Holding,
    /// It was let go too early: nothing happens.
    Cancelled,
    /// It was held all the time.
    Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Released,
    /// Pressed, since when.
    Pressed(u64),
    /// Pressed longer than a short press, since when.
    Holding(u64),
    /// Nothing more until it is let go: it was held, or stuck from the start.
    Done,
}

impl Button {
    /// A button whose contact is as `pressed` says; one that is pressed from the start is taken for
    /// stuck until it is let go.
    #[must_use]
    pub const fn new(pressed: bool, times: ButtonTimes) -> Self {
        Self {
            contact: Debounce::new(pressed, times.settle_ms),
            times,
            stage: if pressed {
                Stage::Done
            } else {
                Stage::Released
            },
            raw: pressed,
            press: None,
        }
    }

    /// The contact is as `pressed` says now.
    pub fn contact(&mut self, now_ms: u64, pressed: bool) {
        self.raw = pressed;
        self.time(now_ms);
    }

    /// Time has passed.
    pub fn time(&mut self, now_ms: u64) {
        self.contact.handle(now_ms, self.raw);
        if let Some(edge) = self.contact.poll() {
            if edge.level {
                self.stage = Stage::Pressed(edge.at_ms);
            } else {
                self.released(edge.at_ms);
            }
        }
        self.hold(now_ms);
    }

    /// What was meant since the last call.
    pub fn poll(&mut self) -> Option<Press> {
        self.press.take()
    }

    /// When to call [`Button::time`].
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        let stage = match self.stage {
            Stage::Pressed(since) => Some(since + self.times.warn_ms),
            Stage::Holding(since) => Some(since + self.times.hold_ms),
            Stage::Released | Stage::Done => None,
        };
        let contact = self.contact.deadline();
        stage.into_iter().chain(contact).min()
    }

    fn released(&mut self, at_ms: u64) {
        let press = match self.stage {
            Stage::Pressed(since) if at_ms < since + self.times.warn_ms => Some(Press::Short),
            Stage::Pressed(_) | Stage::Holding(_) => Some(Press::Cancelled),
            Stage::Released | Stage::Done => None,
        };
        self.stage = Stage::Released;
        self.press = press.or(self.press);
    }

    /// A contact that may just have been let go proves nothing.
    fn hold(&mut self, now_ms: u64) {
        if !self.raw {
            return;
        }
        match self.stage {
            Stage::Pressed(since) if now_ms >= since + self.times.warn_ms => {
                self.stage = Stage::Holding(since);
                self.press = Some(Press::Holding);
            }
            Stage::Holding(since) if now_ms >= since + self.times.hold_ms => {
                self.stage = Stage::Done;
                self.press = Some(Press::Held);
            }
            Stage::Pressed(_) | Stage::Holding(_) | Stage::Released | Stage::Done => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: ButtonTimes = ButtonTimes {
        settle_ms: 20,
        warn_ms: 1_000,
        hold_ms: 10_000,
    };

    /// What is meant by a contact that changes at these moments, watched to the end.
    fn meant(
        start: bool,
        changes: &[(u64, bool)],
        until_ms: u64,
    ) -> heapless::Vec<(u64, Press), 8> {
        let mut button = Button::new(start, TIMES);
        let mut presses = heapless::Vec::new();
        let mut changes = changes.iter().copied().peekable();
        let mut now = 0;
        while now < until_ms {
            match changes.next_if(|(at, _)| *at <= now) {
                Some((_, pressed)) => button.contact(now, pressed),
                None => button.time(now),
            }
            if let Some(press) = button.poll() {
                presses.push((now, press)).unwrap();
            }
            now += 10;
        }
        presses
    }

    #[test]
    fn a_short_press_asks_and_a_long_one_warns_before_it_counts() {
        assert_eq!(
            meant(false, &[(100, true), (300, false)], 20_000),
            [(320, Press::Short)]
        );
        assert_eq!(
            meant(false, &[(100, true)], 30_000),
            [(1_100, Press::Holding), (10_100, Press::Held)]
        );
    }

    #[test]
    fn letting_go_early_changes_nothing() {
        assert_eq!(
            meant(false, &[(100, true), (10_090, false)], 30_000),
            [(1_100, Press::Holding), (10_110, Press::Cancelled)]
        );
    }

    #[test]
    fn a_stuck_button_is_no_wish() {
        assert_eq!(meant(true, &[], 60_000), []);
        let presses = meant(
            true,
            &[(5_000, false), (6_000, true), (6_200, false)],
            9_000,
        );
        assert_eq!(presses, [(6_220, Press::Short)]);
    }

    #[test]
    fn it_wakes_in_time() {
        let mut button = Button::new(false, TIMES);
        assert_eq!(button.deadline(), None);
        button.contact(100, true);
        assert_eq!(button.deadline(), Some(120));
        button.time(120);
        assert_eq!(button.deadline(), Some(1_100));
        button.time(1_100);
        assert_eq!(
            (button.poll(), button.deadline()),
            (Some(Press::Holding), Some(10_100))
        );
    }
}
