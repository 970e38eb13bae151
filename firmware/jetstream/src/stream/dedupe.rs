use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use frond_clock::Timestamp;
use frond_ledger::Seq;

/// Message ids seen within the window, whether their messages are kept or still on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dedupe {
    window: Duration,
    by_id: HashMap<Arc<str>, Seq>,
    by_age: VecDeque<(Timestamp, Seq, Arc<str>)>,
    newest: Option<(Seq, Arc<str>)>,
}

impl Dedupe {
    /// For a window; zero remembers nothing.
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            ..Self::default()
        }
    }

    /// Changes the window.
    pub(crate) fn set_window(&mut self, window: Duration) {
        self.window = window;
    }

    /// The sequence that an id was given.
    pub(crate) fn find(&self, id: &str) -> Option<Seq> {
        self.by_id.get(id).copied()
    }

    /// The id of the message with this sequence, when no later message had one. The window does
    /// not matter.
    pub(crate) fn newest(&self, last: Seq) -> Option<&str> {
        let (seq, id) = self.newest.as_ref()?;
        (*seq == last).then_some(id.as_ref())
    }

    /// Remembers an id.
    pub(crate) fn insert(&mut self, id: &str, seq: Seq, time: Timestamp) {
        let id: Arc<str> = id.into();
        self.newest = Some((seq, Arc::clone(&id)));
        if self.window.is_zero() {
            return;
        }
        self.by_id.insert(Arc::clone(&id), seq);
        self.by_age.push_back((time, seq, id));
    }

    /// Forgets an id whose message could not be kept.
    pub(crate) fn forget(&mut self, seq: Seq) {
        if let Some(place) = self.by_age.iter().rposition(|(_, other, _)| *other == seq)
            && let Some((_, _, id)) = self.by_age.remove(place)
            && self.by_id.get(&id) == Some(&seq)
        {
            self.by_id.remove(&id);
        }
        if self.newest.as_ref().is_some_and(|(last, _)| *last == seq) {
            let before = self.by_age.back();
            self.newest = before.map(|(_, seq, id)| (*seq, Arc::clone(id)));
        }
    }

    /// Forgets what is older than the window.
    pub(crate) fn expire(&mut self, now: Timestamp) {
        while let Some((time, seq, id)) = self.by_age.front() {
            if now.since(*time) < self.window && !self.window.is_zero() {
                return;
            }
            if self.by_id.get(id) == Some(seq) {
                self.by_id.remove(id);
            }
            self.by_age.pop_front();
        }
    }

    /// When the oldest id is to be forgotten.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        self.by_age.front().map(|(time, _, _)| *time + self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn an_id_is_known_for_the_window_only() {
        let mut dedupe = Dedupe::new(Duration::from_secs(10));
        dedupe.insert("a", 1, at(0));
        dedupe.insert("b", 2, at(5));
        dedupe.expire(at(9));
        assert_eq!((dedupe.find("a"), dedupe.newest(2)), (Some(1), Some("b")));
        assert_eq!(dedupe.newest(3), None);
        dedupe.expire(at(10));
        assert_eq!((dedupe.find("a"), dedupe.find("b")), (None, Some(2)));
        assert_eq!(dedupe.expires_at(), Some(at(15)));
        dedupe.forget(2);
        assert_eq!((dedupe.find("b"), dedupe.expires_at()), (None, None));
    }
}
