use core::fmt;

use serde::{Deserialize, Serialize};

/// How many boxes have a configuration after a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Wave {
    /// So many.
    Count(usize),
    /// So many in a hundred, from 1 to 100.
    Percent(u8),
}

impl Wave {
    /// From `7` or `25%`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("wave {text:?} is no number and no share");
        let wave = match text.strip_suffix('%') {
            Some(share) => share.parse().map(Self::Percent),
            None => text.parse().map(Self::Count),
        };
        match wave.map_err(|_| wrong())? {
            Self::Percent(0 | 101..) | Self::Count(0) => Err(wrong()),
            wave @ (Self::Percent(_) | Self::Count(_)) => Ok(wave),
        }
    }

    /// How many of `all` boxes: one at least.
    #[must_use]
    pub fn size(self, all: usize) -> usize {
        let size = match self {
            Self::Count(count) => count,
            Self::Percent(share) => (usize::from(share) * all).div_ceil(100),
        };
        size.clamp(1, all.max(1))
    }
}

impl fmt::Display for Wave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(share) => write!(f, "{share}%"),
        }
    }
}

impl TryFrom<String> for Wave {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Wave> for String {
    fn from(wave: Wave) -> Self {
        wave.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_numbers_or_shares_of_all() {
        let sizes = |text: &str| Wave::parse(text).map(|it| (it.size(1000), it.size(1)));
        assert_eq!(sizes("1"), Ok((1, 1)));
        assert_eq!(sizes("5%"), Ok((50, 1)));
        assert_eq!(sizes("100%"), Ok((1000, 1)));
        assert_eq!(Wave::Percent(5).size(21), 2);
        for wrong in ["", "0", "0%", "101%", "x", "-1"] {
            assert!(Wave::parse(wrong).is_err(), "{wrong}");
        }
    }
}
