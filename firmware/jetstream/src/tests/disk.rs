use std::collections::BTreeMap;

use bytes::Bytes;
use frond_ledger::{
    Batch, ConsumerId, Damage, Engine, Fetched, Head, Heads, Part, Query, Receipt, Record,
    Recovered, RecoveredConsumer, RecoveredStream, Seq, Stored, StreamId, commit,
};

/// What a disk would hold, record by record.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    streams: BTreeMap<StreamId, OnDisk>,
    values: BTreeMap<Box<str>, Bytes>,
    ids_used: (u32, u32),
    /// Sequences left out after the last of each stream when it is read again.
    left_out: u64,
    /// What is told as damaged at the next start.
    pub(super) damage: Vec<Damage>,
    /// What cannot be read, until it can.
    unreadable: Vec<(StreamId, Stored)>,
    /// Nothing can be read of it now.
    pub(super) fails: bool,
    pub(super) commits: usize,
}

#[derive(Clone, Debug, Default)]
struct OnDisk {
    meta: Option<Bytes>,
    first: Seq,
    last: Seq,
    messages: BTreeMap<Seq, Stored>,
    consumers: BTreeMap<ConsumerId, (Bytes, Option<Bytes>, Vec<Bytes>)>,
}

impl Engine for Disk {
    type Error = ();

    fn write(&mut self, batch: &Batch) -> Result<(), ()> {
        batch.records.iter().for_each(|record| self.apply(record));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), ()> {
        self.commits += 1;
        Ok(())
    }
}

impl Disk {
    pub(super) fn commit(&mut self, batches: &[Batch]) -> Vec<Receipt> {
        commit(self, batches).unwrap()
    }

    /// A message can no longer be read.
    pub(super) fn lose(&mut self, seq: Seq) {
        for (id, stream) in &mut self.streams {
            let lost = stream.messages.remove(&seq);
            self.unreadable.extend(lost.map(|stored| (*id, stored)));
        }
    }

    /// Everything can be read again.
    pub(super) fn find(&mut self) {
        for (stream, stored) in std::mem::take(&mut self.unreadable) {
            let stream = self.streams.get_mut(&stream).expect("a stream");
            stream.messages.insert(stored.seq, stored);
        }
    }

    /// Loses what was kept of the progress of all consumers: all of it, or one change.
    pub(super) fn lose_progress(&mut self, change: Option<usize>) {
        for (_, state, changes) in self
            .streams
            .values_mut()
            .flat_map(|s| s.consumers.values_mut())
        {
            match change {
                Some(index) => drop(changes.remove(index)),
                None => *state = None,
            }
        }
    }

    /// Loses the first consumer.
    pub(super) fn lose_consumer(&mut self) {
        for stream in self.streams.values_mut() {
            stream.consumers.pop_first();
        }
    }

    fn apply(&mut self, record: &Record) {
        match record.clone() {
            Record::Put { .. } | Record::Drop { .. } | Record::Floor { .. } => {
                self.apply_to_messages(record.clone());
            }
            Record::Consumer { .. }
            | Record::ConsumerState { .. }
            | Record::ConsumerChange { .. } => self.apply_to_consumers(record.clone()),
            Record::Stream { stream, meta } => {
                self.ids_used.0 = self.ids_used.0.max(stream.0);
                match meta {
                    Some(meta) => self.streams.entry(stream).or_default().meta = Some(meta),
                    None => drop(self.streams.remove(&stream)),
                }
            }
            Record::Value { key, value } => {
                match value {
                    Some(value) => self.values.insert(key, value),
                    None => self.values.remove(&key),
                };
            }
        }
    }

    fn apply_to_messages(&mut self, record: Record) {
        if let Record::Put {
            stream,
            seq,
            time,
            body,
        } = record
        {
            let disk = self
                .streams
                .get_mut(&stream)
                .expect("a stream that is there");
            assert!(seq > disk.last, "{seq} is used twice");
            disk.last = seq;
            disk.messages.insert(seq, Stored { seq, time, body });
        } else if let Record::Drop {
            stream,
            first,
            last,
        } = record
        {
            let disk = self.streams.entry(stream).or_default();
            disk.messages.retain(|seq, _| !(first..=last).contains(seq));
        } else if let Record::Floor {
            stream,
            first,
            last,
        } = record
        {
            let disk = self.streams.entry(stream).or_default();
            disk.messages.retain(|seq, _| *seq >= first);
            disk.first = disk.first.max(first);
            disk.last = disk.last.max(last);
        }
    }

    fn apply_to_consumers(&mut self, record: Record) {
        if let Record::Consumer {
            stream,
            consumer,
            meta,
        } = record
        {
            self.ids_used.1 = self.ids_used.1.max(consumer.0);
            let disk = self.streams.entry(stream).or_default();
            match meta {
                Some(meta) => disk.consumers.entry(consumer).or_default().0 = meta,
                None => drop(disk.consumers.remove(&consumer)),
            }
        } else if let Record::ConsumerState {
            stream,
            consumer,
            state,
        } = record
        {
            let disk = self.streams.entry(stream).or_default();
            let kept = disk.consumers.entry(consumer).or_default();
            kept.1 = Some(state);
            kept.2.clear();
        } else if let Record::ConsumerChange {
            stream,
            consumer,
            change,
        } = record
        {
            let disk = self.streams.entry(stream).or_default();
            disk.consumers.entry(consumer).or_default().2.push(change);
        }
    }

    pub(super) fn fetch(&self, query: &Query) -> Fetched {
        let mut fetched = Fetched::default();
        if self.fails {
            fetched.unread.clone_from(&query.seqs);
            return fetched;
        }
        for seq in &query.seqs {
            let stream = self.streams.get(&query.stream);
            match stream.and_then(|stream| stream.messages.get(seq)) {
                Some(stored) => fetched.messages.push(stored.clone()),
                None => fetched.missing.push(*seq),
            }
        }
        fetched
    }

    /// Every message, by stream and sequence.
    pub(super) fn stored(&self) -> Vec<Stored> {
        let messages = self.streams.values().flat_map(|s| s.messages.values());
        messages.cloned().collect()
    }

    /// Loses the messages after `last`, as a disk that was never asked to sync does.
    pub(super) fn roll_back(&mut self, last: Seq) {
        for stream in self.streams.values_mut() {
            stream.messages.retain(|seq, _| *seq <= last);
            stream.last = stream.last.min(last);
        }
    }

    /// Leaves out sequences, as a disk that may have lost those does.
    pub(super) fn leave_out(&mut self, ahead: u64) {
        self.left_out = ahead;
    }

    pub(super) fn recover(&self) -> Recovered {
        Recovered {
            streams: self
                .streams
                .iter()
                .map(|(id, disk)| disk.recover(*id, self.left_out))
                .collect(),
            values: self.values.clone(),
            damage: self.damage.clone(),
            reports: Vec::new(),
            stream_ids_used: self.ids_used.0,
            consumer_ids_used: self.ids_used.1,
        }
    }
}

impl OnDisk {
    fn recover(&self, stream: StreamId, left_out: u64) -> RecoveredStream {
        let mut part = Part::default();
        for stored in self.messages.values() {
            part.heads.push(Head {
                seq: stored.seq,
                time: stored.time,
                subject: part.subjects.push(stored.body.subject()),
                header_len: stored.body.header_len(),
                payload_len: u32::try_from(stored.body.payload().len()).unwrap(),
                dedupe_id: stored.body.dedupe_id().map(Into::into),
                mark: stored.body.mark(),
            });
        }
        let mut heads = Heads::default();
        heads.push(part);
        let consumers =
            self.consumers
                .iter()
                .map(|(id, (meta, state, changes))| RecoveredConsumer {
                    consumer: *id,
                    meta: meta.clone(),
                    state: state.clone(),
                    changes: changes.clone(),
                });
        RecoveredStream {
            stream,
            meta: self.meta.clone().unwrap_or_default(),
            first: self.first,
            last: self.last + left_out,
            heads,
            consumers: consumers.collect(),
            lost: Vec::new(),
        }
    }
}
