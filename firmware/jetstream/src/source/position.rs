use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Seq, StreamId};

/// The layout written today.
const VERSION: u8 = 1;
const KEY: &str = "jetstream.source.";

/// One message of an origin: how far a mirror or source has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Its sequence there.
    pub(crate) seq: Seq,
    /// When the origin took it; zero when that is not known.
    pub(crate) time: Timestamp,
}

/// What is kept of a mirror or source beside its messages, in the batch that keeps those.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saved {
    /// The last message taken.
    pub(crate) position: Option<Position>,
    /// Which stream of that name it was; empty when the origin does not tell.
    pub(crate) identity: Box<str>,
}

/// The name it is kept under.
pub(crate) fn key(stream: StreamId, index_name: &str) -> Box<str> {
    format!("{KEY}{}.{index_name}", stream.0).into()
}

/// Whether a name is one of ours.
pub(crate) fn is_key(key: &str) -> bool {
    key.starts_with(KEY)
}

impl Position {
    /// Whether the time is known.
    pub(crate) fn is_timed(self) -> bool {
        self.time != Timestamp::default()
    }
}

impl Saved {
    /// A version byte, then sequence and time (little endian), then the identity.
    pub(crate) fn encode(&self) -> Bytes {
        let (seq, time) = self.position.map_or((0, 0), |p| (p.seq, p.time.as_nanos()));
        let mut bytes = vec![VERSION];
        bytes.extend(seq.to_le_bytes());
        bytes.extend(time.to_le_bytes());
        bytes.extend(self.identity.as_bytes());
        bytes.into()
    }

    /// `None` when it cannot be read.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (seq, rest) = rest.split_first_chunk::<8>()?;
        let (time, identity) = rest.split_first_chunk::<8>()?;
        if *version != VERSION {
            return None;
        }
        let seq = u64::from_le_bytes(*seq);
        let time = Timestamp::from_nanos(i64::from_le_bytes(*time));
        Some(Self {
            position: (seq > 0).then_some(Position { seq, time }),
            identity: core::str::from_utf8(identity).ok()?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_before_is_read() {
        let saved = Saved {
            position: Some(Position {
                seq: 258,
                time: Timestamp::from_nanos(3),
            }),
            identity: "udm485Cd".into(),
        };
        let written = b"\x01\x02\x01\0\0\0\0\0\0\x03\0\0\0\0\0\0\0udm485Cd";
        assert_eq!(saved.encode(), &written[..]);
        assert_eq!(Saved::decode(written), Some(saved));
        let nothing = Saved::default();
        assert_eq!(Saved::decode(&nothing.encode()), Some(nothing));
        assert_eq!(Saved::decode(b"\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), None);
        assert_eq!(Saved::decode(b"\x01\0"), None);
    }
}
