//! What a block is made of: heads (an index that opening reads), bodies (each readable on its
//! own), and the set of dead sequences.

mod draft;

use std::collections::BTreeMap;

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, Head, Names, Seq, Stored};

use crate::coding::{Cut, put_counted, put_len, put_signed, put_varint, seal, unseal};
use crate::limits::BLOCK_MESSAGES_MAX;
use crate::message_code::decode_message;
use crate::packed::{pack, unpack};
use draft::Draft;

const HEADS_V1: u8 = 1;
pub(crate) const BODIES_V1: u8 = 1;
/// Length and checksum before each body.
const BODY_HEADER_BYTES: usize = 8;
/// What a head tells beyond what every message has.
const HAS_ID: u64 = 1;
const HAS_MARK: u64 = 2;

/// Whether bodies are compressed, where that makes them smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Packing {
    #[default]
    Loose,
    Packed,
}

pub(crate) type Messages = BTreeMap<Seq, (Timestamp, Body)>;

/// The heads of one block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads {
    pub(crate) subjects: Names,
    /// [`Head::subject`] numbers `subjects` of this block.
    pub(crate) heads: Vec<Head>,
    /// Where in the bodies each message starts.
    pub(crate) offsets: Vec<u64>,
}

/// What is known of a block without decoding all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) last: Seq,
    pub(crate) messages: usize,
    pub(crate) body_bytes: usize,
}

/// A block ready to be stored.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) first: Seq,
    pub(crate) heads: Vec<u8>,
    pub(crate) bodies: Vec<u8>,
}

/// Splits messages into blocks, each made when it is asked for; `key` gives each block's key from
/// its first sequence.
pub(crate) fn encode_blocks(
    messages: &Messages,
    packing: Packing,
    key: impl Fn(Seq) -> [u8; 12],
) -> impl Iterator<Item = Encoded> {
    let mut rest = messages.iter();
    let mut open = Draft::default();
    core::iter::from_fn(move || {
        for (&seq, (time, body)) in rest.by_ref() {
            // Only the stream's part of the key counts for a body.
            open.push((seq, *time, body), &key(seq));
            if open.is_past_full() {
                let next = open.split_last();
                let full = core::mem::replace(&mut open, next);
                return encode_block(full, packing, &key);
            }
        }
        encode_block(core::mem::take(&mut open), packing, &key)
    })
}

fn encode_block(
    draft: Draft<'_>,
    packing: Packing,
    key: impl Fn(Seq) -> [u8; 12],
) -> Option<Encoded> {
    let Draft { part, bodies, ends } = draft;
    let (&(first, first_time, _), &(last, _, _)) = (part.first()?, part.last()?);
    let key = key(first);
    let heads = seal(&key, HEADS_V1, |out| {
        put_varint(out, last - first);
        put_len(out, part.len());
        put_len(out, bodies.len());
        put_signed(out, first_time.as_nanos());
        let (subjects, indexes) = dictionary(&part);
        put_len(out, subjects.len());
        for subject in subjects {
            put_counted(out, subject.as_bytes());
        }
        let mut before = (first, first_time.as_nanos(), 1);
        for (((seq, time, body), index), &end) in part.iter().zip(indexes).zip(&ends) {
            put_varint(out, seq - before.0);
            put_signed(out, time.as_nanos().wrapping_sub(before.1));
            put_len(out, end - before.2);
            put_varint(out, u64::from(index));
            put_varint(out, u64::from(body.header_len()));
            let payload = body.payload().len();
            put_len(out, payload);
            put_extras(out, body);
            before = (*seq, time.as_nanos(), end);
        }
    });
    let packed = match packing {
        Packing::Packed => pack(&key, &bodies, &ends),
        Packing::Loose => None,
    };
    Some(Encoded {
        first,
        heads,
        bodies: packed.unwrap_or(bodies),
    })
}

/// What few messages have: which of it follows, then a message id, then a mark.
fn put_extras(out: &mut Vec<u8>, body: &Body) {
    let (id, mark) = (body.dedupe_id(), body.mark());
    let has_id = if id.is_some() { HAS_ID } else { 0 };
    let has_mark = if mark == 0 { 0 } else { HAS_MARK };
    put_varint(out, has_id | has_mark);
    if let Some(id) = id {
        put_counted(out, id.as_bytes());
    }
    if mark != 0 {
        put_varint(out, mark);
    }
}

fn extras<'a>(cut: &mut Cut<'a>) -> Option<(Option<&'a str>, u64)> {
    let has = cut.varint()?;
    if has & !(HAS_ID | HAS_MARK) != 0 {
        return None;
    }
    let id = match has & HAS_ID {
        0 => None,
        _ => Some(cut.text()?),
    };
    let mark = match has & HAS_MARK {
        0 => 0,
        _ => cut.varint()?,
    };
    Some((id, mark))
}

/// Distinct subjects in order of appearance, and each message's index into them.
fn dictionary<'a>(part: &[(Seq, Timestamp, &'a Body)]) -> (Vec<&'a str>, Vec<u32>) {
    let mut subjects = Vec::new();
    let mut known = BTreeMap::new();
    let indexes = part.iter().map(|(_, _, body)| {
        *known.entry(body.subject()).or_insert_with(|| {
            subjects.push(body.subject());
            subjects.len() as u32 - 1
        })
    });
    let indexes = indexes.collect();
    (subjects, indexes)
}

/// Bound to the stream, so that a body never answers for another stream's.
fn body_crc(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key.get(..4).unwrap_or_default());
    hasher.update(content);
    hasher.finalize()
}

/// The start of the heads only.
pub(crate) fn decode_summary(key: &[u8], first: Seq, value: &[u8]) -> Option<Summary> {
    let mut cut = unseal(key, HEADS_V1, value)?;
    Some(Summary {
        last: first.checked_add(cut.varint()?)?,
        messages: cut.len()?,
        body_bytes: cut.len()?,
    })
}

pub(crate) fn decode_heads(key: &[u8], first: Seq, value: &[u8]) -> Option<Heads> {
    let mut cut = unseal(key, HEADS_V1, value)?;
    let (_, messages, _) = (cut.varint()?, cut.len()?, cut.len()?);
    let mut before = (first, cut.signed()?, 1u64);
    // What says how many there are may be damaged where the checksum happens to fit.
    let likely = messages.min(BLOCK_MESSAGES_MAX);
    let mut out = Heads {
        subjects: Names::default(),
        heads: Vec::with_capacity(likely),
        offsets: Vec::with_capacity(likely),
    };
    for _ in 0..cut.len()? {
        out.subjects.push(cut.text()?);
    }
    for _ in 0..messages {
        let seq = before.0.checked_add(cut.varint()?)?;
        let time = before.1.wrapping_add(cut.signed()?);
        out.offsets.push(before.2);
        let end = before.2.checked_add(cut.varint()?)?;
        let (subject, header_len, payload_len) =
            (cut.varint32()?, cut.varint32()?, cut.varint32()?);
        let (dedupe_id, mark) = extras(&mut cut)?;
        out.heads.push(Head {
            seq,
            time: Timestamp::from_nanos(time),
            subject,
            header_len,
            payload_len,
            dedupe_id: dedupe_id.map(Into::into),
            mark,
        });
        before = (seq, time, end);
    }
    Some(out)
}

/// The sequences of one block and where in the bodies each message starts: all of its heads that
/// reading needs.
pub(crate) fn decode_places(key: &[u8], first: Seq, value: &[u8]) -> Option<Vec<(Seq, u64)>> {
    let mut cut = unseal(key, HEADS_V1, value)?;
    let (_, messages, _) = (cut.varint()?, cut.len()?, cut.len()?);
    cut.signed()?;
    for _ in 0..cut.len()? {
        cut.counted()?;
    }
    let mut before = (first, 1u64);
    // What says how many there are may be damaged where the checksum happens to fit.
    let mut places = Vec::with_capacity(messages.min(BLOCK_MESSAGES_MAX));
    for _ in 0..messages {
        let seq = before.0.checked_add(cut.varint()?)?;
        places.push((seq, before.1));
        cut.signed()?;
        before = (seq, before.1.checked_add(cut.varint()?)?);
        for _ in 0..3 {
            cut.varint32()?;
        }
        extras(&mut cut)?;
    }
    Some(places)
}

/// The message that starts at `offset` of what [`crate::packed::unpack`] gives, which it shares;
/// `None` when it is damaged.
pub(crate) fn decode_body(key: &[u8], bodies: &Bytes, offset: u64) -> Option<Stored> {
    let (content, _) = body_at(bodies, usize::try_from(offset).ok()?)?;
    whole_body(key, bodies, content)
}

/// All undamaged messages, packed or not, found without the heads; the flag tells whether any was damaged.
pub(crate) fn decode_bodies(key: &[u8], bodies: &[u8]) -> (Vec<Stored>, bool) {
    let bodies = &*unpack(key, bodies);
    let mut out = Vec::new();
    let mut damaged = bodies.first() != Some(&BODIES_V1);
    let mut at = 1;
    while at < bodies.len() {
        let Some((content, end)) = body_at(bodies, at) else {
            damaged = true;
            break;
        };
        let own = Bytes::copy_from_slice(content.1);
        match whole_body(key, &own, (content.0, &own)) {
            Some(stored) => out.push(stored),
            None => damaged = true,
        }
        at = end;
    }
    (out, damaged)
}

/// The checksum and content of the body at `offset`, and where it ends.
fn body_at(bodies: &[u8], offset: usize) -> Option<((u32, &[u8]), usize)> {
    let mut cut = Cut(bodies.get(offset..)?);
    let (len, crc) = (cut.u32()? as usize, cut.u32()?);
    let content = cut.bytes(len)?;
    Some(((crc, content), offset + BODY_HEADER_BYTES + len))
}

/// The body that `content` is, a part of `source`.
fn whole_body(key: &[u8], source: &Bytes, (crc, content): (u32, &[u8])) -> Option<Stored> {
    if body_crc(key, content) != crc {
        return None;
    }
    let mut cut = Cut(content);
    let stored = decode_message(source, &mut cut)?;
    if cut.0.is_empty() {
        return Some(stored);
    }
    let body = stored.body.marked(cut.varint()?);
    Some(Stored { body, ..stored })
}

#[cfg(test)]
mod tests;
