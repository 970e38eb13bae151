//! How long a message says that it wants to live.
//!
//! spec: ADR-43; nats-server v2.15.1 server/stream.go `parseMessageTTL`

use crate::consumer::parse_go_duration;

/// How long a message lives, whatever the stream's `max_age` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ttl {
    /// It does not say.
    #[default]
    Unsaid,
    /// Until a limit other than age lets it go.
    Never,
    /// So many seconds, at least one.
    Seconds(u64),
}

const NANOS: i64 = 1_000_000_000;

impl Ttl {
    /// Reads a header's value; `None` when it says no such thing.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("never") {
            return Some(Self::Never);
        }
        let seconds = match parse_go_duration(text) {
            Some(nanos) => nanos / NANOS,
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok()?,
            None => return None,
        };
        let seconds = u64::try_from(seconds).ok().filter(|it| *it > 0)?;
        Some(Self::Seconds(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_seconds_are_read_and_fractions_dropped() {
        for (text, ttl) in [
            ("1", Some(Ttl::Seconds(1))),
            ("90", Some(Ttl::Seconds(90))),
            ("1m30s", Some(Ttl::Seconds(90))),
            ("1.9s", Some(Ttl::Seconds(1))),
            ("never", Some(Ttl::Never)),
            ("NEVER", Some(Ttl::Never)),
            ("999ms", None),
            ("0", None),
            ("0s", None),
            ("-1", None),
            ("+1", None),
            ("", None),
            ("soon", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(Ttl::parse(text), ttl, "{text}");
        }
    }
}
