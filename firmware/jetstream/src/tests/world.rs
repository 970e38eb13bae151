use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use frond_clock::{Ages, Instant, Now, Timestamp};
use frond_ledger::{Batch, DiskFault, Fetched, Ticket};
use frond_wire::{Headers, Message, MessageBuf, headers};

use super::disk::Disk;
use crate::{AccountLimits, Facts, Input, JetStream, Output, Reach, Solo, SubId, Tenant};

pub(super) const TENANT: Tenant = Tenant(1);

/// A node with one account, one client and a disk that answers when it is told to.
pub(super) struct World {
    pub(super) streams: JetStream,
    pub(super) disk: Disk,
    pub(super) now: Now,
    facts: Facts,
    pub(super) subs: BTreeMap<SubId, Box<str>>,
    /// Batches the disk has not answered.
    pub(super) queue: VecDeque<Batch>,
    /// Whether the disk answers by itself.
    pub(super) is_prompt: bool,
    /// What the disk has read and not told yet; `None` when it tells at once.
    pub(super) reads: Option<Vec<(Ticket, Fetched)>>,
    pub(super) sent: Vec<Sent>,
    /// What the operator was told.
    pub(super) logs: Vec<String>,
    /// How often the node was woken.
    pub(super) woken: usize,
    listeners: Listeners,
    asked: u64,
}

/// What the node published: the subject that routes it, the one shown, and the rest.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) to: String,
    pub(super) shown: Option<String>,
    pub(super) message: MessageBuf,
}

#[derive(Default)]
struct Listeners(RefCell<BTreeSet<String>>);

impl Reach for Listeners {
    fn has_interest(&self, _: Tenant, subject: &str) -> bool {
        let listeners = self.0.borrow();
        listeners
            .iter()
            .any(|filter| frond_subject::matches(filter, subject))
    }

    fn has_subscription(&self, _: Tenant, subject: &str) -> bool {
        self.0.borrow().contains(subject)
    }

    fn asker(&self, _: Tenant) -> Option<String> {
        Some(r#"{"acc":"A"}"#.into())
    }

    fn has_receiver(&self, tenant: Tenant, subject: &str, _: Option<&str>) -> bool {
        self.has_interest(tenant, subject)
    }
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(Facts::default())
    }

    pub(super) fn with(facts: Facts) -> Self {
        let disk = Disk::default();
        let streams = JetStream::new(facts.clone(), 1, Box::new(Solo::new()), disk.recover());
        let wall = Timestamp::parse_rfc3339("2026-11-29T12:00:00Z").unwrap();
        let mut world = Self {
            streams,
            disk,
            now: Now {
                mono: Instant::from_nanos(1_000_000_000),
                wall,
            },
            facts,
            subs: BTreeMap::new(),
            queue: VecDeque::new(),
            is_prompt: true,
            reads: None,
            sent: Vec::new(),
            logs: Vec::new(),
            woken: 0,
            listeners: Listeners::default(),
            asked: 0,
        };
        world.enable();
        world
    }

    /// The power goes: what the disk has not answered is gone.
    pub(super) fn restart(&mut self) {
        self.queue.clear();
        self.subs.clear();
        let recovered = self.disk.recover();
        let ages = self.streams.ages.clone();
        self.streams = JetStream::new(self.facts.clone(), 2, Box::new(Solo::new()), recovered);
        self.streams.judge_ages(self.now, ages, &self.listeners);
        self.enable();
    }

    fn enable(&mut self) {
        self.limit(AccountLimits::default());
    }

    /// The account may use so much.
    pub(super) fn limit(&mut self, limits: impl Into<crate::Allowance>) {
        self.streams
            .enable(self.now, TENANT, "$G", limits, &self.listeners);
        self.drain();
    }

    pub(super) fn listen(&mut self, subject: &str) {
        self.listeners.0.borrow_mut().insert(subject.to_owned());
        self.input(Input::Interest {
            tenant: TENANT,
            subject,
        });
    }

    pub(super) fn input(&mut self, input: Input<'_>) {
        self.streams.handle(self.now, input, &self.listeners);
        self.drain();
    }

    /// Time passes, and the node is woken as it wants.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now.mono + time;
        for _ in 0..100_000 {
            let Some(at) = self.streams.deadline().filter(|at| *at <= end) else {
                break;
            };
            self.advance(at.since(self.now.mono));
            self.woken += 1;
            self.input(Input::Time);
        }
        self.advance(end.since(self.now.mono));
    }

    /// Ages are judged so; the wall clock is set forward by `jump`.
    pub(super) fn judge_ages(&mut self, ages: Ages, jump: Duration) {
        self.now.wall = self.now.wall + jump;
        self.streams.judge_ages(self.now, ages, &self.listeners);
        self.drain();
    }

    fn advance(&mut self, by: Duration) {
        self.now.mono = self.now.mono + by;
        self.now.wall = self.now.wall + by;
    }

    /// Publishes without waiting; the number names the answer.
    pub(super) fn send(&mut self, subject: &str, header: &[(&str, &str)], payload: &[u8]) -> u64 {
        self.asked += 1;
        let mut block = Vec::new();
        for (key, value) in header {
            headers::append(&mut block, key, value);
        }
        let reply = format!("_R.{}", self.asked);
        let message = MessageBuf::copy_of(&Message {
            subject,
            reply: Some(&reply),
            header: &block,
            payload,
        });
        self.route(message);
        self.asked
    }

    /// Hands a message to everybody who listens, without draining: a burst.
    pub(super) fn route(&mut self, message: MessageBuf) {
        let matching: Vec<SubId> = self
            .subs
            .iter()
            .filter(|(_, filter)| frond_subject::matches(filter, message.subject()))
            .map(|(sub, _)| *sub)
            .collect();
        for sub in matching {
            let message = message.clone();
            let input = Input::Message {
                tenant: TENANT,
                sub,
                message,
            };
            self.streams.handle(self.now, input, &self.listeners);
        }
    }

    pub(super) fn answer(&self, number: u64) -> Option<String> {
        let to = format!("_R.{number}");
        let sent = self.sent.iter().find(|sent| sent.to == to)?;
        let parts = sent.message.message();
        let status = Headers::new(parts.header).status();
        Some(match status {
            Some(code) => code.to_string(),
            None => String::from_utf8_lossy(parts.payload).into_owned(),
        })
    }

    /// Publishes and gives the answer there is when nothing is left to do.
    pub(super) fn ask(&mut self, subject: &str, payload: &str) -> String {
        self.ask_with(subject, &[], payload)
    }

    pub(super) fn ask_with(
        &mut self,
        subject: &str,
        header: &[(&str, &str)],
        body: &str,
    ) -> String {
        let number = self.send(subject, header, body.as_bytes());
        self.drain();
        self.answer(number).unwrap_or_else(|| "silence".to_owned())
    }

    /// Asks in the system account, which is served from now on.
    pub(super) fn ask_as_system(&mut self, subject: &str) -> String {
        let tenant = Tenant(9);
        self.streams.serve_system(self.now, tenant);
        self.drain();
        let api = self
            .subs
            .iter()
            .rev()
            .find(|(_, filter)| &***filter == "$JS.API.>");
        let (sub, _) = api.expect("an API");
        let (sub, reply) = (*sub, Some("_SYSTEM"));
        let message = MessageBuf::copy_of(&Message {
            subject,
            reply,
            header: b"",
            payload: b"",
        });
        self.input(Input::Message {
            tenant,
            sub,
            message,
        });
        let sent = self.sent.iter().rev().find(|sent| sent.to == "_SYSTEM");
        let sent = sent.expect("an answer");
        String::from_utf8_lossy(sent.message.message().payload).into_owned()
    }

    pub(super) fn create(&mut self, name: &str, config: &str) {
        let answer = self.ask(
            &format!("$JS.API.STREAM.CREATE.{name}"),
            &format!("{{\"name\":\"{name}\",{config}}}"),
        );
        assert!(answer.contains("\"did_create\":true"), "{answer}");
    }

    /// Takes the node's wishes until there are none, and fulfils them.
    pub(super) fn drain(&mut self) {
        loop {
            while let Some(output) = self.streams.poll() {
                self.fulfil(output);
            }
            if !self.is_prompt || self.queue.is_empty() {
                return;
            }
            self.disk_answers(usize::MAX);
        }
    }

    fn fulfil(&mut self, output: Output) {
        match output {
            Output::Subscribe { subject, sub, .. } => {
                assert!(self.subs.insert(sub, subject).is_none());
            }
            Output::Unsubscribe { sub, .. } => {
                assert!(self.subs.remove(&sub).is_some());
            }
            Output::Publish { message, .. } => self.sent.push(Sent {
                to: message.subject().to_owned(),
                shown: None,
                message,
            }),
            Output::Deliver { parcel, .. } => {
                let message = MessageBuf::copy_of(&parcel.message(&mut String::new()));
                self.sent.push(Sent {
                    to: message.subject().to_owned(),
                    shown: Some(parcel.shown().to_owned()),
                    message,
                });
            }
            Output::Append(batch) => self.queue.push_back(batch),
            Output::Fetch { ticket, query } => {
                // Reads do not wait for writes.
                let fetched = self.disk.fetch(&query);
                match &mut self.reads {
                    Some(reads) => reads.push((ticket, fetched)),
                    None => {
                        let input = Input::Fetched { ticket, fetched };
                        self.streams.handle(self.now, input, &self.listeners);
                    }
                }
            }
            Output::Log { text, .. } => self.logs.push(text),
        }
    }

    /// The disk tells what it has read, and tells at once from here on.
    pub(super) fn reads_come(&mut self) {
        for (ticket, fetched) in self.reads.take().unwrap_or_default() {
            self.input(Input::Fetched { ticket, fetched });
        }
    }

    /// The disk keeps the oldest `count` batches and says so.
    pub(super) fn disk_answers(&mut self, count: usize) {
        let count = count.min(self.queue.len());
        let batches: Vec<Batch> = self.queue.drain(..count).collect();
        for receipt in self.disk.commit(&batches) {
            self.streams
                .handle(self.now, Input::Committed(receipt), &self.listeners);
        }
        while let Some(output) = self.streams.poll() {
            self.fulfil(output);
        }
    }

    /// The disk refuses the oldest batch.
    pub(super) fn disk_refuses(&mut self, fault: DiskFault) {
        // A full disk takes what brings no messages.
        let takes = |batch: &Batch| fault == DiskFault::Full && !batch.brings_messages();
        while self.queue.len() > 1 && self.queue.front().is_some_and(takes) {
            self.disk_answers(1);
        }
        let batch = self.queue.pop_front().expect("a batch to refuse");
        self.input(Input::Refused {
            ticket: batch.ticket,
            fault,
        });
    }
}
