use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use frond_clock::{Instant, Now, Rng, Timestamp};
use frond_ledger::{Batch, DiskFault, Recovered, Stored};
use frond_wire::{Headers, Message, MessageBuf};

use super::disk::Disk;
use crate::{AccountLimits, Facts, Input, JetStream, Output, Reach, Solo, SubId, Tenant};

const TENANT: Tenant = Tenant(1);
pub(super) const LEAF: usize = 0;
pub(super) const HUB: usize = 1;

/// A leaf and a hub, each with a domain and a disk, and the link between them.
pub(super) struct Pair {
    pub(super) nodes: [Node; 2],
    pub(super) now: Now,
    pub(super) rng: Rng,
    is_up: bool,
    /// How many of a hundred messages the link swallows.
    pub(super) loss: u64,
    asked: u64,
}

/// One side.
pub(super) struct Node {
    streams: JetStream,
    pub(super) disk: Disk,
    facts: Facts,
    net: Net,
    /// Batches the disk has not answered.
    queue: VecDeque<Batch>,
    /// Messages for our own subscriptions.
    local: VecDeque<(SubId, MessageBuf)>,
    /// What comes over the link.
    wire: VecDeque<Item>,
    pub(super) sent: Vec<MessageBuf>,
    pub(super) logs: Vec<String>,
}

#[derive(Default)]
struct Net {
    subs: BTreeMap<SubId, Box<str>>,
    /// What the other side listens on.
    remote: BTreeMap<Box<str>, usize>,
}

/// What travels on the link.
enum Item {
    Listen(Box<str>),
    Deaf(Box<str>),
    Message(Box<str>, MessageBuf),
}

impl Reach for Net {
    fn has_interest(&self, _: Tenant, subject: &str) -> bool {
        let names = |filter: &str| frond_subject::matches(filter, subject);
        self.subs.values().any(|f| names(f)) || self.remote.keys().any(|f| names(f))
    }

    fn has_subscription(&self, _: Tenant, subject: &str) -> bool {
        let is_it = |filter: &str| filter == subject;
        self.subs.values().any(|f| is_it(f)) || self.remote.keys().any(|f| is_it(f))
    }

    fn asker(&self, _: Tenant) -> Option<String> {
        None
    }

    fn has_receiver(&self, _: Tenant, subject: &str, _: Option<&str>) -> bool {
        let same = |filter: &str| filter == subject;
        self.subs.values().any(|f| same(f)) || self.remote.keys().any(|f| same(f))
    }
}

impl Node {
    fn new(domain: &str, now: Now) -> Self {
        let facts = Facts {
            domain: Some(domain.into()),
            ..Facts::default()
        };
        let disk = Disk::default();
        let mut node = Self {
            streams: JetStream::new(facts.clone(), 1, Box::new(Solo::new()), disk.recover()),
            disk,
            facts,
            net: Net::default(),
            queue: VecDeque::new(),
            local: VecDeque::new(),
            wire: VecDeque::new(),
            sent: Vec::new(),
            logs: Vec::new(),
        };
        node.enable(now);
        node
    }

    fn enable(&mut self, now: Now) {
        let limits = AccountLimits::default();
        self.streams.enable(now, TENANT, "$G", limits, &self.net);
    }

    fn input(&mut self, now: Now, input: Input<'_>) {
        self.streams.handle(now, input, &self.net);
    }

    fn commit(&mut self, now: Now, count: usize) {
        let batches: Vec<Batch> = self.queue.drain(..count.min(self.queue.len())).collect();
        for receipt in self.disk.commit(&batches) {
            self.streams
                .handle(now, Input::Committed(receipt), &self.net);
        }
    }
}

impl Pair {
    pub(super) fn new(seed: u64) -> Self {
        let wall = Timestamp::parse_rfc3339("2026-11-29T12:00:00Z").unwrap();
        let now = Now {
            mono: Instant::from_nanos(1_000_000_000),
            wall,
        };
        let mut pair = Self {
            nodes: [Node::new("shop-1", now), Node::new("hub", now)],
            now,
            rng: Rng::seeded(seed),
            is_up: false,
            loss: 0,
            asked: 0,
        };
        pair.run(Duration::ZERO);
        pair
    }

    /// The power goes and comes back; `spoil` may change what the disk gives back.
    pub(super) fn restart(&mut self, side: usize, spoil: impl FnOnce(&mut Recovered)) {
        self.cut();
        let node = &mut self.nodes[side];
        node.queue.clear();
        node.local.clear();
        node.net = Net::default();
        let mut recovered = node.disk.recover();
        spoil(&mut recovered);
        let seed = self.rng.next_u64();
        node.streams = JetStream::new(node.facts.clone(), seed, Box::new(Solo::new()), recovered);
        node.enable(self.now);
        self.take_wishes();
    }

    pub(super) fn cut(&mut self) {
        self.is_up = false;
        for node in &mut self.nodes {
            node.wire.clear();
            for filter in std::mem::take(&mut node.net.remote).into_keys() {
                let subject = &filter;
                let tenant = TENANT;
                node.input(self.now, Input::Interest { tenant, subject });
            }
        }
        self.take_wishes();
    }

    pub(super) fn heal(&mut self) {
        if std::mem::replace(&mut self.is_up, true) {
            return;
        }
        for side in [LEAF, HUB] {
            let filters: Vec<Box<str>> = self.nodes[side].net.subs.values().cloned().collect();
            let listens = filters.into_iter().map(Item::Listen);
            self.nodes[1 - side].wire.extend(listens);
        }
    }

    /// Publishes and gives the number that names the answer.
    pub(super) fn send(&mut self, side: usize, subject: &str, payload: &[u8]) -> u64 {
        self.asked += 1;
        let reply = format!("_R.{}", self.asked);
        let message = MessageBuf::copy_of(&Message {
            subject,
            reply: Some(&reply),
            header: b"",
            payload,
        });
        self.route(side, message, None);
        self.asked
    }

    pub(super) fn ask(&mut self, side: usize, subject: &str, payload: &str) -> String {
        let number = self.send(side, subject, payload.as_bytes());
        self.run(Duration::ZERO);
        let to = format!("_R.{number}");
        let mut sent = self.nodes[side].sent.iter();
        let answer = sent.find(|m| m.subject() == to);
        let text = answer.map(|m| String::from_utf8_lossy(m.message().payload).into_owned());
        text.unwrap_or_else(|| "silence".to_owned())
    }

    pub(super) fn create(&mut self, side: usize, name: &str, config: &str) {
        let body = format!("{{\"name\":\"{name}\",{config}}}");
        let answer = self.ask(side, &format!("$JS.API.STREAM.CREATE.{name}"), &body);
        assert!(answer.contains("did_create"), "{answer}");
    }

    pub(super) fn info(&mut self, side: usize, name: &str) -> String {
        self.ask(side, &format!("$JS.API.STREAM.INFO.{name}"), "")
    }

    /// Everything happens that can, until `time` has passed.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now.mono + time;
        for _ in 0..200_000 {
            if self.step() {
                continue;
            }
            let due = self.nodes.iter().filter_map(|n| n.streams.deadline()).min();
            let Some(at) = due.filter(|at| *at <= end) else {
                self.advance(end.since(self.now.mono));
                return;
            };
            self.advance(at.since(self.now.mono));
            for side in [LEAF, HUB] {
                self.nodes[side].input(self.now, Input::Time);
            }
        }
        panic!("it never comes to rest");
    }

    /// One thing happens. `false` when there is nothing.
    pub(super) fn step(&mut self) -> bool {
        self.take_wishes();
        let first = usize::from(self.rng.below(2) == 1);
        for side in [first, 1 - first] {
            if let Some((sub, message)) = self.nodes[side].local.pop_front() {
                let tenant = TENANT;
                let input = Input::Message {
                    tenant,
                    sub,
                    message,
                };
                self.nodes[side].input(self.now, input);
                return true;
            }
            if self.rng.below(2) == 1 && !self.nodes[side].queue.is_empty() {
                self.nodes[side].commit(self.now, 1);
                return true;
            }
            if let Some(item) = self.nodes[side].wire.pop_front() {
                self.arrive(side, item);
                return true;
            }
        }
        let mut is_busy = false;
        for side in [LEAF, HUB] {
            is_busy |= !self.nodes[side].queue.is_empty();
            self.nodes[side].commit(self.now, usize::MAX);
        }
        is_busy
    }

    /// The disk of one side refuses what it has not answered.
    pub(super) fn refuse(&mut self, side: usize) {
        self.take_wishes();
        for batch in std::mem::take(&mut self.nodes[side].queue) {
            let (ticket, fault) = (batch.ticket, DiskFault::Full);
            self.nodes[side].input(self.now, Input::Refused { ticket, fault });
        }
        self.nodes[side].input(self.now, Input::DiskFree(1 << 30));
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.now.mono = self.now.mono + by;
        self.now.wall = self.now.wall + by;
    }

    /// What the disk of one side holds of its only stream.
    pub(super) fn stored(&self, side: usize) -> Vec<Stored> {
        self.nodes[side].disk.stored()
    }

    fn take_wishes(&mut self) {
        for side in [LEAF, HUB] {
            while let Some(output) = self.nodes[side].streams.poll() {
                self.fulfil(side, output);
            }
        }
    }

    fn fulfil(&mut self, side: usize, output: Output) {
        let is_up = self.is_up;
        let [leaf, hub] = &mut self.nodes;
        let (node, peer) = if side == LEAF {
            (leaf, hub)
        } else {
            (hub, leaf)
        };
        match output {
            Output::Subscribe { subject, sub, .. } => {
                if is_up {
                    peer.wire.push_back(Item::Listen(subject.clone()));
                }
                assert!(node.net.subs.insert(sub, subject).is_none());
            }
            Output::Unsubscribe { sub, .. } => {
                let subject = node.net.subs.remove(&sub).expect("a subscription of ours");
                if is_up {
                    peer.wire.push_back(Item::Deaf(subject));
                }
            }
            Output::Publish { message, .. } => self.route(side, message, None),
            Output::Deliver { parcel, .. } => {
                let message = MessageBuf::copy_of(&parcel.message(&mut String::new()));
                self.route(side, message, Some(parcel.shown()));
            }
            Output::Append(batch) => node.queue.push_back(batch),
            Output::Fetch { ticket, query } => {
                let fetched = node.disk.fetch(&query);
                node.input(self.now, Input::Fetched { ticket, fetched });
            }
            Output::Log { text, .. } => node.logs.push(text),
        }
    }

    fn route(&mut self, side: usize, message: MessageBuf, shown: Option<&str>) {
        let to: Box<str> = message.subject().into();
        let message = match shown {
            None => message,
            Some(shown) => MessageBuf::copy_of(&Message {
                subject: shown,
                ..message.message()
            }),
        };
        self.hand_out(side, &to, &message);
        let is_wanted = |filter: &str| frond_subject::matches(filter, &to);
        let is_denied = to.starts_with("$JS.API.");
        let is_wanted = self.nodes[side].net.remote.keys().any(|f| is_wanted(f));
        if !is_wanted || is_denied || !self.is_up {
            return;
        }
        if self.rng.below(100) >= self.loss {
            self.nodes[1 - side]
                .wire
                .push_back(Item::Message(to, message));
        }
    }

    fn hand_out(&mut self, side: usize, to: &str, message: &MessageBuf) {
        let node = &mut self.nodes[side];
        let subs = node.net.subs.iter();
        let named = subs.filter(|(_, filter)| frond_subject::matches(filter, to));
        for (sub, _) in named {
            node.local.push_back((*sub, message.clone()));
        }
        if to.starts_with("_R.") && Headers::new(message.header()).status().is_none() {
            node.sent.push(message.clone());
        }
    }

    fn arrive(&mut self, side: usize, item: Item) {
        let tenant = TENANT;
        let node = &mut self.nodes[side];
        match item {
            Item::Listen(subject) => {
                *node.net.remote.entry(subject.clone()).or_default() += 1;
                let subject = &subject;
                node.input(self.now, Input::Interest { tenant, subject });
            }
            Item::Deaf(subject) => {
                let Some(count) = node.net.remote.get_mut(&subject) else {
                    return;
                };
                *count -= 1;
                if *count == 0 {
                    node.net.remote.remove(&subject);
                }
                let subject = &subject;
                node.input(self.now, Input::Interest { tenant, subject });
            }
            Item::Message(to, message) => self.hand_out(side, &to, &message),
        }
    }
}
