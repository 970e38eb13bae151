//! A consumer on a stream made of a map, driven by hand.

mod acks;
mod model;
mod priority;
mod priority_model;
mod pull;
mod push;
mod saves;
mod starts;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use frond_clock::{Instant, Now, Timestamp};
use frond_ledger::{Body, Need, Seq, Stored};
use frond_wire::{Message, MessageBuf};

use super::config::{AckPolicy, ConsumerConfig, ServerLimits, StreamFacts};
use super::io::{
    Cause, ConsumerInput, ConsumerOutput, Gone, MessageHead, Messages, Resident, Saving,
};
use super::machine::Consumer;

/// A stream in memory. Bodies of `on_disk` must be fetched.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    pub(super) messages: BTreeMap<Seq, (Timestamp, Body)>,
    pub(super) last: Seq,
    pub(super) on_disk: bool,
    pub(super) broken: BTreeSet<Seq>,
}

impl Shelf {
    fn wanted(&self, seq: Seq, filters: &[Box<str>]) -> bool {
        let subject = self.messages[&seq].1.subject();
        filters.is_empty() || filters.iter().any(|f| frond_subject::matches(f, subject))
    }
}

impl Messages for Shelf {
    fn first(&self) -> Seq {
        self.messages
            .keys()
            .next()
            .copied()
            .unwrap_or(self.last + 1)
    }
    fn last(&self) -> Seq {
        self.last
    }
    fn next(&self, from: Seq, filters: &[Box<str>]) -> Option<Seq> {
        let mut later = self.messages.range(from..).map(|(seq, _)| *seq);
        later.find(|seq| self.wanted(*seq, filters))
    }
    fn count(&self, from: Seq, filters: &[Box<str>]) -> u64 {
        let later = self.messages.range(from..).map(|(seq, _)| *seq);
        later.filter(|seq| self.wanted(*seq, filters)).count() as u64
    }
    fn last_by_subject(&self, upto: Seq, filters: &[Box<str>]) -> Vec<Seq> {
        let mut by_subject = BTreeMap::new();
        for (seq, (_, body)) in self.messages.range(..=upto) {
            if self.wanted(*seq, filters) {
                by_subject.insert(body.subject(), *seq);
            }
        }
        let seqs: BTreeSet<Seq> = by_subject.into_values().collect();
        seqs.into_iter().collect()
    }
    fn last_match(&self, filters: &[Box<str>]) -> Option<Seq> {
        let mut back = self.messages.keys().rev().copied();
        back.find(|seq| self.wanted(*seq, filters))
    }
    fn at_time(&self, time: Timestamp) -> Seq {
        let mut all = self.messages.iter();
        all.find(|(_, (at, _))| *at >= time)
            .map_or(self.last + 1, |(seq, _)| *seq)
    }
    fn head(&self, seq: Seq) -> Option<MessageHead<'_>> {
        let (time, body) = self.messages.get(&seq)?;
        Some(MessageHead {
            subject: body.subject(),
            time: *time,
            bytes: body.payload().len() as u64,
        })
    }
    fn body(&self, seq: Seq) -> Resident {
        match self.messages.get(&seq) {
            None => Resident::Gone,
            Some(_) if self.on_disk => Resident::OnDisk,
            Some((_, body)) => Resident::Here(body.clone()),
        }
    }
}

/// What came out, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) to: String,
    pub(super) subject: String,
    pub(super) reply: String,
    pub(super) header: String,
    pub(super) payload: String,
}

/// A stream, a consumer, a clock, and who listens.
#[derive(Debug)]
pub(super) struct World {
    pub(super) shelf: Shelf,
    pub(super) facts: StreamFacts,
    pub(super) consumer: Consumer,
    pub(super) now: Now,
    pub(super) deaf: BTreeSet<String>,
    pub(super) seen: Vec<Seen>,
    pub(super) done: Vec<(Seq, Seq)>,
    pub(super) expired: bool,
    pub(super) fetched: Vec<Vec<Seq>>,
    /// What the ledger holds: the state and the changes after it.
    pub(super) saved: (Option<Bytes>, Vec<Bytes>),
    pub(super) saves: Vec<(u64, Need)>,
    /// Whether saves are answered at once.
    pub(super) disk_answers: bool,
}

pub(super) const START_NS: i64 = 1_700_000_000_000_000_000;

pub(super) fn facts() -> StreamFacts {
    StreamFacts {
        name: "S".into(),
        subjects: vec!["a.>".into()],
        replicas: 1,
        ..StreamFacts::default()
    }
}

pub(super) fn explicit() -> ConsumerConfig {
    ConsumerConfig {
        durable_name: "C".into(),
        ack_policy: AckPolicy::Explicit,
        ..ConsumerConfig::default()
    }
}

impl World {
    /// A consumer on a stream that has `messages`.
    pub(super) fn new(config: ConsumerConfig, messages: &[(&str, &str)]) -> Self {
        Self::with(facts(), config, messages)
    }

    pub(super) fn with(
        facts: StreamFacts,
        config: ConsumerConfig,
        messages: &[(&str, &str)],
    ) -> Self {
        let mut shelf = Shelf::default();
        let now = Now {
            mono: Instant::from_nanos(1_000_000_000),
            wall: Timestamp::from_nanos(START_NS),
        };
        for (subject, payload) in messages {
            put(&mut shelf, now.wall, subject, b"", payload);
        }
        Self::on(shelf, facts, config, now)
    }

    pub(super) fn on(shelf: Shelf, facts: StreamFacts, config: ConsumerConfig, now: Now) -> Self {
        let config = config
            .prepare(&facts, &ServerLimits::default(), false)
            .unwrap();
        let mut consumer = Consumer::create(now, config, &facts, 7, &shelf);
        consumer.told();
        let mut world = Self {
            shelf,
            facts,
            consumer,
            now,
            deaf: BTreeSet::new(),
            seen: vec![],
            done: vec![],
            expired: false,
            fetched: vec![],
            saved: (None, vec![]),
            saves: vec![],
            disk_answers: true,
        };
        world.drain();
        world
    }

    pub(super) fn publish(&mut self, subject: &str, payload: &str) {
        put(&mut self.shelf, self.now.wall, subject, b"", payload);
        self.input(|_| ConsumerInput::Appended);
    }

    pub(super) fn remove(&mut self, seq: Seq) {
        if self.shelf.messages.contains_key(&seq) {
            self.remove_all(&[seq], Cause::Limits);
        }
    }

    /// Several leave at once, neighbours as one range.
    pub(super) fn remove_all(&mut self, seqs: &[Seq], cause: Cause) {
        let mut gone: Vec<Gone> = vec![];
        for seq in seqs {
            let (_, body) = self.shelf.messages.remove(seq).unwrap();
            match gone.last_mut().filter(|before| before.last + 1 == *seq) {
                Some(before) => (before.last, before.subject) = (*seq, None),
                None => gone.push(Gone {
                    first: *seq,
                    last: *seq,
                    subject: Some(body.subject().into()),
                }),
            }
        }
        self.input(|_| ConsumerInput::Removed(&gone, cause));
    }

    pub(super) fn pull(&mut self, reply: &str, body: &str) {
        let message = text("$JS.API.CONSUMER.MSG.NEXT.S.C", Some(reply), body);
        self.input(|_| ConsumerInput::Next(&message));
    }

    pub(super) fn ack(&mut self, subject: &str, reply: Option<&str>, body: &str) {
        let message = text(subject, reply, body);
        self.input(|_| ConsumerInput::Ack(&message));
    }

    pub(super) fn time(&mut self) {
        self.input(|_| ConsumerInput::Time);
    }

    /// Lets time pass, waking the consumer whenever it wants.
    pub(super) fn pass(&mut self, duration: Duration) {
        let end = self.now.mono + duration;
        for _ in 0..100_000 {
            match self.consumer.deadline().filter(|at| *at <= end) {
                None => break,
                Some(at) => {
                    self.set_clock(at.max(self.now.mono));
                    self.time();
                }
            }
        }
        self.set_clock(end);
        self.time();
    }

    fn set_clock(&mut self, to: Instant) {
        self.now.wall = self.now.wall + to.since(self.now.mono);
        self.now.mono = to;
    }

    pub(super) fn input<'a>(&mut self, input: impl FnOnce(()) -> ConsumerInput<'a>) {
        let deaf = self.deaf.clone();
        let listens = |subject: &str| !deaf.contains(subject);
        self.consumer
            .handle(self.now, input(()), &self.shelf, &listens);
        self.drain();
    }

    pub(super) fn drain(&mut self) {
        let mut answers = vec![];
        while let Some(output) = self.consumer.poll() {
            match output {
                ConsumerOutput::Deliver(parcel) => {
                    let message = MessageBuf::copy_of(&parcel.message(&mut String::new()));
                    self.note(parcel.shown(), &message);
                }
                ConsumerOutput::Publish(message) => {
                    let shown = message.subject().to_owned();
                    self.note(&shown, &message);
                }
                ConsumerOutput::Fetch(seqs) => self.fetched.push(seqs),
                ConsumerOutput::Save { number, need, what } => {
                    self.keep(what);
                    self.saves.push((number, need));
                    answers.extend((need == Need::Sync).then_some(number));
                }
                ConsumerOutput::Done { first, last } => self.done.push((first, last)),
                ConsumerOutput::Expired => self.expired = true,
            }
        }
        let answered = self.disk_answers;
        for number in answers.into_iter().filter(|_| answered) {
            self.input(|_| ConsumerInput::Saved(number));
        }
    }

    fn keep(&mut self, what: Saving) {
        match what {
            Saving::State(state) => self.saved = (Some(state), vec![]),
            Saving::Change(change) => self.saved.1.push(change),
        }
    }

    /// Answers the oldest fetch.
    pub(super) fn disk_read(&mut self) {
        let seqs = self.fetched.remove(0);
        let mut found = vec![];
        let mut missing = vec![];
        for seq in seqs {
            match self.shelf.messages.get(&seq) {
                Some((time, body)) if !self.shelf.broken.contains(&seq) => found.push(Stored {
                    seq,
                    time: *time,
                    body: body.clone(),
                }),
                _ => missing.push(seq),
            }
        }
        self.input(|_| ConsumerInput::Fetched {
            messages: &found,
            missing: &missing,
        });
    }

    /// The plug is pulled and put back: the same stream, what was saved of the consumer.
    pub(super) fn restart(&mut self) {
        let (state, changes) = &self.saved;
        let (consumer, damage) = Consumer::restore(
            self.now,
            self.consumer.created(),
            self.consumer.config().clone(),
            &self.facts,
            8,
            (state.as_deref(), changes),
            &self.shelf,
        );
        assert_eq!(damage, None);
        self.consumer = consumer;
        self.fetched.clear();
        self.time();
    }

    fn note(&mut self, shown: &str, message: &MessageBuf) {
        let parts = message.message();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.seen.push(Seen {
            to: parts.subject.into(),
            subject: shown.into(),
            reply: parts.reply.unwrap_or_default().into(),
            header: text(parts.header),
            payload: text(parts.payload),
        });
    }

    /// What came since the last look.
    pub(super) fn take(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    /// Payloads that came since the last look, statuses in angle brackets.
    pub(super) fn came(&mut self) -> Vec<String> {
        self.take()
            .into_iter()
            .map(|seen| match seen.header.strip_prefix("NATS/1.0 ") {
                Some(status) => format!("<{}>", status.trim_end().replace("\r\n", ", ")),
                None => seen.payload,
            })
            .collect()
    }

    /// The ack subject of the delivery that came last.
    pub(super) fn last_ack(&self) -> String {
        let acks = self.seen.iter().rev().map(|seen| &seen.reply);
        acks.clone()
            .find(|r| r.starts_with("$JS.ACK"))
            .unwrap()
            .clone()
    }
}

pub(super) fn put(shelf: &mut Shelf, time: Timestamp, subject: &str, header: &[u8], payload: &str) {
    let bytes = [subject.as_bytes(), header, payload.as_bytes()].concat();
    let body = Body::new(
        bytes.into(),
        subject.len() as u32,
        header.len() as u32,
        None,
    )
    .unwrap();
    shelf.last += 1;
    shelf.messages.insert(shelf.last, (time, body));
}

pub(super) fn text(subject: &str, reply: Option<&str>, body: &str) -> MessageBuf {
    MessageBuf::copy_of(&Message {
        subject,
        reply,
        header: b"",
        payload: body.as_bytes(),
    })
}

pub(super) const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}
