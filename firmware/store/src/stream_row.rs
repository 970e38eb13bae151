use bytes::Bytes;
use frond_ledger::Seq;

use crate::coding::{Cut, put_varint};
use crate::delta::StreamDelta;

/// A stream's bounds and description as the block store keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamRow {
    /// First sequence that may exist.
    pub(crate) first: Seq,
    /// Highest sequence used.
    pub(crate) last: Seq,
    /// Opaque.
    pub(crate) meta: Bytes,
}

impl StreamRow {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.first);
        put_varint(out, self.last);
        out.extend_from_slice(&self.meta);
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let mut cut = Cut(payload);
        Some(Self {
            first: cut.varint()?,
            last: cut.varint()?,
            meta: Bytes::copy_from_slice(cut.0),
        })
    }

    /// The row after `change`; `None` when neither says what the stream is.
    pub(crate) fn after(old: Option<Self>, change: &StreamDelta) -> Option<Self> {
        let (first, last, meta) = match old {
            Some(old) if !change.gone => (old.first, old.last, Some(old.meta)),
            Some(_) | None => (1, 0, None),
        };
        let first = first.max(change.floor);
        Some(Self {
            first,
            last: last.max(change.last),
            meta: change.meta.clone().or(meta)?,
        })
    }
}
