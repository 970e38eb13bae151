use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use frond_clock::{Ages, Timestamp};
use frond_ledger::Seq;

use super::mark::Mark;
use super::ttl::Ttl;
use crate::limits::{CLOCK_AHEAD_MAX, CLOCK_FALLS_MAX};

/// The messages of a stream that are not like most: what they are, and when they are over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timed {
    marked: BTreeMap<Seq, Marked>,
    due: BTreeSet<(Timestamp, Seq)>,
    /// Messages that are over and stay until their marker is kept.
    held: BTreeSet<Seq>,
    /// Messages below are not let go for their age: they never are, or are held.
    settled: Seq,
    /// The highest time since the last fall.
    newest: Timestamp,
    /// Where times fell, and to what: what came before is no younger, whatever its time says.
    falls: BTreeMap<Seq, Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct Marked {
    mark: Mark,
    taken: Timestamp,
    due: Option<Timestamp>,
}

impl Timed {
    /// A message came in.
    pub(crate) fn insert(&mut self, seq: Seq, taken: Timestamp, mark: Mark) {
        if self.newest.since(taken) > CLOCK_AHEAD_MAX {
            self.fall(seq, taken);
        } else {
            self.newest = self.newest.max(taken);
        }
        if mark == Mark::default() {
            return;
        }
        let due = match mark.ttl {
            Ttl::Seconds(seconds) => Some(taken + Duration::from_secs(seconds)),
            Ttl::Unsaid | Ttl::Never => None,
        };
        self.due.extend(due.map(|due| (due, seq)));
        self.marked.insert(seq, Marked { mark, taken, due });
    }

    /// When a message was taken at the latest; `shown` is the time it has.
    pub(crate) fn taken(&self, seq: Seq, shown: Timestamp) -> Timestamp {
        let later = self.falls.range(seq + 1..).map(|(_, time)| *time).min();
        later.map_or(shown, |later| later.min(shown))
    }

    fn fall(&mut self, seq: Seq, taken: Timestamp) {
        self.newest = taken;
        self.falls.insert(seq, taken);
        if self.falls.len() > CLOCK_FALLS_MAX {
            self.falls.pop_first();
        }
        for (seq, it) in &mut self.marked {
            if it.taken <= taken {
                continue;
            }
            it.taken = taken;
            if let (Some(due), Ttl::Seconds(seconds)) = (&mut it.due, it.mark.ttl) {
                self.due.remove(&(*due, *seq));
                *due = taken + Duration::from_secs(seconds);
                self.due.insert((*due, *seq));
            }
        }
    }

    /// A message left.
    pub(crate) fn remove(&mut self, seq: Seq) {
        self.held.remove(&seq);
        if let Some(Marked { due: Some(due), .. }) = self.marked.remove(&seq) {
            self.due.remove(&(due, seq));
        }
    }

    /// Bytes of memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.marked.len() * (size_of::<(Seq, Marked)>() * 2 + size_of::<(Timestamp, Seq)>() * 2)
    }

    /// What a message is.
    pub(crate) fn mark(&self, seq: Seq) -> Mark {
        self.marked
            .get(&seq)
            .map_or_else(Mark::default, |it| it.mark)
    }

    /// The messages that are schedules, ascending.
    pub(crate) fn schedules(&self) -> Vec<Seq> {
        let schedules = self.marked.iter().filter(|(_, it)| it.mark.is_schedule);
        schedules.map(|(seq, _)| *seq).collect()
    }

    /// When the next message is over.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    /// A message that is over by now.
    pub(crate) fn due(&self, now: Timestamp) -> Option<Seq> {
        let (due, seq) = self.due.first()?;
        (*due <= now).then_some(*seq)
    }

    /// A message that is over stays until its marker is kept.
    pub(crate) fn hold(&mut self, seq: Seq) {
        self.held.insert(seq);
        if let Some(due) = self.marked.get_mut(&seq).and_then(|it| it.due.take()) {
            self.due.remove(&(due, seq));
        }
    }

    /// Whether a message waits for its marker.
    pub(crate) fn is_held(&self, seq: Seq) -> bool {
        self.held.contains(&seq)
    }

    /// How many messages wait for their marker.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Messages below are not let go for their age.
    pub(crate) const fn settled(&self) -> Seq {
        self.settled
    }

    /// The same, raised.
    pub(crate) fn settle(&mut self, below: Seq) {
        self.settled = below;
    }

    /// The marker of a message is not kept: it is looked at again.
    pub(crate) fn hold_no_more(&mut self, seq: Seq, ages: &Ages) {
        if !self.held.remove(&seq) {
            return;
        }
        self.settled = self.settled.min(seq);
        if let Some(it) = self.marked.get_mut(&seq) {
            it.judge(ages);
            self.due.extend(it.due.map(|due| (due, seq)));
        }
    }

    /// Ages are judged anew: all is looked at again but for what waits for its marker.
    pub(crate) fn judge(&mut self, ages: &Ages) {
        self.settled = 0;
        self.due.clear();
        for (seq, it) in &mut self.marked {
            if !self.held.contains(seq) {
                it.judge(ages);
                self.due.extend(it.due.map(|due| (due, *seq)));
            }
        }
    }
}

impl Marked {
    fn judge(&mut self, ages: &Ages) {
        if let Ttl::Seconds(seconds) = self.mark.ttl {
            let age = Duration::from_secs(seconds);
            // While the time is unknown nobody asks what is due.
            self.due = Some(ages.reached(self.taken, age).unwrap_or(self.taken + age));
        }
    }
}
