use std::borrow::Cow;
use std::sync::Arc;

use frond_clock::Timestamp;
use frond_ledger::{Body, Seq};
use frond_wire::Message;
use frond_wire::encode::digits_before;

/// A stored message on its way to somebody whom a consumer serves: nothing of it is copied, and
/// its reply subject is written only where it is sent.
#[derive(Clone, Debug)]
pub struct Parcel {
    to: Arc<str>,
    ack: AckSubject,
    body: Body,
    contents: Contents,
}

/// Where a delivery is acknowledged: `$JS.ACK.<stream>.<consumer>.` and its numbers.
#[derive(Clone, Debug)]
pub(crate) struct AckSubject {
    /// All before the numbers.
    pub(crate) prefix: Arc<str>,
    /// Which delivery of the message it is, from 1.
    pub(crate) count: u64,
    /// The message.
    pub(crate) seq: Seq,
    /// The delivery's number.
    pub(crate) delivery: u64,
    /// When the stream took the message.
    pub(crate) time: Timestamp,
    /// How many wait behind it.
    pub(crate) pending: u64,
}

/// What of a stored message is sent.
#[derive(Clone, Debug)]
pub(crate) enum Contents {
    /// All of it.
    Whole,
    /// Its payload, after another header block than the stored one.
    Relabeled(Box<[u8]>),
    /// This header block, and no payload.
    HeaderOnly(Box<[u8]>),
}

impl Parcel {
    pub(crate) const fn new(to: Arc<str>, ack: AckSubject, body: Body, contents: Contents) -> Self {
        Self {
            to,
            ack,
            body,
            contents,
        }
    }

    /// The subject that receivers see: the one the message is stored under.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.body.subject()
    }

    /// The message, routed by its subject; its reply subject is written into `reply`.
    #[must_use]
    pub fn message<'a>(&'a self, reply: &'a mut String) -> Message<'a> {
        reply.clear();
        self.ack.write(reply);
        Message {
            subject: &self.to,
            reply: Some(reply),
            header: self.contents.header(&self.body),
            payload: self.contents.payload(&self.body),
        }
    }
}

impl Contents {
    pub(crate) fn header<'a>(&'a self, body: &'a Body) -> &'a [u8] {
        match self {
            Self::Whole => body.header(),
            Self::Relabeled(header) | Self::HeaderOnly(header) => header,
        }
    }

    pub(crate) fn payload<'a>(&self, body: &'a Body) -> &'a [u8] {
        match self {
            Self::Whole | Self::Relabeled(_) => body.payload(),
            Self::HeaderOnly(_) => b"",
        }
    }

    /// The same with another header block, if `header` is one.
    pub(crate) fn relabeled(&self, header: Cow<'_, [u8]>) -> Option<Self> {
        let Cow::Owned(header) = header else {
            return None;
        };
        Some(match self {
            Self::Whole | Self::Relabeled(_) => Self::Relabeled(header.into()),
            Self::HeaderOnly(_) => Self::HeaderOnly(header.into()),
        })
    }
}

impl AckSubject {
    /// What comes before the numbers.
    pub(crate) fn prefix(stream: &str, consumer: &str) -> Arc<str> {
        format!("$JS.ACK.{stream}.{consumer}.").into()
    }

    /// Bytes that [`Self::write`] adds.
    pub(crate) fn len(&self) -> usize {
        let numbers = self.numbers();
        let digits = numbers.map(|number| number.checked_ilog10().unwrap_or(0) as usize + 1);
        let dots = numbers.len() - 1;
        let minus = usize::from(self.time.as_nanos() < 0);
        self.prefix.len() + digits.iter().sum::<usize>() + dots + minus
    }

    pub(crate) fn write(&self, out: &mut String) {
        let mut text = [0; NUMBERS_BYTES_MAX];
        let mut at = NUMBERS_BYTES_MAX;
        for (place, number) in self.numbers().into_iter().enumerate().rev() {
            at = digits_before(&mut text, at, number);
            let mark = match place {
                3 if self.time.as_nanos() < 0 => &b".-"[..],
                0 => b"",
                _ => b".",
            };
            at -= mark.len();
            if let Some(before) = text.get_mut(at..at + mark.len()) {
                before.copy_from_slice(mark);
            }
        }
        out.push_str(&self.prefix);
        // All at once: what is looked at digit by digit costs more than all the rest.
        let text = text.get(at..).unwrap_or_default();
        out.push_str(core::str::from_utf8(text).unwrap_or_default());
    }

    fn numbers(&self) -> [u64; 5] {
        let time = self.time.as_nanos().unsigned_abs();
        [self.count, self.seq, self.delivery, time, self.pending]
    }
}

/// Five numbers of at most 20 digits, four dots and a minus.
const NUMBERS_BYTES_MAX: usize = 5 * 20 + 5;

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn ack(numbers: [u64; 4], time: i64) -> AckSubject {
        let [count, seq, delivery, pending] = numbers;
        AckSubject {
            prefix: AckSubject::prefix("S", "C"),
            count,
            seq,
            delivery,
            time: Timestamp::from_nanos(time),
            pending,
        }
    }

    /// spec: nats-server v2.15.1 server/consumer.go `ackReply`
    #[test]
    fn the_reply_is_as_nats_server_writes_it_and_as_long_as_it_says() {
        for (numbers, time) in [
            ([1, 2, 3, 4], 1_700_000_000_000_000_000),
            ([u64::MAX; 4], i64::MAX),
            ([0; 4], 0),
            ([9, 10, 99, 100], i64::MIN),
        ] {
            let [count, seq, delivery, pending] = numbers;
            let ack = ack(numbers, time);
            let mut written = String::new();
            ack.write(&mut written);
            let told = format!("$JS.ACK.S.C.{count}.{seq}.{delivery}.{time}.{pending}");
            assert_eq!(written, told);
            assert_eq!(ack.len(), told.len());
        }
    }

    #[test]
    fn what_is_sent_is_what_is_stored_unless_it_is_changed() {
        let body = Body::new(Bytes::from_static(b"a.bHEADpayload"), 3, 4, None);
        let body = body.expect("parts within it");
        let mut reply = "what was there before".to_owned();
        let header = || Box::from(&b"NEW"[..]);
        for (contents, header, payload) in [
            (Contents::Whole, &b"HEAD"[..], &b"payload"[..]),
            (Contents::Relabeled(header()), b"NEW", b"payload"),
            (Contents::HeaderOnly(header()), b"NEW", b""),
        ] {
            let ack = ack([1; 4], 1);
            let parcel = Parcel::new("_INBOX.1".into(), ack, body.clone(), contents);
            let message = Message {
                subject: "_INBOX.1",
                reply: Some("$JS.ACK.S.C.1.1.1.1.1"),
                header,
                payload,
            };
            assert_eq!(parcel.shown(), "a.b");
            assert_eq!(parcel.message(&mut reply), message);
        }
    }
}
