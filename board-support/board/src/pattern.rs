/// What a lamp says. Each is told from the others by its rhythm alone: colour is a help for those
/// who see it, not the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The server is not ready yet: slow and even.
    Booting,
    /// Ready, a hub is configured and the line to it is down: two flashes, a pause.
    LocalOnly,
    /// Ready, and every line is up, or none is configured: lit, and dark for a moment every three
    /// seconds, which a lamp that froze cannot do.
    Online,
    /// It works, and something needs a look: three flashes, a pause.
    Degraded,
    /// A new configuration is being tried: quick and even. Do not pull the plug.
    Updating,
    /// It does not work: a long and a short flash, a pause.
    Fault,
    /// The button is held: a flicker. Let go to leave everything as it is.
    Holding,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Booting,
        Self::LocalOnly,
        Self::Online,
        Self::Degraded,
        Self::Updating,
        Self::Fault,
        Self::Holding,
    ];

    /// Milliseconds of light and dark in turn, light first, over and over.
    #[must_use]
    pub const fn rhythm_ms(self) -> &'static [u64] {
        match self {
            Self::Booting => &[1_000, 1_000],
            Self::LocalOnly => &[150, 350, 150, 1_850],
            Self::Online => &[2_500, 500],
            Self::Degraded => &[150, 350, 150, 350, 150, 1_850],
            Self::Updating => &[250, 250],
            Self::Fault => &[1_200, 350, 150, 1_350],
            Self::Holding => &[60, 60],
        }
    }

    /// The word for it in events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Booting => "booting",
            Self::LocalOnly => "local only",
            Self::Online => "online",
            Self::Degraded => "degraded",
            Self::Updating => "updating",
            Self::Fault => "fault",
            Self::Holding => "holding",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flashes in a row, and whether their lengths are told apart by eye (a factor of two).
    fn looks_like(a: Pattern, b: Pattern) -> bool {
        let (a, b) = (a.rhythm_ms(), b.rhythm_ms());
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.max(b) * 10 < a.min(b) * 19)
    }

    #[test]
    fn every_two_patterns_differ_by_rhythm() {
        for (at, a) in Pattern::ALL.into_iter().enumerate() {
            assert!(looks_like(a, a));
            assert_eq!(a.rhythm_ms().len() % 2, 0, "{a:?} ends dark");
            for b in Pattern::ALL.into_iter().skip(at + 1) {
                assert!(!looks_like(a, b), "{a:?} looks like {b:?}");
            }
        }
    }
    #[test]
    fn a_lamp_that_froze_resembles_no_pattern() {
        for pattern in Pattern::ALL {
            let rhythm = pattern.rhythm_ms();
            let lit: u64 = rhythm.iter().step_by(2).sum();
            let dark: u64 = rhythm.iter().skip(1).step_by(2).sum();
            // Lit and dark are both shown within a glance, and neither is a mere blink in it.
            assert!(rhythm.iter().all(|ms| *ms <= 2_500), "{pattern:?}");
            let cycle = lit + dark;
            assert!(lit.min(dark) * 10 >= cycle, "{pattern:?}");
            let longest = |from: usize| rhythm.iter().skip(from).step_by(2).max().copied();
            let least = longest(0).min(longest(1));
            assert!(least >= Some(150) || cycle <= 200, "{pattern:?}");
        }
    }
}
