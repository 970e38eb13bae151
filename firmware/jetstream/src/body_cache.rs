use std::collections::{BTreeMap, VecDeque};

use frond_ledger::{Body, Seq, StreamId};

use crate::unwritten::Unwritten;

/// The bodies of file streams that were written or read last, within a bound for all streams,
/// and those that cannot be read back yet.
#[derive(Debug)]
pub(crate) struct BodyCache {
    /// Beside the bound: the disk's queue, which has one, holds the same bytes.
    pub(crate) unwritten: Unwritten,
    bodies: BTreeMap<(StreamId, Seq), Body>,
    by_age: VecDeque<(StreamId, Seq)>,
    bytes: usize,
    bytes_max: usize,
}

impl BodyCache {
    /// An empty cache of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            unwritten: Unwritten::default(),
            bodies: BTreeMap::new(),
            by_age: VecDeque::new(),
            bytes: 0,
            bytes_max,
        }
    }

    /// A body, when it is here.
    pub(crate) fn get(&self, stream: StreamId, seq: Seq) -> Option<&Body> {
        let unwritten = self.unwritten.get(stream, seq);
        unwritten.or_else(|| self.bodies.get(&(stream, seq)))
    }

    /// Keeps a body in place of the oldest ones.
    pub(crate) fn insert(&mut self, stream: StreamId, seq: Seq, body: Body) {
        let key = (stream, seq);
        self.bytes += weight(&body);
        match self.bodies.insert(key, body) {
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
        while let Some((&key, _)) = self.bodies.range((stream, first)..=(stream, last)).next() {
            self.forget(key);
        }
        if self.by_age.len() > 2 * self.bodies.len() + 64 {
            let bodies = &self.bodies;
            self.by_age.retain(|key| bodies.contains_key(key));
        }
    }

    fn forget(&mut self, key: (StreamId, Seq)) {
        if let Some(body) = self.bodies.remove(&key) {
            self.bytes -= weight(&body);
        }
    }
}

/// What a body costs with its bookkeeping, in bytes.
fn weight(body: &Body) -> usize {
    const ENTRY: usize = 128;
    body.bytes().len() + ENTRY
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
        assert_eq!((cache.bytes, cache.bodies.len()), (0, 0));
    }
}
