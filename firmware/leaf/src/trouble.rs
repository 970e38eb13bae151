use core::time::Duration;

use frond_clock::Rng;

use crate::limits::{ERR_TEXT_CHARS_MAX, MIN_VERSION_PAUSE, MISTAKE_PAUSE, REFUSED_PAUSE_MAX};

/// Why a soliciting link isn't up, and so how long it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nobody answered, or the line broke: may be over in a second.
    Line,
    /// One side has to be set up differently.
    Refused,
    /// Both sides are told to keep away for a while.
    Mistake,
    /// Another server has our name there: it stays.
    Namesake,
    /// The hub wants a newer version.
    MinVersion,
}

impl Trouble {
    /// What the peer's `-ERR` means for the next dial; `None` when the line goes on.
    pub(crate) fn of_err(text: &str) -> Option<Self> {
        let known = [
            ("remote leafnode has same cluster name", Self::Mistake),
            ("Loop detected", Self::Mistake),
            ("Permissions Violation", Self::Refused),
            ("minimum version required", Self::MinVersion),
            ("Authorization Violation", Self::Refused),
            ("Authentication Timeout", Self::Line),
            ("Authentication Expired", Self::Refused),
            ("Duplicate Remote LeafNode Connection", Self::Namesake),
            ("cluster name", Self::Refused),
            ("maximum ", Self::Refused),
            ("attempted to connect to leaf node port", Self::Refused),
            ("Rejecting connection", Self::Refused),
            ("Secure Connection - TLS Required", Self::Refused),
            ("Maximum Payload Violation", Self::Line),
            ("Unknown Protocol Operation", Self::Line),
            ("Stale ", Self::Line),
        ];
        known
            .iter()
            .find(|(part, _)| text.contains(part))
            .map(|(_, trouble)| *trouble)
    }

    /// What an operator may do about the peer's `-ERR`.
    pub(crate) fn advice(text: &str) -> &'static str {
        let known = [
            (
                "Authorization Violation",
                "; check user, password or credentials of this remote",
            ),
            (
                "Duplicate Remote LeafNode Connection",
                "; another server of this name attached the same account: give each its own server_name",
            ),
            (
                "remote leafnode has same cluster name",
                "; give this server another cluster name (or server_name)",
            ),
            (
                "Loop detected",
                "; this account reaches the hub on two ways: remove one of them",
            ),
            (
                "Permissions Violation",
                "; the hub's user lacks this permission",
            ),
        ];
        known
            .iter()
            .find(|(part, _)| text.contains(part))
            .map_or("", |(_, advice)| advice)
    }

    /// How long to wait before the next dial, after so many refusals in a row.
    ///
    /// The pause doesn't grow while the hub is merely away: when it is back after a night it
    /// is attached within two intervals. The random half keeps a thousand leafs apart.
    pub(crate) fn pause(self, interval: Duration, refusals: u32, rng: &mut Rng) -> Duration {
        let base = match self {
            Self::Line => interval,
            Self::Refused => interval
                .saturating_mul(1 << refusals.min(8))
                .clamp(interval, REFUSED_PAUSE_MAX.max(interval)),
            Self::Namesake => interval
                .saturating_mul(1 << refusals.min(8))
                .clamp(interval, MISTAKE_PAUSE.max(interval)),
            Self::Mistake => MISTAKE_PAUSE,
            Self::MinVersion => MIN_VERSION_PAUSE,
        };
        let jitter = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        base + Duration::from_nanos(rng.below(jitter))
    }
}

/// A peer's words as they may stand in a log: not endless, and nothing that steers a terminal.
pub(crate) fn printable(text: &str) -> String {
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(ERR_TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_stay_between_their_bounds() {
        let mut rng = Rng::seeded(1);
        for refusals in 0..100 {
            for (trouble, least, most) in [
                (Trouble::Line, 1, 2),
                (Trouble::Refused, 1, 11),
                (Trouble::Namesake, 1, 31),
                (Trouble::Mistake, 30, 31),
                (Trouble::MinVersion, 5, 6),
            ] {
                let pause = trouble.pause(SECOND, refusals, &mut rng);
                assert!(
                    pause >= SECOND * least && pause <= SECOND * most,
                    "{trouble:?} {pause:?}"
                );
            }
        }
        assert!(Trouble::Refused.pause(SECOND, 50, &mut rng) >= REFUSED_PAUSE_MAX);
    }

    #[test]
    fn a_peers_words_are_tamed() {
        assert_eq!(printable("\u{1b}[2Jno\tway"), "[2Jnoway");
        assert_eq!(printable(&"x".repeat(100_000)).len(), ERR_TEXT_CHARS_MAX);
    }

    #[test]
    fn known_errors_have_their_pause() {
        for (text, trouble) in [
            (
                "remote leafnode has same cluster name",
                Some(Trouble::Mistake),
            ),
            (
                "Loop detected for leafnode account=\"A\". Delaying attempt to reconnect for 30s",
                Some(Trouble::Mistake),
            ),
            ("cluster name cannot contain spaces", Some(Trouble::Refused)),
            ("Authorization Violation", Some(Trouble::Refused)),
            ("Stale Connection", Some(Trouble::Line)),
            ("Invalid Subscription", None),
        ] {
            assert_eq!(Trouble::of_err(text), trouble, "{text}");
        }
    }
}
