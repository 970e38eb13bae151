//! What a stream knows of a message for as long as it has it, without reading it again.

use frond_wire::Headers;

use super::ttl::Ttl;

/// What few messages are; kept with their bodies and told again at start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// How long it lives.
    pub(crate) ttl: Ttl,
    /// Whether it tells that its subject has no messages any more.
    pub(crate) is_marker: bool,
    /// Whether it says when another message is to be published.
    pub(crate) is_schedule: bool,
}

const MARKER: u64 = 1;
const SCHEDULE: u64 = 2;
const TTL_SHIFT: u32 = 2;
const NEVER: u64 = 1;

impl Mark {
    /// What a message's headers make it.
    ///
    /// spec: nats-server v2.15.1 server/sdm.go `isSubjectDeleteMarker`
    pub(crate) fn of(header: &[u8]) -> Self {
        let mut mark = Self::default();
        if header.is_empty() {
            return mark;
        }
        let [mut ttl, mut reason, mut operation, mut schedule] = [None; 4];
        for (key, value) in Headers::new(header).iter() {
            let known = match key {
                b"Nats-TTL" => &mut ttl,
                b"Nats-Marker-Reason" => &mut reason,
                b"KV-Operation" => &mut operation,
                b"Nats-Schedule" => &mut schedule,
                _ => continue,
            };
            // What is said again is not heard, also after a header that says nothing.
            known.get_or_insert(value);
        }
        let is_said = |value: Option<&[u8]>| value.is_some_and(|value| !value.is_empty());
        let ttl = ttl.and_then(|ttl| core::str::from_utf8(ttl).ok());
        mark.ttl = ttl.and_then(Ttl::parse).unwrap_or_default();
        mark.is_marker = is_said(reason) || operation == Some(b"PURGE");
        mark.is_schedule = is_said(schedule);
        mark
    }

    /// As the disk keeps it; 0 for a message like most.
    pub(crate) const fn encode(self) -> u64 {
        let marker = if self.is_marker { MARKER } else { 0 };
        let schedule = if self.is_schedule { SCHEDULE } else { 0 };
        let ttl = match self.ttl {
            Ttl::Unsaid => 0,
            Ttl::Never => NEVER,
            Ttl::Seconds(seconds) => seconds.saturating_add(NEVER),
        };
        // What lives longer than the bits can say lives on.
        let ttl = if ttl > u64::MAX >> TTL_SHIFT {
            NEVER
        } else {
            ttl
        };
        ttl << TTL_SHIFT | schedule | marker
    }

    /// From what the disk kept.
    pub(crate) const fn decode(bits: u64) -> Self {
        Self {
            ttl: match bits >> TTL_SHIFT {
                0 => Ttl::Unsaid,
                NEVER => Ttl::Never,
                more => Ttl::Seconds(more - NEVER),
            },
            is_marker: bits & MARKER != 0,
            is_schedule: bits & SCHEDULE != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_its_bits() {
        for ttl in [
            Ttl::Unsaid,
            Ttl::Never,
            Ttl::Seconds(1),
            Ttl::Seconds(1 << 40),
        ] {
            for flags in 0..4 {
                let mark = Mark {
                    ttl,
                    is_marker: flags & 1 != 0,
                    is_schedule: flags & 2 != 0,
                };
                assert_eq!(Mark::decode(mark.encode()), mark);
            }
        }
        assert_eq!(Mark::default().encode(), 0);
        let endless = Mark {
            ttl: Ttl::Seconds(u64::MAX),
            ..Mark::default()
        };
        assert_eq!(Mark::decode(endless.encode()).ttl, Ttl::Never);
    }

    #[test]
    fn headers_make_a_mark() {
        let of = |lines: &str| Mark::of(format!("NATS/1.0\r\n{lines}\r\n").as_bytes());
        assert_eq!(of("Nats-TTL: 5s\r\nNats-TTL: 9s\r\n").ttl, Ttl::Seconds(5));
        assert!(of("Nats-Marker-Reason: MaxAge\r\n").is_marker);
        assert!(of("KV-Operation: PURGE\r\n").is_marker);
        assert!(!of("KV-Operation: DEL\r\n").is_marker);
        assert!(of("Nats-Schedule: @at x\r\n").is_schedule);
        assert_eq!(
            of("Nats-Schedule-Target: x\r\nX: Nats-TTL: 3\r\n"),
            Mark::default()
        );
    }
}
