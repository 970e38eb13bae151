//! One record of a message block.

use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::gone::Gone;
use crate::highway::Highway;
use crate::item::{Item, Message};
use crate::limits::MESSAGE_BYTES_MAX;

/// Length, sequence, time, length of the subject.
const HEAD: usize = 22;
const SUM: usize = 8;
const HAS_HEADER: u32 = 1 << 31;
/// The sequence was used and its message erased.
const ERASED: u64 = 1 << 63;
/// A message in another block was deleted.
const DELETED: u64 = 1 << 62;

/// A block's records on their way.
#[derive(Debug)]
pub(super) struct Records {
    block: u32,
    key: [u8; 32],
    offset: u64,
}

/// What a record is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// So many bytes of something.
    Is(usize, Option<Item>),
    /// More bytes are needed.
    Short,
}

impl Records {
    /// Of a block of a stream.
    pub(super) fn new(stream: &str, block: u32) -> Self {
        Self {
            block,
            key: Sha256::digest(format!("{stream}-{block}")).into(),
            offset: 0,
        }
    }

    /// The record in front, of which at most `left` bytes belong to the block.
    ///
    /// # Errors
    /// When it is damaged.
    pub(super) fn read(&mut self, front: &[u8], left: u64) -> Result<Record, Fault> {
        let Some(head) = front.first_chunk::<HEAD>() else {
            return self.short(left >= HEAD as u64);
        };
        let (len, rest) = head.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
        let marked = u32::from_le_bytes(*len);
        let len = (marked & !HAS_HEADER) as usize;
        let subject_len = usize::from(u16::from_le_bytes(tail(rest)));
        let extra = if marked & HAS_HEADER == 0 { 0 } else { 4 };
        if len > MESSAGE_BYTES_MAX || len < HEAD + subject_len + extra + SUM {
            return Err(self.fault("impossible length"));
        }
        let Some(record) = front.get(..len) else {
            return self.short(left >= len as u64);
        };
        let (content, sum) = record.split_at(len - SUM);
        let (subject, body) = content
            .get(HEAD..)
            .unwrap_or_default()
            .split_at(subject_len);
        let (header_len, body) = body.split_at(extra);
        let mut hash = Highway::new(&self.key);
        hash.write(content.get(4..20).unwrap_or_default());
        hash.write(subject);
        hash.write(body);
        if hash.finish() != sum {
            return Err(self.fault("wrong checksum"));
        }
        let header_len = header_len
            .first_chunk()
            .map_or(0, |len| u32::from_le_bytes(*len));
        if header_len as usize > body.len() {
            return Err(self.fault("impossible header length"));
        }
        self.offset += len as u64;
        let seq = number(content, 4);
        let time = number(content, 12).cast_signed();
        Ok(Record::Is(len, item(seq, time, subject, header_len, body)))
    }

    fn short(&self, is_to_come: bool) -> Result<Record, Fault> {
        match is_to_come {
            true => Ok(Record::Short),
            false => Err(self.fault("cut off")),
        }
    }

    const fn fault(&self, what: &'static str) -> Fault {
        Fault::Record {
            block: self.block,
            offset: self.offset,
            what,
        }
    }
}

fn item(seq: u64, time: i64, subject: &[u8], header_len: u32, body: &[u8]) -> Option<Item> {
    let marks = seq & (ERASED | DELETED);
    match (seq & !(ERASED | DELETED), marks) {
        (0, _) => None,
        (seq, 0) => Some(Item::Message(Message {
            seq,
            time,
            bytes: [subject, body].concat().into(),
            subject_len: u32::try_from(subject.len()).unwrap_or(u32::MAX),
            header_len,
        })),
        (seq, _) => Some(Item::Gone(Gone::one(seq))),
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn tail(bytes: &[u8]) -> [u8; 2] {
    bytes.last_chunk().copied().unwrap_or_default()
}
