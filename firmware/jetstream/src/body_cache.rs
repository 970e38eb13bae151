use std::collections::{BTreeMap, VecDeque};

use frond_ledger::{Body, Seq, StreamId};

use crate::unwritten::Unwritten;

/// The bodies of file streams that were written or read last, within a bound for all streams,
/// and those that cannot be read back yet.
#[derive(Debug)]
pub(crate) struct BodyCache {
    /// Beside the bound: the disk's queue, which has one, holds the same bytes.
    pub(crate) unwritten: Unwritten,
    /// Those of each stream that were written one after another.
    runs: BTreeMap<StreamId, Run>,
    /// All others.
    others: BTreeMap<(StreamId, Seq), Body>,
    by_age: VecDeque<(StreamId, Seq)>,
    bytes: usize,
    bytes_max: usize,
}

impl BodyCache {
    /// An empty cache of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            unwritten: Unwritten::default(),
            runs: BTreeMap::new(),
            others: BTreeMap::new(),
            by_age: VecDeque::new(),
            bytes: 0,
            bytes_max,
        }
    }

    /// A body, when it is here.
    pub(crate) fn get(&self, stream: StreamId, seq: Seq) -> Option<&Body> {
        let unwritten = self.unwritten.get(stream, seq);
        let in_run = || self.runs.get(&stream).and_then(|run| run.get(seq));
        let found = unwritten.or_else(in_run);
        found.or_else(|| self.others.get(&(stream, seq)))
    }

    /// Keeps a body in place of the oldest ones.
    pub(crate) fn insert(&mut self, stream: StreamId, seq: Seq, body: Body) {
        let key = (stream, seq);
        self.bytes += weight(&body);
        match self.put(key, body) {
            Some(old) => self.bytes -= weight(&old),
            None => self.by_age.push_back(key),
        }
        while self.bytes > self.bytes_max {
            let Some(oldest) = self.by_age.pop_front() else {
                return;
            };
            self.forget(oldest);
        }
    }

    /// Drops the bodies of messages that are gone.
    pub(crate) fn remove(&mut self, stream: StreamId, first: Seq, last: Seq) {
        let span = self.runs.get(&stream).map(Run::span);
        if let Some((from, to)) = span {
            for seq in first.max(from)..=last.min(to) {
                self.forget((stream, seq));
            }
        }
        while let Some((&key, _)) = self.others.range((stream, first)..=(stream, last)).next() {
            self.forget(key);
        }
        // Ages of what is gone do not pile up.
        if self.by_age.len() > self.bytes / ENTRY_BYTES * 2 + 64 {
            let (runs, others) = (&self.runs, &self.others);
            self.by_age.retain(|key| {
                let in_run = runs.get(&key.0).and_then(|run| run.get(key.1));
                in_run.is_some() || others.contains_key(key)
            });
        }
    }

    /// Puts a body in its place; the one that was there.
    fn put(&mut self, (stream, seq): (StreamId, Seq), body: Body) -> Option<Body> {
        if let Some(old) = self.others.get_mut(&(stream, seq)) {
            return Some(core::mem::replace(old, body));
        }
        let run = self.runs.entry(stream).or_default();
        if run.bodies.is_empty() {
            run.first = seq;
        }
        match run.place(seq) {
            Some(place) => place.replace(body),
            None => self.others.insert((stream, seq), body),
        }
    }

    fn forget(&mut self, key: (StreamId, Seq)) {
        let run = self.runs.get_mut(&key.0);
        let body = run.and_then(|run| run.take(key.1));
        if self
            .runs
            .get(&key.0)
            .is_some_and(|run| run.bodies.is_empty())
        {
            self.runs.remove(&key.0);
        }
        if let Some(body) = body.or_else(|| self.others.remove(&key)) {
            self.bytes -= weight(&body);
        }
    }
}

/// Bodies of one stream by their sequence.
#[derive(Debug, Default)]
struct Run {
    first: Seq,
    /// Neither begins nor ends with a gap.
    bodies: VecDeque<Option<Body>>,
}

impl Run {
    fn span(&self) -> (Seq, Seq) {
        (
            self.first,
            self.first + (self.bodies.len() as u64).saturating_sub(1),
        )
    }

    fn index(&self, seq: Seq) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first)?).ok()
    }

    fn get(&self, seq: Seq) -> Option<&Body> {
        self.bodies.get(self.index(seq)?)?.as_ref()
    }

    /// Where a body goes that is within it or not far behind its end.
    fn place(&mut self, seq: Seq) -> Option<&mut Option<Body>> {
        let index = self.index(seq)?;
        if index > self.bodies.len() + GAP_MAX {
            return None;
        }
        if index >= self.bodies.len() {
            self.bodies.resize(index + 1, None);
        }
        self.bodies.get_mut(index)
    }

    fn take(&mut self, seq: Seq) -> Option<Body> {
        let index = self.index(seq)?;
        let body = self.bodies.get_mut(index)?.take();
        while matches!(self.bodies.front(), Some(None)) {
            self.bodies.pop_front();
            self.first += 1;
        }
        while matches!(self.bodies.back(), Some(None)) {
            self.bodies.pop_back();
        }
        body
    }
}

/// Sequences that may be missing between two bodies of a run.
const GAP_MAX: usize = 16;
/// What a body costs beside its bytes.
const ENTRY_BYTES: usize = 128;

/// What a body costs with its bookkeeping, in bytes.
fn weight(body: &Body) -> usize {
    body.bytes().len() + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn never_holds_more_than_its_bound() {
        let mut cache = BodyCache::new(1000);
        for seq in 1..50 {
            let body = Body::new(Bytes::from(vec![b'a'; 20]), 1, 0, None).unwrap();
            cache.insert(StreamId(1), seq, body);
            assert!(cache.bytes <= 1000 && cache.get(StreamId(1), seq).is_some());
            cache.remove(StreamId(1), seq - 1, seq - 1);
            assert!(cache.get(StreamId(1), seq - 1).is_none());
        }
        cache.remove(StreamId(1), 0, 100);
        assert_eq!(
            (cache.bytes, cache.others.len(), cache.runs.len()),
            (0, 0, 0)
        );
    }

    #[test]
    fn agrees_with_a_map_wherever_sequences_go() {
        let mut rng = frond_clock::Rng::seeded(7);
        let mut cache = BodyCache::new(usize::MAX);
        let mut model = BTreeMap::new();
        let (mut next, body) = ([1; 3], |n: u64| {
            Body::new(Bytes::from(n.to_string()), 1, 0, None).unwrap()
        });
        for step in 0..20_000_u64 {
            let stream = rng.below(3) as usize;
            let seq = match rng.below(8) {
                0 => rng.below(next[stream]) + 1,
                1 => next[stream] + rng.below(40),
                _ => next[stream],
            };
            next[stream] = next[stream].max(seq + 1);
            let id = StreamId(stream as u32);
            if rng.below(5) == 0 {
                let last = seq + rng.below(if step % 50 == 0 { 10_000 } else { 3 });
                cache.remove(id, seq, last);
                model.retain(|(other, at), _| *other != id || !(seq..=last).contains(at));
            } else {
                cache.insert(id, seq, body(10 + step));
                model.insert((id, seq), body(10 + step));
            }
            let (id, seq) = (StreamId(rng.below(3) as u32), rng.below(next[stream]) + 1);
            assert_eq!(cache.get(id, seq), model.get(&(id, seq)));
        }
        assert_eq!(cache.bytes, model.values().map(weight).sum::<usize>());
    }
}
