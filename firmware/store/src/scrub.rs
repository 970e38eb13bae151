use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use frond_clock::Timestamp;
use frond_ledger::{Seq, StreamId};
use redb::ReadTransaction;

use crate::block::decode_heads;
use crate::counters::Counters;
use crate::limits::{
    READ_TRIES, SCRUB_BYTES_PER_SECOND, SCRUB_EVERY_SECONDS, SCRUB_STEP_BYTES_MAX,
};
use crate::reader::{check_block, is_of_medium};
use crate::shared::Shared;
use crate::tables::{self, parse_block_key, stream_key};

/// Reads all folded messages again and again, at a bounded rate, so that what is damaged is known
/// before anybody asks for it. Whoever has time to spare runs it.
#[derive(Debug)]
pub struct Scrubber {
    shared: Arc<Shared>,
    pass: Pass,
    /// Bytes that may be read now; below zero what a large block took too much.
    credit_bytes: i64,
    /// How often the block that is next could not be read.
    tries: u32,
}

/// Messages of one stream that cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Their stream.
    pub stream: StreamId,
    /// Their sequences, ascending.
    pub seqs: Vec<Seq>,
}

#[derive(Debug)]
enum Pass {
    /// The key of the block after which it goes on; empty at the start.
    After(Vec<u8>),
    /// It is through; how long ago.
    Rest(Duration),
}

impl Scrubber {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            pass: Pass::After(Vec::new()),
            credit_bytes: 0,
            tries: 0,
        }
    }

    /// Reads what is due `since` the last call, and tells what of it is damaged. A pass that is
    /// through counts as of `now`.
    pub fn run(&mut self, since: Duration, now: Timestamp) -> Vec<Unreadable> {
        if let Pass::Rest(rested) = &mut self.pass {
            *rested = rested.saturating_add(since);
            if rested.as_secs() < SCRUB_EVERY_SECONDS {
                return Vec::new();
            }
            self.pass = Pass::After(Vec::new());
        }
        let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let earned = millis.saturating_mul(SCRUB_BYTES_PER_SECOND) / 1000;
        let credit = self.credit_bytes.saturating_add(earned);
        self.credit_bytes = credit.min(SCRUB_STEP_BYTES_MAX);
        let mut found = Vec::new();
        while let Pass::After(after) = &self.pass
            && self.credit_bytes > 0
        {
            let after = after.clone();
            let shared = Arc::clone(&self.shared);
            let is_last_try = self.tries + 1 >= READ_TRIES;
            match shared
                .blocks
                .read(|read| next_block(read, &after, is_last_try))
            {
                Ok(Some(block)) => self.take(block, &mut found),
                Ok(None) => self.end(now),
                // It is no pass: what comes after it was not looked at.
                Err(error) if is_of_medium(&error) && !is_last_try => {
                    self.tries += 1;
                    return found;
                }
                Err(error) => {
                    tracing::error!(%error, "the block store cannot be read through");
                    self.tries = 0;
                    self.pass = Pass::Rest(Duration::ZERO);
                }
            }
        }
        found
    }

    fn take(&mut self, block: Block, found: &mut Vec<Unreadable>) {
        let counters = &self.shared.counters;
        Counters::add(&counters.scrub_bytes, block.bytes);
        Counters::add(&counters.scrub_damaged, block.seqs.len() as u64);
        self.credit_bytes = self
            .credit_bytes
            .saturating_sub_unsigned(block.bytes.max(1));
        if let Some(stream) = block.stream.filter(|_| !block.seqs.is_empty()) {
            let seqs = block.seqs;
            found.push(Unreadable { stream, seqs });
        }
        self.tries = 0;
        self.pass = Pass::After(block.key);
    }

    fn end(&mut self, now: Timestamp) {
        let counters = &self.shared.counters;
        Counters::add(&counters.scrub_passes, 1);
        let seconds = u64::try_from(now.as_nanos() / 1_000_000_000).unwrap_or(0);
        counters.scrubbed_at.store(seconds, Ordering::Relaxed);
        self.pass = Pass::Rest(Duration::ZERO);
    }
}

struct Block {
    key: Vec<u8>,
    stream: Option<StreamId>,
    bytes: u64,
    seqs: Vec<Seq>,
}

/// The block after the one with that key, looked through. What the medium does not give is lost at the
/// last try.
fn next_block(
    read: &ReadTransaction,
    after: &[u8],
    is_last_try: bool,
) -> Result<Option<Block>, redb::Error> {
    use core::ops::Bound::{Excluded, Unbounded};
    let heads = read.open_table(tables::HEADS)?;
    let next = heads.range::<&[u8]>((Excluded(after), Unbounded))?.next();
    let Some((key, row)) = next.transpose()? else {
        return Ok(None);
    };
    let (key, mut bytes) = (key.value().to_vec(), row.value().len() as u64);
    let Some((stream, first)) = parse_block_key(&key) else {
        let (stream, seqs) = (None, Vec::new());
        return Ok(Some(Block {
            key,
            stream,
            bytes,
            seqs,
        }));
    };
    let removed = read.open_table(tables::REMOVED)?;
    let mut seqs = Vec::new();
    if removed.get(&stream_key(stream)[..])?.is_none() {
        match check_block(read, stream, first) {
            Ok(checked) => {
                bytes += checked.bytes;
                seqs = checked.unreadable;
            }
            // Of another read, or it may pass: it is tried again.
            Err(error @ redb::Error::PreviousIo) => return Err(error),
            Err(error) if is_of_medium(&error) && !is_last_try => return Err(error),
            // Where the bodies cannot be reached all of them are lost, and the next are not.
            Err(error) => {
                tracing::error!(%error, stream = stream.0, first, "a block cannot be read");
                let heads = decode_heads(&key, first, row.value());
                let told = heads.map(|heads| heads.heads).unwrap_or_default();
                seqs = told.iter().map(|head| head.seq).collect();
            }
        }
    }
    let stream = Some(stream);
    Ok(Some(Block {
        key,
        stream,
        bytes,
        seqs,
    }))
}
