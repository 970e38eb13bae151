use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, Seq, Stored};

use crate::coding::{Cut, put_counted, put_len, put_signed, put_varint};

/// Writes one message, readable on its own: the journal and the blocks keep the same bytes.
///
/// `seq | time | subject_len | header_len | dedupe start + 1 (0: none) [| dedupe len] | bytes`.
pub(crate) fn encode_message(out: &mut Vec<u8>, seq: Seq, time: Timestamp, body: &Body) {
    put_varint(out, seq);
    put_signed(out, time.as_nanos());
    put_varint(out, u64::from(body.subject_len()));
    put_varint(out, u64::from(body.header_len()));
    match body.dedupe_range() {
        None => put_len(out, 0),
        Some(range) => {
            put_varint(out, u64::from(range.start) + 1);
            put_varint(out, u64::from(range.end.saturating_sub(range.start)));
        }
    }
    put_counted(out, body.bytes());
}

/// Reads one message from `cut`, a part of `source`; its body shares `source`.
pub(crate) fn decode_message(source: &Bytes, cut: &mut Cut<'_>) -> Option<Stored> {
    let seq = cut.varint()?;
    let time = Timestamp::from_nanos(cut.signed()?);
    let subject_len = cut.varint32()?;
    let header_len = cut.varint32()?;
    let dedupe = match cut.varint()? {
        0 => None,
        start => {
            let start = u32::try_from(start - 1).ok()?;
            Some(start..start.checked_add(cut.varint32()?)?)
        }
    };
    let bytes = source.slice_ref(cut.counted()?);
    let body = Body::new(bytes, subject_len, header_len, dedupe)?;
    Some(Stored { seq, time, body })
}
