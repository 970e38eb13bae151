use frond_ledger::Seq;
use serde::Deserialize;

use super::duration::parse_go_duration;

/// What an ack subject says: `$JS.ACK.…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckSubject {
    /// Which delivery of the message it was, from 1.
    pub(crate) count: u64,
    /// The message.
    pub(crate) stream: Seq,
    /// The delivery's number.
    pub(crate) delivery: u64,
}

impl AckSubject {
    /// Reads the short form (9 tokens) and the long one (11 or more, with domain and account).
    // spec: nats-server v2.14.0 server/consumer.go ackReplyInfo
    pub(crate) fn parse(subject: &str) -> Option<Self> {
        let count = subject.split('.').count();
        let skip = match count {
            9 => 4,
            11.. => 6,
            _ => return None,
        };
        let mut numbers = subject.split('.').skip(skip).map(|t| t.parse::<u64>().ok());
        let (count, stream, delivery) = (numbers.next()??, numbers.next()??, numbers.next()??);
        (stream > 0).then_some(Self {
            count,
            stream,
            delivery,
        })
    }
}

/// What the body of an ack asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AckKind<'a> {
    /// Done.
    Ack,
    /// Again, after so many nanoseconds, or as soon as possible.
    Nak(Option<i64>),
    /// Still at it.
    Progress,
    /// Done, and the next message please.
    Next(&'a [u8]),
    /// Never again, for this reason.
    Term(String),
    /// No kind we know: answered and otherwise ignored.
    Unknown,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NakBody {
    delay: i64,
}

impl<'a> AckKind<'a> {
    /// Reads an ack's payload.
    pub(crate) fn parse(payload: &'a [u8]) -> Self {
        match payload {
            b"" | b"+ACK" | b"+OK" => Self::Ack,
            b"+WPI" => Self::Progress,
            _ => Self::with_argument(payload),
        }
    }

    fn with_argument(payload: &'a [u8]) -> Self {
        if let Some(rest) = payload.strip_prefix(b"+NXT") {
            return Self::Next(rest);
        }
        if let Some(rest) = payload.strip_prefix(b"-NAK") {
            return Self::Nak(delay(rest.trim_ascii()));
        }
        match payload.strip_prefix(b"+TERM") {
            Some(rest) => Self::Term(String::from_utf8_lossy(rest).trim().to_owned()),
            None => Self::Unknown,
        }
    }
}

/// An argument that cannot be read counts as none.
fn delay(argument: &[u8]) -> Option<i64> {
    if argument.starts_with(b"{") {
        return serde_json::from_slice(argument)
            .ok()
            .map(|body: NakBody| body.delay);
    }
    parse_go_duration(core::str::from_utf8(argument).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_name_the_same_delivery() {
        let expected = Some(AckSubject {
            count: 2,
            stream: 7,
            delivery: 9,
        });
        for subject in [
            "$JS.ACK.S.C.2.7.9.1700000000000000000.3",
            "$JS.ACK._.abcdefgh.S.C.2.7.9.1700000000000000000.3",
            "$JS.ACK.hub.abcdefgh.S.C.2.7.9.1700000000000000000.3.x",
        ] {
            assert_eq!(AckSubject::parse(subject), expected, "{subject}");
        }
        for subject in [
            "$JS.ACK.S.C.2.7.9.1",
            "$JS.ACK.S.C.a.7.9.1.3",
            "$JS.ACK.S.C.1.0.9.1.3",
        ] {
            assert_eq!(AckSubject::parse(subject), None, "{subject}");
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        for (payload, kind) in [
            ("", AckKind::Ack),
            ("+ACK", AckKind::Ack),
            ("+OK", AckKind::Ack),
            ("-NAK", AckKind::Nak(None)),
            ("-NAK {\"delay\":5}", AckKind::Nak(Some(5))),
            ("-NAK 10ms", AckKind::Nak(Some(10_000_000))),
            ("-NAK soon", AckKind::Nak(None)),
            ("+WPI", AckKind::Progress),
            ("+WPI ", AckKind::Unknown),
            ("+TERM", AckKind::Term(String::new())),
            ("+TERM  broken ", AckKind::Term("broken".into())),
            ("+NXT 5", AckKind::Next(b" 5")),
            ("hello", AckKind::Unknown),
        ] {
            assert_eq!(AckKind::parse(payload.as_bytes()), kind, "{payload}");
        }
    }
}
