//! Schedules: messages that say when another one is to be published.
//!
//! spec: ADR-51; nats-server v2.15.1 server/scheduler.go

mod calendar;
mod cron;
mod pattern;
mod reminder;
mod rules;
mod zone;

use std::sync::Arc;

use frond_clock::{Ages, Timestamp, Trust};
use frond_ledger::{Body, Seq};
use frond_wire::{Headers, Message, MessageBuf, headers};

use super::inflight::Ends;
use super::{Health, Stream};
pub(crate) use calendar::Calendar;
use pattern::Pattern;
pub(crate) use reminder::{Reminder, reminded_of, reminder_key};

const SCHEDULER: &str = "Nats-Scheduler";
const NEXT: &str = "Nats-Schedule-Next";
const PURGE: &str = "purge";
/// What concerns the schedule or would keep its message from being taken.
const NOT_COPIED: [&str; 2] = ["Nats-Schedule", "Nats-Expected-"];
const NOT_COPIED_EITHER: [&str; 3] = ["Nats-Msg-Id", "Nats-TTL", "Nats-Rollup"];

impl Stream {
    /// When the next schedule is due.
    pub(super) fn scheduled_at(&self, ages: &Ages) -> Option<Timestamp> {
        let is_on = ages.trust == Trust::Trusted && self.health == Health::Sound;
        self.calendar
            .next_due()
            .filter(|_| is_on && !self.config.sealed)
    }

    /// The schedules that are due, each told once.
    pub(crate) fn due_schedules(&mut self, now: Timestamp, ages: &Ages) -> Vec<(Seq, Timestamp)> {
        let mut due = Vec::new();
        while self.scheduled_at(ages).is_some()
            && let Some(schedule) = self.calendar.take_due(now)
        {
            due.push(schedule);
        }
        due
    }

    /// What a schedule that was due then publishes: its own message or that of its source.
    /// `None` when it is no schedule, which it is not any more then.
    pub(crate) fn fired(
        &mut self,
        now: Timestamp,
        (seq, due): (Seq, Timestamp),
        schedule: &Body,
        source: Option<&Body>,
    ) -> Option<MessageBuf> {
        let said = Headers::new(schedule.header());
        let pattern = Pattern::of(&said).ok().flatten();
        let next = pattern.and_then(|pattern| Some((pattern, pattern.next(due, now)?)));
        let target = said.get("Nats-Schedule-Target");
        let (Some((pattern, next)), Some(target)) = (next, target) else {
            self.calendar.remove(seq);
            return None;
        };
        let copied = source.unwrap_or(schedule);
        let mut header = copied.header().to_vec();
        remove_not_copied(&mut header);
        headers::append(&mut header, SCHEDULER, schedule.subject());
        let next = if pattern.repeats() {
            pattern.shown(next)
        } else {
            PURGE.to_owned()
        };
        headers::append(&mut header, NEXT, &next);
        for (from, to) in [
            ("Nats-Schedule-TTL", "Nats-TTL"),
            ("Nats-Schedule-Rollup", "Nats-Rollup"),
        ] {
            if let Some(value) = said.get(from).filter(|value| !value.is_empty()) {
                headers::append(&mut header, to, value);
            }
        }
        Some(MessageBuf::copy_of(&Message {
            subject: target,
            reply: None,
            header: &header,
            payload: copied.payload(),
        }))
    }

    /// The subject whose last message a schedule publishes in place of its own.
    pub(crate) fn source_of(schedule: &Body) -> Option<&str> {
        let source = Headers::new(schedule.header()).get("Nats-Schedule-Source");
        source.filter(|source| !source.is_empty())
    }

    /// A schedule cannot be read: it is none any more.
    pub(crate) fn lose_schedule(&mut self, seq: Seq) {
        self.calendar.remove(seq);
    }

    /// A schedule's message is not kept: it is due still.
    pub(crate) fn not_fired(&mut self, seq: Seq) {
        self.calendar.take_back(seq);
    }

    /// The same, for a message that the disk refused.
    pub(super) fn taken_back(&mut self, body: &Body) {
        let scheduler = Headers::new(body.header()).get(SCHEDULER);
        if let Some(seq) = scheduler.and_then(|subject| self.calendar.of_subject(subject)) {
            self.calendar.take_back(seq);
        }
    }

    /// A message came in: it may be a schedule, end one, or tell when one is due next.
    pub(super) fn note_schedule(&mut self, seq: Seq, time: Timestamp, body: &Body) {
        if !self.config.allow_msg_schedules {
            return;
        }
        let said = Headers::new(body.header());
        if let Ok(Some(pattern)) = Pattern::of(&said) {
            if let (Some(due), Some(subject)) = (pattern.next(time, time), self.name_of(seq)) {
                self.calendar.insert(seq, &subject, due);
            }
            return;
        }
        if self.calendar.is_empty() {
            return;
        }
        match said.get(SCHEDULER) {
            None => {
                if let Some(ended) = self.calendar.of_subject(body.subject()) {
                    self.calendar.remove(ended);
                }
            }
            Some(scheduler) => {
                let seq = self.calendar.of_subject(scheduler);
                let next = said.get(NEXT).and_then(Timestamp::parse_rfc3339);
                if let (Some(seq), Some(next)) = (seq, next) {
                    self.calendar.set(seq, next);
                }
            }
        }
    }

    /// The messages that are schedules or were, ascending.
    pub(crate) fn schedules(&self) -> Vec<Seq> {
        self.timed.schedules()
    }

    /// A schedule that the disk has is to be read before it is known when it is due, unless a
    /// later message ended it.
    pub(crate) fn recall_schedules(&mut self, said: impl Fn(Seq) -> Option<Reminder>) -> Vec<Seq> {
        if self.config.allow_msg_schedules {
            for seq in self.timed.schedules() {
                let Some(subject) = self.contents.subject_of(seq) else {
                    continue;
                };
                let reminder = said(seq);
                let is_one = match reminder {
                    Some(Reminder::Due(_)) | None => subject.last == seq,
                    Some(Reminder::Stays(_)) => true,
                    Some(Reminder::Ended) => false,
                };
                if is_one {
                    let name = Arc::from(subject.name);
                    let due = reminder.and_then(Reminder::due);
                    self.calendar.insert_unread(seq, &name, due);
                }
            }
        }
        self.calendar.unread()
    }

    /// A schedule is read.
    pub(crate) fn schedule_read(&mut self, seq: Seq, time: Timestamp, body: Option<&Body>) {
        let Some(known) = self.calendar.awaited(seq) else {
            return;
        };
        let pattern = body.and_then(|body| Pattern::of(&Headers::new(body.header())).ok());
        let first = pattern.flatten().and_then(|it| it.next(time, time));
        match known.or(first) {
            Some(due) if first.is_some() => self.calendar.set(seq, due),
            Some(_) | None => self.calendar.remove(seq),
        }
    }

    /// Whether a schedule that was due then is still to publish. One that was ended or moved while
    /// its message was read is not.
    pub(crate) fn is_to_fire(&self, seq: Seq, due: Timestamp) -> bool {
        self.calendar.is_on_its_way(seq, due)
    }

    /// Whether something is on its way that will end the schedule of a subject, or replace it.
    pub(crate) fn is_replacing_schedule(&self, subject: &str) -> bool {
        self.inflight.of_subject(subject) > 0
    }

    /// The schedule that a message ends when it is kept, none after `upto`.
    pub(super) fn ended_by(&self, header: &[u8], upto: Seq) -> Option<Ends> {
        if !self.config.allow_msg_schedules || header.is_empty() {
            return None;
        }
        let said = Headers::new(header);
        said.get(NEXT).filter(|next| *next == PURGE)?;
        let subject = said.get(SCHEDULER)?.into();
        Some(Ends { subject, upto })
    }

    fn name_of(&self, seq: Seq) -> Option<Arc<str>> {
        let subject = self.contents.subject_of(seq)?;
        Some(Arc::from(subject.name))
    }
}

fn remove_not_copied(header: &mut Vec<u8>) {
    let is_not_copied = |key: &str| {
        NOT_COPIED.iter().any(|prefix| key.starts_with(prefix)) || NOT_COPIED_EITHER.contains(&key)
    };
    let keys = Headers::new(header).iter().map(|(key, _)| key);
    let keys: Vec<String> = keys
        .map(|key| String::from_utf8_lossy(key).into_owned())
        .filter(|key| is_not_copied(key))
        .collect();
    for key in keys {
        headers::remove(header, &key);
    }
}
