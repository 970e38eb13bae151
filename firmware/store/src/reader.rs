use std::collections::BTreeSet;
use std::sync::Arc;

use frond_ledger::{Fetched, Query, Seq, Stored, StreamId};
use redb::{ReadOnlyTable, ReadTransaction};

use crate::block::{Heads, decode_bodies, decode_body, decode_heads};
use crate::coding::unseal;
use crate::counters::{Counters, Counts};
use crate::delta::Answer;
use crate::packed::unpack;
use crate::ranges::Ranges;
use crate::scrub::Scrubber;
use crate::shared::Shared;
use crate::tables::{self, ROW_V1, block_key, parse_block_key};

/// Answers queries, from memory what is young and from the block store what is not.
#[derive(Clone, Debug)]
pub struct Reader {
    shared: Arc<Shared>,
}

type Rows = ReadOnlyTable<&'static [u8], &'static [u8]>;

impl Reader {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Reads messages. What is gone or cannot be read is `missing`.
    #[must_use]
    pub fn fetch(&self, query: &Query) -> Fetched {
        let mut answers = Vec::with_capacity(query.seqs.len());
        let mut older = Vec::new();
        {
            // The tail first: what leaves it is in the block store by then.
            let tail = self.shared.tail();
            for &seq in &query.seqs {
                let answer = tail.answer(query.stream, seq);
                if answer == Answer::Before {
                    older.push(seq);
                }
                answers.push((seq, answer));
            }
        }
        let mut found = self.fetch_older(query.stream, &older).into_iter();
        let mut fetched = Fetched::default();
        for (seq, answer) in answers {
            let stored = match answer {
                Answer::Here(stored) => Some(stored),
                Answer::Gone => None,
                Answer::Before => found.next().flatten(),
            };
            match stored {
                Some(stored) => fetched.messages.push(stored),
                None => fetched.missing.push(seq),
            }
        }
        fetched
    }

    /// What the store did since it was opened.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counters.now()
    }

    /// The live counters, for a thread that only watches.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    /// Looks through all of it for damage.
    #[must_use]
    pub fn scrubber(&self) -> Scrubber {
        Scrubber::new(Arc::clone(&self.shared))
    }

    /// One answer for each of `seqs`, from the block store.
    fn fetch_older(&self, stream: StreamId, seqs: &[Seq]) -> Vec<Option<Stored>> {
        if seqs.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::with_capacity(seqs.len());
        let mut bad = BTreeSet::new();
        while found.len() < seqs.len() {
            let rest = seqs.get(found.len()..).unwrap_or_default();
            let mut attempt = Attempt::default();
            let read = self.shared.blocks.read(|read| {
                attempt = Attempt::default();
                attempt.fetch(read, stream, rest, &bad)
            });
            found.append(&mut attempt.found);
            if let Err(error) = read {
                tracing::error!(stream = stream.0, %error, "messages cannot be read");
                // Only those that lie where it failed.
                bad.extend(attempt.block);
                found.push(None);
            }
        }
        found
    }
}

/// One block while consecutive answers come from it.
struct Open {
    first: Seq,
    key: [u8; 12],
    heads: Option<Heads>,
    dead: Ranges,
    bodies: Vec<u8>,
}

/// What is read until something cannot be.
#[derive(Default)]
struct Attempt {
    /// One for each of the first that were asked for.
    found: Vec<Option<Stored>>,
    /// The block that was read last, by its first sequence.
    block: Option<Seq>,
}

impl Attempt {
    /// Nothing is read of the blocks that are known to be `bad`.
    fn fetch(
        &mut self,
        read: &ReadTransaction,
        stream: StreamId,
        seqs: &[Seq],
        bad: &BTreeSet<Seq>,
    ) -> Result<(), redb::Error> {
        let removed = read.open_table(tables::REMOVED)?;
        if removed.get(&tables::stream_key(stream)[..])?.is_some() {
            self.found.resize(seqs.len(), None);
            return Ok(());
        }
        let heads = read.open_table(tables::HEADS)?;
        let bodies = read.open_table(tables::BODIES)?;
        let dead = read.open_table(tables::DEAD)?;
        let mut open: Option<Open> = None;
        for &seq in seqs {
            self.block = None;
            let first = block_of(&heads, stream, seq)?;
            let Some(first) = first.filter(|first| !bad.contains(first)) else {
                self.found.push(None);
                continue;
            };
            self.block = Some(first);
            let block = match open.take() {
                Some(block) if block.first == first => block,
                Some(_) | None => Open::read(&heads, &bodies, &dead, stream, first)?,
            };
            self.found.push(block.message(seq));
            open = Some(block);
        }
        Ok(())
    }
}

/// What became of the messages of a block.
pub(crate) struct Checked {
    pub(crate) bytes: u64,
    pub(crate) unreadable: Vec<Seq>,
}

/// Reads the block that starts with `first`.
pub(crate) fn check_block(
    read: &ReadTransaction,
    stream: StreamId,
    first: Seq,
) -> Result<Checked, redb::Error> {
    let heads = read.open_table(tables::HEADS)?;
    let bodies = read.open_table(tables::BODIES)?;
    let dead = read.open_table(tables::DEAD)?;
    let block = Open::read(&heads, &bodies, &dead, stream, first)?;
    Ok(Checked {
        bytes: block.bodies.len() as u64,
        unreadable: block.unreadable(),
    })
}

/// First sequence of the block that would hold `seq`.
fn block_of(heads: &Rows, stream: StreamId, seq: Seq) -> Result<Option<Seq>, redb::Error> {
    let (low, high) = (block_key(stream, 0), block_key(stream, seq));
    let last = heads.range(&low[..]..=&high[..])?.next_back().transpose()?;
    Ok(last.and_then(|(key, _)| parse_block_key(key.value()).map(|(_, first)| first)))
}

impl Open {
    fn read(
        heads: &Rows,
        bodies: &Rows,
        dead: &Rows,
        stream: StreamId,
        first: Seq,
    ) -> Result<Self, redb::Error> {
        let key = block_key(stream, first);
        let heads = heads.get(&key[..])?;
        let dead = dead.get(&key[..])?;
        let dead = dead.and_then(|row| Ranges::decode(&mut unseal(&key, ROW_V1, row.value())?));
        let bodies = bodies.get(&key[..])?;
        Ok(Self {
            first,
            key,
            heads: heads.and_then(|row| decode_heads(&key, first, row.value())),
            dead: dead.unwrap_or_default(),
            bodies: bodies
                .map(|row| unpack(&key, row.value()).into_owned())
                .unwrap_or_default(),
        })
    }

    /// Messages that are told and cannot be read. Without an index those that are there are found
    /// all the same, and nobody knows which others there were.
    fn unreadable(&self) -> Vec<Seq> {
        let Some(heads) = &self.heads else {
            tracing::error!(first = self.first, "the index of a block is damaged");
            return Vec::new();
        };
        let told = heads.heads.iter().zip(&heads.offsets);
        let lost = told.filter(|(head, offset)| {
            let found = decode_body(&self.key, &self.bodies, **offset);
            !self.dead.contains(head.seq) && found.is_none_or(|found| found.seq != head.seq)
        });
        lost.map(|(head, _)| head.seq).collect()
    }

    fn message(&self, seq: Seq) -> Option<Stored> {
        if self.dead.contains(seq) {
            return None;
        }
        let Some(heads) = &self.heads else {
            let (messages, _) = decode_bodies(&self.key, &self.bodies);
            return messages.into_iter().find(|stored| stored.seq == seq);
        };
        let index = heads.heads.binary_search_by_key(&seq, |head| head.seq);
        let offset = heads.offsets.get(index.ok()?)?;
        decode_body(&self.key, &self.bodies, *offset).filter(|stored| stored.seq == seq)
    }
}
