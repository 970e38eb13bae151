use crate::debounce::Debounce;
use crate::limits::{BUTTON_LOOK_MS, BUTTON_UNSEEN_MS, BUTTON_WARNED_MS};

/// A push button: a short press asks for the state, a long one for the rescue configuration.
#[derive(Clone, Debug)]
pub struct Button {
    contact: Debounce,
    times: ButtonTimes,
    stage: Stage,
    raw: bool,
    /// When it was looked at last.
    seen_ms: Option<u64>,
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
    /// Pressed longer than a short press.
    Holding {
        since: u64,
        /// When the warning had been taken: from there on it can be seen.
        warned: Option<u64>,
    },
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
            seen_ms: None,
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
        while let Some(edge) = self.contact.poll() {
            if edge.level {
                self.stage = Stage::Pressed(edge.at_ms);
            } else {
                self.released(edge.at_ms);
            }
        }
        self.doubt(now_ms);
        self.hold(now_ms);
    }

    /// What was meant since the last call.
    pub fn poll(&mut self) -> Option<Press> {
        self.press.take()
    }

    /// When to call [`Button::time`]: often while it is pressed, for a hold has to be seen.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        let next = match self.stage {
            Stage::Pressed(since) => Some(since + self.times.warn_ms),
            Stage::Holding { since, warned } => {
                let warned = warned.map_or(0, |at| at + BUTTON_WARNED_MS);
                Some(warned.max(since + self.times.hold_ms))
            }
            Stage::Released | Stage::Done => None,
        };
        let look = self.seen_ms.map(|seen| seen + BUTTON_LOOK_MS);
        let stage = next.map(|next| look.map_or(next, |look| look.min(next)));
        let contact = self.contact.deadline();
        stage.into_iter().chain(contact).min()
    }

    fn released(&mut self, at_ms: u64) {
        let press = match self.stage {
            Stage::Pressed(since) if at_ms < since + self.times.warn_ms => Some(Press::Short),
            Stage::Pressed(_) | Stage::Holding { .. } => Some(Press::Cancelled),
            Stage::Released | Stage::Done => None,
        };
        self.stage = Stage::Released;
        self.press = press.or(self.press);
    }

    /// A hold that nobody looked at for a while may have been two presses: it begins anew.
    fn doubt(&mut self, now_ms: u64) {
        let seen = self.seen_ms.unwrap_or(now_ms);
        self.seen_ms = Some(seen.max(now_ms));
        if now_ms.saturating_sub(seen) <= BUTTON_UNSEEN_MS {
            return;
        }
        match self.stage {
            Stage::Pressed(_) => self.stage = Stage::Pressed(now_ms),
            Stage::Holding { .. } => {
                self.stage = Stage::Pressed(now_ms);
                self.press = Some(Press::Cancelled);
            }
            Stage::Released | Stage::Done => {}
        }
    }

    /// A contact that may just have been let go proves nothing, and neither does a hold whose
    /// warning nobody could see.
    fn hold(&mut self, now_ms: u64) {
        if !self.raw {
            return;
        }
        match &mut self.stage {
            Stage::Pressed(since) if now_ms >= *since + self.times.warn_ms => {
                let since = *since;
                let warned = None;
                self.stage = Stage::Holding { since, warned };
                self.press = Some(Press::Holding);
            }
            Stage::Holding { warned, .. } if warned.is_none() => {
                *warned = self.press.is_none().then_some(now_ms);
            }
            Stage::Holding {
                since,
                warned: Some(warned),
            } if now_ms >= (*since + self.times.hold_ms).max(*warned + BUTTON_WARNED_MS) => {
                self.stage = Stage::Done;
                self.press = Some(Press::Held);
            }
            Stage::Pressed(_) | Stage::Holding { .. } | Stage::Released | Stage::Done => {}
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
    fn two_presses_with_nobody_looking_between_are_no_hold() {
        let mut button = Button::new(false, TIMES);
        button.contact(100, true);
        button.time(120);
        // The input was not read for nine seconds, and is pressed again.
        for now in (9_200..18_000).step_by(100) {
            button.contact(now, true);
            let press = button.poll();
            assert_ne!(press, Some(Press::Held), "{now}");
            assert_eq!(press == Some(Press::Holding), now == 10_200, "{now}");
        }
        // Neither is one that was warned of before.
        button.contact(30_000, true);
        assert_eq!(button.poll(), Some(Press::Cancelled));
    }

    #[test]
    fn a_hold_counts_only_after_its_warning_could_be_seen() {
        let mut button = Button::new(false, TIMES);
        for now in (0..30_000).step_by(250) {
            button.contact(now, true);
        }
        // Nobody took the warning in all this time.
        assert_eq!(button.poll(), Some(Press::Holding));
        let mut held = None;
        for now in (30_000..60_000).step_by(250) {
            button.time(now);
            if button.poll() == Some(Press::Held) {
                held = held.or(Some(now));
            }
        }
        assert_eq!(held, Some(30_000 + BUTTON_WARNED_MS));
    }

    #[test]
    fn who_calls_at_its_deadlines_is_never_taken_for_absent() {
        let mut button = Button::new(false, TIMES);
        button.contact(100, true);
        let mut presses: heapless::Vec<(u64, Press), 8> = heapless::Vec::new();
        while let Some(now) = button.deadline() {
            assert!(now < 20_000);
            button.time(now);
            presses.extend(button.poll().map(|press| (now, press)));
        }
        assert_eq!(presses, [(1_100, Press::Holding), (10_100, Press::Held)]);
    }
}
