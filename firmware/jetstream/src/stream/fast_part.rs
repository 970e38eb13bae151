//! Where a message belongs in a fast batch, as its reply subject says.
//!
//! spec: nats-server v2.15.1 server/stream.go `getFastBatch`; ADR-50

use frond_wire::{Headers, Message};
use serde::Deserialize;

/// How the reply subject of a part ends.
const SUFFIX: &str = ".$FI";
/// How a reply subject begins that another account's import made.
const SERVICE_REPLY: &str = "_R_.";
/// Messages between two acks when nobody says.
const EVERY_DEFAULT: u16 = 10;

/// One part of a fast batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FastPart {
    pub(crate) batch: Box<str>,
    /// Its place, from 1.
    pub(crate) seq: u64,
    /// The most messages between two acks, from 1.
    pub(crate) every_max: u16,
    pub(crate) gaps: Gaps,
    pub(crate) op: Op,
    /// Where its answer goes.
    pub(crate) reply: Box<str>,
}

/// What a missing message does to its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// It ends it.
    End,
    /// Nothing.
    Pass,
}

/// What a part asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Its message is kept, and more come.
    Add,
    /// Its message is kept, and it is the last.
    Commit,
    /// The message before it was the last.
    CommitBefore,
    /// To hear how far the batch is.
    Ping,
}

/// A message of a batch in no known form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

impl FastPart {
    /// The place that a message names; `None` when it is part of no fast batch.
    pub(crate) fn of(message: &Message<'_>) -> Option<Result<Self, Garbled>> {
        let reply = message.reply?;
        if let Some(place) = reply.strip_suffix(SUFFIX).filter(|it| !it.is_empty()) {
            return Some(Self::parse(place, reply).ok_or(Garbled));
        }
        if !reply.starts_with(SERVICE_REPLY) {
            return None;
        }
        let asked = original_reply(message.header)?;
        let place = asked.strip_suffix(SUFFIX).filter(|it| !it.is_empty())?;
        Some(Self::parse(place, reply).ok_or(Garbled))
    }

    /// Reads `<prefix>.<batch>.<every>.<gaps>.<seq>.<op>`.
    fn parse(place: &str, reply: &str) -> Option<Self> {
        let mut tokens = place.rsplitn(6, '.');
        let (op, seq, gaps) = (tokens.next()?, tokens.next()?, tokens.next()?);
        let (every, batch, _prefix) = (tokens.next()?, tokens.next()?, tokens.next()?);
        let seq = number(seq).filter(|seq| *seq != 0 && *seq != u64::MAX)?;
        let op = match (number(op)?, seq) {
            (0, 1) | (1, 2..) => Op::Add,
            (2, _) => Op::Commit,
            (3, 2..) => Op::CommitBefore,
            (4, _) => Op::Ping,
            _ => return None,
        };
        let gaps = match gaps {
            "fail" => Gaps::End,
            "ok" => Gaps::Pass,
            _ => return None,
        };
        let every_max = match number(every) {
            None | Some(0) => EVERY_DEFAULT,
            Some(every) => u16::try_from(every).unwrap_or(u16::MAX),
        };
        Some(Self {
            batch: batch.into(),
            seq,
            every_max,
            gaps,
            op,
            reply: reply.into(),
        })
    }
}

/// The reply subject before an import put its own in place of it.
fn original_reply(header: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Info {
        reply: String,
    }
    let info = Headers::new(header).get("Nats-Request-Info")?;
    let info: Info = serde_json::from_str(info).ok()?;
    Some(info.reply)
}

/// A number of digits only.
pub(super) fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reply: &str, header: &[u8]) -> Option<Result<FastPart, Garbled>> {
        FastPart::of(&Message {
            subject: "s",
            reply: Some(reply),
            header,
            payload: b"",
        })
    }

    #[test]
    fn a_place_is_read_from_the_end() {
        let part = read("_INBOX.x.y.id.0.ok.7.1.$FI", b"").unwrap().unwrap();
        assert_eq!((&*part.batch, part.seq, part.every_max), ("id", 7, 10));
        assert_eq!((part.gaps, part.op), (Gaps::Pass, Op::Add));
        let part = read("p.id.70000.fail.1.0.$FI", b"").unwrap().unwrap();
        assert_eq!((part.every_max, part.gaps), (u16::MAX, Gaps::End));
    }

    #[test]
    fn other_forms_are_garbled() {
        for reply in [
            "x.$FI",
            "id.5.ok.1.0.$FI",
            "p.id.5.maybe.1.0.$FI",
            "p.id.5.ok.2.0.$FI",
            "p.id.5.ok.1.1.$FI",
            "p.id.5.ok.1.3.$FI",
            "p.id.5.ok.1.5.$FI",
            "p.id.5.ok.0.4.$FI",
            "p.id.5.ok.+1.0.$FI",
            "p.id.5.ok.18446744073709551615.1.$FI",
        ] {
            assert_eq!(read(reply, b""), Some(Err(Garbled)), "{reply}");
        }
        assert_eq!(read("p.id.5.ok.1.0.FI", b""), None);
    }

    #[test]
    fn an_import_tells_the_place_in_a_header() {
        let header =
            b"NATS/1.0\r\nNats-Request-Info: {\"acc\":\"B\",\"reply\":\"p.id.5.ok.2.3.$FI\"}\r\n\r\n";
        let part = read("_R_.abc.1", header).unwrap().unwrap();
        assert_eq!(part.op, Op::CommitBefore);
        assert_eq!(read("_INBOX.1", header), None);
    }
}
