//! What the journal's tail comes to, and what of it is lost.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use frond_ledger::{Damage, Record, Seq, StreamId};

use crate::delta::Delta;
use crate::limits::LOST_PER_HOLE_MAX;
use crate::load::Loaded;
use crate::ranges::Ranges;
use crate::record_code::decode_records;
use crate::replay::{End, Replay, Step};

/// The tail as one delta.
#[derive(Debug, Default)]
pub(crate) struct Recalled {
    pub(crate) delta: Delta,
    /// Sequences that fell into holes.
    pub(crate) lost: BTreeMap<StreamId, Ranges>,
    pub(crate) damage: Vec<Damage>,
}

/// Applies what was read. Streams whose last sequences may have been lost leave out `ahead`: what
/// was acknowledged is never given again.
pub(crate) fn recall(replay: Replay, loaded: &Loaded, ahead: u64) -> Recalled {
    let mut work = Recall {
        loaded,
        out: Recalled::default(),
        after_hole: false,
        seen_since: BTreeSet::new(),
    };
    for step in replay.steps {
        match step {
            Step::Hole { from, to } => {
                work.note(None, format!("journal bytes {from}..{to} are damaged"));
                work.hole();
            }
            Step::Batch(bytes) => work.batch(&bytes),
        }
    }
    if replay.end == End::Missing {
        work.hole();
    }
    if work.after_hole {
        work.leave_out(ahead);
    }
    work.out.delta.end_lsn = replay.head;
    work.out
}

struct Recall<'l> {
    loaded: &'l Loaded,
    out: Recalled,
    /// There was a hole, and these streams had a message after the last one.
    after_hole: bool,
    seen_since: BTreeSet<StreamId>,
}

impl Recall<'_> {
    fn hole(&mut self) {
        self.after_hole = true;
        self.seen_since.clear();
    }

    fn batch(&mut self, bytes: &Bytes) {
        let Some(records) = decode_records(bytes) else {
            let text = "a batch of the journal is of an unknown version";
            self.note(None, text.into());
            self.hole();
            return;
        };
        for record in &records {
            self.notice(record);
            self.out.delta.apply(record);
        }
    }

    /// Lost are the sequences between the last message before a hole and the first after it.
    fn notice(&mut self, record: &Record) {
        let Record::Put { stream, seq, .. } = record else {
            return;
        };
        if !self.after_hole || !self.seen_since.insert(*stream) {
            return;
        }
        let before = self.last_of(*stream);
        if before + 1 < *seq {
            let first = (before + 1).max(seq.saturating_sub(LOST_PER_HOLE_MAX));
            let lost = self.out.lost.entry(*stream).or_default();
            lost.add(first, seq - 1);
        }
    }

    fn last_of(&self, stream: StreamId) -> Seq {
        let in_tail = self.out.delta.streams.get(&stream);
        let in_blocks = match in_tail {
            Some(change) if change.gone => 0,
            Some(_) | None => self.loaded.streams.get(&stream).map_or(0, |it| it.last()),
        };
        in_blocks.max(in_tail.map_or(0, |change| change.last))
    }

    /// Nobody knows how many messages of these streams were lost at the end.
    fn leave_out(&mut self, ahead: u64) {
        let in_blocks = self.loaded.streams.iter();
        let in_blocks = in_blocks.filter(|(_, stream)| stream.row.is_some());
        let mut unsure: BTreeSet<StreamId> = in_blocks.map(|(id, _)| *id).collect();
        for (id, change) in &self.out.delta.streams {
            match (change.gone, &change.meta) {
                (_, Some(_)) => unsure.insert(*id),
                (true, None) => unsure.remove(id),
                (false, None) => false,
            };
        }
        for stream in unsure.difference(&self.seen_since.clone()) {
            let last = self.last_of(*stream);
            let left_out = last.saturating_add(ahead);
            self.out.delta.streams.entry(*stream).or_default().last = left_out;
            let text = format!(
                "messages after {last} may have been acknowledged and are lost: the next one is {}",
                left_out.saturating_add(1)
            );
            self.note(Some(*stream), text);
        }
    }

    fn note(&mut self, stream: Option<StreamId>, text: String) {
        self.out.damage.push(Damage { stream, text });
    }
}
