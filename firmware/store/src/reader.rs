use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use frond_ledger::{Fetched, Query, Seq, Stored, StreamId};
use redb::{ReadOnlyTable, ReadTransaction};

use crate::block::{decode_bodies, decode_body, decode_places};
use crate::coding::unseal;
use crate::counters::{Counters, Counts};
use crate::delta::Answer;
use crate::limits::READ_TRIES;
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

    /// Reads messages. What is gone or damaged is `missing`; what the medium does not give is so
    /// only after it was asked several times, for that may pass.
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
        let (found, tries) = self.fetch_older(query, &older);
        let mut found = found.into_iter();
        let mut fetched = Fetched {
            tries,
            ..Fetched::default()
        };
        for (seq, answer) in answers {
            let stored = match answer {
                Answer::Here(stored) => Some(stored),
                Answer::Gone => None,
                Answer::Before => {
                    let Some(stored) = found.next() else {
                        fetched.unread.push(seq);
                        continue;
                    };
                    stored
                }
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

    /// One answer for each of `seqs`, from the block store, as far as it can be read now; and how
    /// often the next ones were tried.
    fn fetch_older(&self, query: &Query, seqs: &[Seq]) -> (Vec<Option<Stored>>, u32) {
        if seqs.is_empty() {
            return (Vec::new(), 0);
        }
        let stream = query.stream;
        let mut found = Vec::with_capacity(seqs.len());
        let mut bad = BTreeSet::new();
        let mut before = query.again.unwrap_or(0);
        while found.len() < seqs.len() {
            let rest = seqs.get(found.len()..).unwrap_or_default();
            let mut attempt = Attempt::default();
            let read = self.shared.blocks.read(|read| {
                attempt = Attempt::default();
                let done = attempt.fetch(read, stream, rest, &bad);
                if matches!(done, Err(redb::Error::PreviousIo)) {
                    // Of another read: this block was not tried.
                    attempt.block = None;
                }
                done
            });
            Counters::add(&self.shared.counters.blocks_read, attempt.blocks);
            found.append(&mut attempt.found);
            if let Err(error) = read {
                let tries = attempt.block.map_or(0, |_| before + 1);
                if is_of_medium(&error) && tries < READ_TRIES {
                    if query.again.is_none() {
                        tracing::warn!(stream = stream.0, %error, "messages cannot be read now");
                    }
                    return (found, tries);
                }
                tracing::error!(stream = stream.0, %error, "messages cannot be read");
                // Only those that lie where it failed.
                bad.extend(attempt.block);
                found.push(None);
                // The next one was not tried before.
                before = 0;
            }
        }
        (found, 0)
    }
}

/// Whether the way to the file failed, or a sector of it, and not what it says: that may pass.
pub(crate) fn is_of_medium(error: &redb::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    #[expect(clippy::wildcard_enum_match_arm, reason = "redb's enum is open")]
    match error {
        redb::Error::Io(error) => !matches!(error.kind(), InvalidData | UnexpectedEof),
        redb::Error::PreviousIo | redb::Error::DatabaseClosed => true,
        _ => false,
    }
}

/// One block while consecutive answers come from it.
struct Open {
    first: Seq,
    key: [u8; 12],
    /// Where each message starts; `None` when that is damaged.
    places: Option<Vec<(Seq, u64)>>,
    dead: Ranges,
    bodies: Bytes,
}

/// What is read until something cannot be.
#[derive(Default)]
struct Attempt {
    /// One for each of the first that were asked for.
    found: Vec<Option<Stored>>,
    /// The block that was read last, by its first sequence.
    block: Option<Seq>,
    /// How many blocks were read.
    blocks: u64,
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
        let mut of_block = 0;
        for &seq in seqs {
            if let Some(block) = open.as_ref().filter(|block| block.spans(seq)) {
                self.found.push(block.message(seq));
                continue;
            }
            self.block = None;
            let first = block_of(&heads, stream, seq)?;
            let Some(first) = first.filter(|first| !bad.contains(first)) else {
                self.found.push(None);
                continue;
            };
            self.block = Some(first);
            if open.as_ref().is_none_or(|block| block.first != first) {
                self.release(open.take(), of_block);
                of_block = self.found.len();
                self.blocks += 1;
                open = Some(Open::read(&heads, &bodies, &dead, stream, first)?);
            }
            self.found
                .push(open.as_ref().and_then(|block| block.message(seq)));
        }
        self.release(open, of_block);
        Ok(())
    }

    /// The messages from `start` on share the memory of the block that they are from: only when
    /// they are most of it.
    fn release(&mut self, block: Option<Open>, start: usize) {
        let Some(block) = block else {
            return;
        };
        let found = self.found.get_mut(start..).unwrap_or_default();
        let found = found.iter_mut().flatten();
        let mut found: Vec<&mut Stored> = found.collect();
        let shared: usize = found.iter().map(|stored| stored.body.bytes().len()).sum();
        if shared * 2 < block.bodies.len() {
            for stored in &mut found {
                stored.body = stored.body.detached();
            }
        }
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
            places: heads.and_then(|row| decode_places(&key, first, row.value())),
            dead: dead.unwrap_or_default(),
            bodies: bodies
                .map(|row| Bytes::from(unpack(&key, row.value()).into_owned()))
                .unwrap_or_default(),
        })
    }

    /// Whether no other block can hold `seq`: they do not overlap.
    fn spans(&self, seq: Seq) -> bool {
        let last = self.places.as_ref().and_then(|places| places.last());
        self.first <= seq && last.is_some_and(|(last, _)| seq <= *last)
    }

    /// Messages that are told and cannot be read. Without an index those that are there are found
    /// all the same, and nobody knows which others there were.
    fn unreadable(&self) -> Vec<Seq> {
        let Some(places) = &self.places else {
            tracing::error!(first = self.first, "the index of a block is damaged");
            return Vec::new();
        };
        let lost = places.iter().filter(|(seq, offset)| {
            let found = decode_body(&self.key, &self.bodies, *offset);
            !self.dead.contains(*seq) && found.is_none_or(|found| found.seq != *seq)
        });
        lost.map(|(seq, _)| *seq).collect()
    }

    fn message(&self, seq: Seq) -> Option<Stored> {
        if self.dead.contains(seq) {
            return None;
        }
        let Some(places) = &self.places else {
            let (messages, _) = decode_bodies(&self.key, &self.bodies);
            return messages.into_iter().find(|stored| stored.seq == seq);
        };
        let index = places.binary_search_by_key(&seq, |(seq, _)| *seq);
        let (_, offset) = places.get(index.ok()?)?;
        decode_body(&self.key, &self.bodies, *offset).filter(|stored| stored.seq == seq)
    }
}
