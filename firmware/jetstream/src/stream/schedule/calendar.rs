use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use frond_clock::Timestamp;
use frond_ledger::Seq;

/// The schedules of a stream and when each is due.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    by_seq: BTreeMap<Seq, Entry>,
    by_subject: HashMap<Arc<str>, Seq>,
    due: BTreeSet<(Timestamp, Seq)>,
}

#[derive(Clone, Debug)]
struct Entry {
    subject: Arc<str>,
    state: State,
}

/// What a schedule waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its message is to be read; it was due then, if that is known.
    Unread(Option<Timestamp>),
    /// Its time.
    Due(Timestamp),
    /// Its message, due then, to be kept.
    OnItsWay(Timestamp),
}

impl Calendar {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_seq.is_empty()
    }

    /// A schedule, due then; its subject has no other.
    pub(crate) fn insert(&mut self, seq: Seq, subject: &Arc<str>, due: Timestamp) {
        self.put(seq, subject, State::Due(due));
        self.due.insert((due, seq));
    }

    /// A schedule that has to be read first.
    pub(crate) fn insert_unread(&mut self, seq: Seq, subject: &Arc<str>, due: Option<Timestamp>) {
        self.put(seq, subject, State::Unread(due));
    }

    /// The schedules that have to be read first.
    pub(crate) fn unread(&self) -> Vec<Seq> {
        let is_unread = |entry: &Entry| matches!(entry.state, State::Unread(_));
        let unread = self.by_seq.iter().filter(|(_, entry)| is_unread(entry));
        unread.map(|(seq, _)| *seq).collect()
    }

    /// When a schedule that is read now was due, if that is known; `None` when none has to be.
    #[expect(
        clippy::option_option,
        reason = "the outer one is whether it waits, the inner one whether its time is known"
    )]
    pub(crate) fn awaited(&self, seq: Seq) -> Option<Option<Timestamp>> {
        match self.by_seq.get(&seq)?.state {
            State::Unread(due) => Some(due),
            State::Due(_) | State::OnItsWay(_) => None,
        }
    }

    /// A schedule is gone.
    pub(crate) fn remove(&mut self, seq: Seq) {
        if let Some(entry) = self.by_seq.remove(&seq) {
            self.by_subject.remove(&entry.subject);
            if let State::Due(due) = entry.state {
                self.due.remove(&(due, seq));
            }
        }
    }

    /// The schedule of a subject.
    pub(crate) fn of_subject(&self, subject: &str) -> Option<Seq> {
        self.by_subject.get(subject).copied()
    }

    /// A schedule is due then, or next.
    pub(crate) fn set(&mut self, seq: Seq, due: Timestamp) {
        if let Some(entry) = self.by_seq.get_mut(&seq) {
            if let State::Due(before) = entry.state {
                self.due.remove(&(before, seq));
            }
            entry.state = State::Due(due);
            self.due.insert((due, seq));
        }
    }

    /// When a schedule is due or was, as its message waits to be kept; if that is known.
    pub(crate) fn due(&self, seq: Seq) -> Option<Timestamp> {
        match self.by_seq.get(&seq)?.state {
            State::Unread(due) => due,
            State::Due(due) | State::OnItsWay(due) => Some(due),
        }
    }

    /// When the next one is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    /// A schedule that is due by now; it is on its way from here on.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<(Seq, Timestamp)> {
        let (due, seq) = *self.due.first().filter(|(due, _)| *due <= now)?;
        self.due.pop_first();
        if let Some(entry) = self.by_seq.get_mut(&seq) {
            entry.state = State::OnItsWay(due);
        }
        Some((seq, due))
    }

    /// Whether a schedule waits for its message, due then.
    pub(crate) fn is_on_its_way(&self, seq: Seq, due: Timestamp) -> bool {
        let entry = self.by_seq.get(&seq);
        entry.is_some_and(|entry| entry.state == State::OnItsWay(due))
    }

    /// What was on its way is not kept: it is due as before.
    pub(crate) fn take_back(&mut self, seq: Seq) {
        if let Some(State::OnItsWay(due)) = self.by_seq.get(&seq).map(|it| it.state) {
            self.set(seq, due);
        }
    }

    fn put(&mut self, seq: Seq, subject: &Arc<str>, state: State) {
        if let Some(other) = self.of_subject(subject) {
            self.remove(other);
        }
        self.by_subject.insert(Arc::clone(subject), seq);
        let subject = Arc::clone(subject);
        self.by_seq.insert(seq, Entry { subject, state });
    }
}
