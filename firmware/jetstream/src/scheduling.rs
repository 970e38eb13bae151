//! Schedules of all streams fire: what they publish is read, proposed and kept like any message.

use frond_clock::Timestamp;
use frond_ledger::{Body, Fetched, Record, Seq, StreamId};

use crate::consumer::{Messages, Resident};
use crate::fetches::Purpose;
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::limits::FETCH_MESSAGES_MAX;
use crate::stream::Stream;
use crate::stream::removed::Removed;
use crate::stream::schedule::{Reminder, reminded_of, reminder_key};
use crate::stream::sourced::Own;
use crate::stream::view::StreamView;

/// A schedule that is due, and what of it was read so far.
#[derive(Debug)]
pub(crate) struct Firing {
    seq: Seq,
    due: Timestamp,
    schedule: Option<Body>,
    source: Source,
}

/// The last message of the subject that a schedule publishes from.
#[derive(Debug)]
enum Source {
    /// It was not looked for.
    Unsought,
    /// It is this; a schedule without one publishes its own message.
    Found(Option<Body>),
}

impl JetStream {
    /// Fires what is due in a stream.
    pub(crate) fn fire_due(&mut self, id: StreamId, reach: &dyn Reach) {
        let (now, ages) = (self.now.wall, &self.ages);
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        // Each once: what is refused is due again.
        for (seq, due) in host.stream.due_schedules(now, ages) {
            let firing = Firing {
                seq,
                due,
                schedule: None,
                source: Source::Unsought,
            };
            self.fire(id, firing, reach);
        }
    }

    /// Something that a schedule publishes from is read.
    pub(crate) fn fire_on(
        &mut self,
        id: StreamId,
        mut firing: Firing,
        fetched: Fetched,
        reach: &dyn Reach,
    ) {
        let found = fetched.messages.into_iter().next().map(|it| it.body);
        if firing.schedule.is_some() {
            firing.source = Source::Found(found);
        } else if found.is_some() {
            firing.schedule = found;
        } else {
            return self.drop_schedule(id, firing.seq);
        }
        self.fire(id, firing, reach);
        self.watch(id);
    }

    /// Reads the schedules of a stream that comes back, to know when they are due.
    pub(crate) fn recall_schedules(&mut self, id: StreamId) {
        let reminders = &self.reminders;
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let said = |seq| reminders.get(&(id.0, seq)).copied();
        let unread = host.stream.recall_schedules(said);
        let schedules = host.stream.schedules();
        let of_stream = reminders.range((id.0, 0)..=(id.0, Seq::MAX));
        let stale = of_stream.map(|((_, seq), _)| *seq);
        let stale: Vec<Seq> = stale
            .filter(|seq| schedules.binary_search(seq).is_err())
            .collect();
        self.forget_reminders(id, &stale);
        for chunk in unread.chunks(FETCH_MESSAGES_MAX) {
            self.fetch(id, chunk.to_vec(), Purpose::Schedules(id));
        }
    }

    /// Schedules are read.
    pub(crate) fn schedules_read(&mut self, id: StreamId, fetched: &Fetched) {
        if let Some(host) = self.hosts.get_mut(&id) {
            for found in &fetched.messages {
                host.stream
                    .schedule_read(found.seq, found.time, Some(&found.body));
            }
            for seq in &fetched.missing {
                host.stream.schedule_read(*seq, Timestamp::default(), None);
            }
        }
        self.watch(id);
    }

    /// The disk is about to keep what becomes of schedules.
    pub(crate) fn note_reminders(&mut self, records: &[Record]) {
        for record in records {
            if let Record::Value {
                key,
                value: Some(value),
            } = record
            {
                self.note_reminder(key, value);
            }
        }
    }

    /// Messages left a stream; some may be schedules.
    pub(crate) fn forget_schedules(&mut self, id: StreamId, removed: &Removed) {
        if self.reminders.is_empty() {
            return;
        }
        for range in removed.ranges() {
            self.forget_reminders_of(id, range.first, range.last);
        }
    }

    /// Schedules with these sequences are gone.
    pub(crate) fn forget_reminders_of(&mut self, id: StreamId, first: Seq, last: Seq) {
        let gone = self.reminders.range((id.0, first)..=(id.0, last));
        let gone: Vec<Seq> = gone.map(|((_, seq), _)| *seq).collect();
        self.forget_reminders(id, &gone);
    }

    /// Nothing reminds any more of when these schedules would have been due.
    fn forget_reminders(&mut self, id: StreamId, seqs: &[Seq]) {
        for seq in seqs {
            self.reminders.remove(&(id.0, *seq));
            let key = reminder_key(id.0, *seq);
            let record = Record::Value { key, value: None };
            self.journal.soon(self.now.mono, record);
        }
    }

    /// What the disk keeps of schedules.
    pub(crate) fn recall_reminders(
        &mut self,
        values: &std::collections::BTreeMap<Box<str>, bytes::Bytes>,
    ) {
        for (key, value) in values {
            self.note_reminder(key, value);
        }
    }

    fn note_reminder(&mut self, key: &str, value: &[u8]) {
        if let (Some(schedule), Some(reminder)) = (reminded_of(key), Reminder::parse(value)) {
            self.reminders.insert(schedule, reminder);
        }
    }

    fn fire(&mut self, id: StreamId, mut firing: Firing, reach: &dyn Reach) {
        let host = self.hosts.get(&id);
        if !host.is_some_and(|host| host.stream.is_to_fire(firing.seq, firing.due)) {
            return;
        }
        let schedule = match firing.schedule.take() {
            Some(schedule) => schedule,
            None => match self.resident(id, firing.seq) {
                Resident::Here(schedule) => schedule,
                Resident::Gone => return self.drop_schedule(id, firing.seq),
                Resident::OnDisk => return self.read_for(id, firing.seq, firing),
            },
        };
        let source = match firing.source {
            Source::Found(source) => source,
            Source::Unsought => match self.source_of(id, &schedule) {
                Some((_, Resident::Here(source))) => Some(source),
                Some((_, Resident::Gone)) | None => None,
                Some((seq, Resident::OnDisk)) => {
                    firing.schedule = Some(schedule);
                    return self.read_for(id, seq, firing);
                }
            },
        };
        let now = self.now;
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        if host.stream.is_replacing_schedule(schedule.subject()) {
            host.stream.not_fired(firing.seq);
            host.rest.pause(now.mono);
            return;
        }
        let at = (firing.seq, firing.due);
        let fired = host.stream.fired(now.wall, at, &schedule, source.as_ref());
        let own = Own::Fired(firing.seq);
        let is_taken = fired.is_none_or(|message| self.take_own(id, &message, own, reach));
        if let Some(host) = self.hosts.get_mut(&id).filter(|_| !is_taken) {
            host.stream.not_fired(firing.seq);
        }
    }

    fn read_for(&mut self, id: StreamId, seq: Seq, firing: Firing) {
        let purpose = Purpose::Firing(id, Box::new(firing));
        self.fetch(id, vec![seq], purpose);
    }

    fn source_of(&self, id: StreamId, schedule: &Body) -> Option<(Seq, Resident)> {
        let source = Stream::source_of(schedule)?;
        let subjects = self.hosts.get(&id)?.stream.contents.subjects();
        let seq = subjects.find(source)?.last;
        Some((seq, self.resident(id, seq)))
    }

    fn resident(&self, id: StreamId, seq: Seq) -> Resident {
        let Some(host) = self.hosts.get(&id) else {
            return Resident::Gone;
        };
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        view.body(seq)
    }

    fn drop_schedule(&mut self, id: StreamId, seq: Seq) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.stream.lose_schedule(seq);
        }
    }
}
