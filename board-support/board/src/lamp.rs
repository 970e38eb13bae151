use crate::limits::SHOW_DARK_MS;
use crate::pattern::Pattern;

/// One lamp: which pattern it shows, and how far that has come.
#[derive(Clone, Debug)]
pub struct Lamp {
    pattern: Pattern,
    phase: Phase,
    /// When the phase ends.
    until_ms: u64,
    /// What the lamp was last told.
    is_lit: Option<bool>,
    wish: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Dark before the pattern begins anew.
    Dark,
    /// This step of the rhythm.
    Step(usize),
}

/// What happens to a lamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LampInput {
    /// It is to show this from now on; what it shows already goes on.
    Show(Pattern),
    /// Somebody looks: dark for a moment, then the pattern from its start.
    Repeat,
    /// Time has passed.
    Time,
}

impl Lamp {
    /// A lamp that begins to show `pattern` now.
    #[must_use]
    pub const fn new(now_ms: u64, pattern: Pattern) -> Self {
        Self {
            pattern,
            phase: Phase::Dark,
            until_ms: now_ms,
            is_lit: None,
            wish: None,
        }
    }

    /// Takes what happened.
    pub fn handle(&mut self, now_ms: u64, input: LampInput) {
        match input {
            LampInput::Show(pattern) if pattern != self.pattern => {
                self.pattern = pattern;
                self.begin(now_ms, Phase::Step(0));
            }
            LampInput::Repeat => self.begin(now_ms, Phase::Dark),
            LampInput::Show(_) | LampInput::Time => {}
        }
        // A clock that jumped far is not caught up with step by step.
        if now_ms.saturating_sub(self.until_ms) > 60_000 {
            self.begin(now_ms, Phase::Step(0));
        }
        while now_ms >= self.until_ms {
            let next = match self.phase {
                Phase::Dark => Phase::Step(0),
                Phase::Step(at) => Phase::Step((at + 1) % self.pattern.rhythm_ms().len()),
            };
            self.begin(self.until_ms, next);
        }
        let lit = match self.phase {
            Phase::Dark => false,
            Phase::Step(at) => at % 2 == 0,
        };
        if self.is_lit != Some(lit) {
            self.is_lit = Some(lit);
            self.wish = Some(lit);
        }
    }

    /// Whether the lamp is to be lit or dark from now on.
    pub fn poll(&mut self) -> Option<bool> {
        self.wish.take()
    }

    /// When to give it [`LampInput::Time`].
    #[must_use]
    pub const fn deadline(&self) -> u64 {
        self.until_ms
    }

    /// What it shows.
    #[must_use]
    pub const fn pattern(&self) -> Pattern {
        self.pattern
    }

    fn begin(&mut self, at_ms: u64, phase: Phase) {
        let lasts = match phase {
            Phase::Dark => SHOW_DARK_MS,
            Phase::Step(at) => self.pattern.rhythm_ms().get(at).copied().unwrap_or(1_000),
        };
        self.phase = phase;
        self.until_ms = at_ms + lasts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths of light and dark as a lamp shows them from its first light on.
    fn seen(lamp: &mut Lamp, until_ms: u64) -> heapless::Vec<(bool, u64), 64> {
        let mut changes: heapless::Vec<(bool, u64), 64> = heapless::Vec::new();
        let mut now = 0;
        while now < until_ms {
            lamp.handle(now, LampInput::Time);
            while let Some(lit) = lamp.poll() {
                changes.push((lit, now)).unwrap();
            }
            assert!(lamp.deadline() > now, "time goes on");
            now = lamp.deadline();
        }
        changes
    }

    #[test]
    fn a_lamp_shows_the_rhythm_of_each_pattern() {
        for pattern in Pattern::ALL {
            let mut lamp = Lamp::new(0, pattern);
            let rhythm = pattern.rhythm_ms();
            let cycle: u64 = rhythm.iter().sum();
            let changes = seen(&mut lamp, 2 * cycle);
            let lengths = changes.windows(2).map(|two| two[1].1 - two[0].1);
            assert!(changes[0].0, "{pattern:?} begins lit");
            assert!(changes.windows(2).all(|two| two[0].0 != two[1].0));
            for (length, want) in lengths.zip(rhythm.iter().cycle()) {
                assert_eq!(length, *want, "{pattern:?}");
            }
        }
    }

    #[test]
    fn a_new_pattern_shows_at_once_and_the_same_one_goes_on() {
        let mut lamp = Lamp::new(0, Pattern::Booting);
        lamp.handle(0, LampInput::Time);
        assert_eq!(lamp.poll(), Some(true));
        lamp.handle(500, LampInput::Show(Pattern::Booting));
        assert_eq!((lamp.poll(), lamp.deadline()), (None, 1_000));
        lamp.handle(1_200, LampInput::Time);
        assert_eq!(lamp.poll(), Some(false));
        lamp.handle(1_300, LampInput::Show(Pattern::Fault));
        assert_eq!((lamp.poll(), lamp.deadline()), (Some(true), 2_500));
    }

    #[test]
    fn who_looks_sees_it_from_the_start() {
        let mut lamp = Lamp::new(0, Pattern::Online);
        lamp.handle(0, LampInput::Time);
        assert_eq!(lamp.poll(), Some(true));
        lamp.handle(2_000, LampInput::Repeat);
        assert_eq!((lamp.poll(), lamp.deadline()), (Some(false), 3_000));
        lamp.handle(3_000, LampInput::Time);
        assert_eq!((lamp.poll(), lamp.deadline()), (Some(true), 5_500));
    }

    #[test]
    fn a_jump_of_time_is_no_long_loop() {
        let mut lamp = Lamp::new(0, Pattern::Holding);
        lamp.handle(u64::MAX / 2, LampInput::Time);
        assert_eq!(lamp.poll(), Some(true));
        assert_eq!(lamp.deadline(), u64::MAX / 2 + 60);
    }
}
