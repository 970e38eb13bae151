use core::time::Duration;
use std::collections::BTreeMap;

use frond_account::AccountId;
use frond_broker::{
    Beat, InterestChange, LinkId, LinkKind, LinkPeer, Packs, Pulse, Sent, ServerFacts, Source,
    Upcalls, Via,
};
use frond_clock::{Instant, Now};
use frond_subject::is_valid_filter;
use frond_wire::{Message, Op, encode};

use crate::gate::{Gate, Role};
use crate::interests::Interests;
use crate::limits::PEER_SUBSCRIPTIONS_MAX;
use crate::loops::{is_loop_subject, loop_subject};
use crate::replies::Replies;

mod closed;

/// One leafnode connection after its handshake: the same at both ends.
#[derive(Debug)]
pub(crate) struct Session {
    link: LinkId,
    account: AccountId,
    account_name: String,
    peer: LinkPeer,
    gate: Gate,
    /// The peer understands message headers.
    headers: bool,
    /// The peer isn't told what other leafs want.
    isolated: bool,
    /// Largest message the peer takes, when it said so.
    peer_payload_max: Option<usize>,
    loop_subject: String,
    interests: Interests,
    /// What the peer wants: weights by `subject` or `subject queue`.
    wanted: BTreeMap<Box<str>, u32>,
    replies: Option<Replies>,
    pulse: Pulse,
    packs: Packs,
    /// Messages that were too large for the peer since the last log line.
    oversized: u64,
}

/// What both ends found out during the handshake.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) account: AccountId,
    pub(crate) peer: LinkPeer,
    pub(crate) gate: Gate,
    pub(crate) headers: bool,
    pub(crate) isolated: bool,
    pub(crate) peer_payload_max: Option<usize>,
    pub(crate) replies: Option<Replies>,
    pub(crate) pulse: Pulse,
    pub(crate) packs: Packs,
}

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    /// All is well.
    Fine,
    /// Not for a session: `INFO`, `CONNECT`, `-ERR` are the ends' own business.
    NotMine,
    /// Our own interest came back to us.
    Loop,
    /// The peer went beyond its permissions; the text for its `-ERR`.
    Offence(String),
    /// More than this server holds for one peer; the text for its `-ERR`.
    TooMuch(&'static str),
    /// No operation between leafnodes.
    Protocol,
}

impl Session {
    /// Binds the link to its account; the snapshot is a second step, because an accepting side
    /// speaks in between. `None` when the account has no room, which the peer then knows.
    pub(crate) fn bind(terms: Terms, up: &mut dyn Upcalls) -> Option<Self> {
        if !up.bind(terms.account, terms.peer.clone()) {
            return None;
        }
        let account_name = up.account_name(terms.account);
        Some(Self {
            link: up.link(),
            loop_subject: loop_subject(&up.server().id, &account_name),
            account_name,
            account: terms.account,
            peer: terms.peer,
            gate: terms.gate,
            headers: terms.headers,
            isolated: terms.isolated,
            peer_payload_max: terms.peer_payload_max,
            interests: Interests::default(),
            wanted: BTreeMap::new(),
            replies: terms.replies,
            pulse: terms.pulse,
            packs: terms.packs,
            oversized: 0,
        })
    }

    /// Tells the peer all that we want of it.
    pub(crate) fn send_snapshot(&mut self, up: &mut dyn Upcalls) {
        self.interests = self.collect(up);
        self.interests.write_all(up.out());
    }

    /// The hub changed what may cross: tells it what that changes in what we want.
    pub(crate) fn change_gate(&mut self, gate: Gate, up: &mut dyn Upcalls) {
        self.gate = gate;
        let after = self.collect(up);
        after.write_difference(&self.interests, up.out());
        self.interests = after;
    }

    pub(crate) fn on_interest(&mut self, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        if self.is_told(change) {
            self.interests
                .update(change.subject, change.queue, change.delta, up.out());
        }
    }

    pub(crate) fn on_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) -> Handled {
        match op {
            Op::Ping => encode::pong(up.out()),
            Op::Pong => {
                self.pulse.pong(now.mono);
                if let Some(rtt) = self.pulse.rtt() {
                    self.packs.suit(rtt, up);
                }
            }
            Op::Ok => {}
            Op::LeafSubscribe { subject, queue } => return self.on_wanted(subject, *queue, up),
            Op::LeafUnsubscribe { subject, queue } => self.on_unwanted(subject, *queue, up),
            Op::LeafMessage { message, queues } => {
                return self.on_message(now, message, queues, up);
            }
            Op::Info(_) | Op::Connect(_) | Op::Err(_) => return Handled::NotMine,
            Op::Publish(_) | Op::Subscribe { .. } | Op::Unsubscribe { .. } | Op::Route(_) => {
                return Handled::Protocol;
            }
        }
        Handled::Fine
    }

    pub(crate) fn deliver(
        &mut self,
        now: Now,
        message: &Message<'_>,
        via: &Via<'_>,
        out: &mut Vec<u8>,
    ) -> Sent {
        if self.is_own_side(via) || !self.gate.may_send(message.subject) {
            return Sent::Withheld;
        }
        let may_have = |queue: &&&str| self.gate.may_send_to(message.subject, queue);
        let queues: Vec<&str> = via.queues.iter().filter(may_have).copied().collect();
        if !via.plain && queues.is_empty() {
            return Sent::Withheld;
        }
        let message = Message {
            header: if self.headers { message.header } else { &[] },
            ..*message
        };
        if self
            .peer_payload_max
            .is_some_and(|max| message.body_bytes() > max)
        {
            self.oversized += 1;
            return Sent::Withheld;
        }
        if let (Some(replies), Some(reply)) = (&mut self.replies, message.reply) {
            replies.asked(now.mono, reply);
        }
        encode::leaf_msg(out, &message, &queues);
        Sent::Sent
    }

    /// What the other end takes, if it said so.
    pub(crate) fn hub_payload_max(&self) -> Option<u64> {
        self.peer_payload_max.map(|most| most as u64)
    }

    pub(crate) const fn heard(&mut self) {
        self.pulse.heard();
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.pulse.deadline()
    }

    /// Pings; true when the line is dead.
    pub(crate) fn on_time(&mut self, now: Now, up: &mut dyn Upcalls) -> bool {
        match self.pulse.on_time(now.mono) {
            Beat::Wait => false,
            Beat::Ping => {
                encode::ping(up.out());
                false
            }
            Beat::Stale => true,
        }
    }

    /// How many messages were too large for the peer since the last call.
    pub(crate) const fn take_oversized(&mut self) -> u64 {
        let count = self.oversized;
        self.oversized = 0;
        count
    }

    pub(crate) const fn role(&self) -> Role {
        self.gate.role()
    }

    pub(crate) const fn peer(&self) -> &LinkPeer {
        &self.peer
    }

    pub(crate) fn account_name(&self) -> &str {
        &self.account_name
    }

    pub(crate) const fn rtt(&self) -> Option<Duration> {
        self.pulse.rtt()
    }

    /// How its connection is compressed.
    pub(crate) const fn compression(&self) -> &'static str {
        self.packs.name()
    }

    /// Filters that the peer wants, without groups.
    pub(crate) fn wanted(&self) -> Vec<String> {
        self.wanted
            .keys()
            .map(|key| key.split(' ').next().unwrap_or_default().to_owned())
            .collect()
    }

    fn collect(&self, up: &mut dyn Upcalls) -> Interests {
        let mut interests = Interests::default();
        up.each_interest(&mut |change| {
            if self.is_told(change) {
                interests.count(change.subject, change.queue, change.delta);
            }
        });
        interests.count(&self.loop_subject, None, 1);
        interests
    }

    pub(crate) const fn is_isolated(&self) -> bool {
        self.isolated
    }

    /// Whether interest from there may concern the peer.
    pub(crate) const fn hears_of(&self, source: Source) -> bool {
        let is_leaf = matches!(
            source,
            Source::Link {
                kind: LinkKind::Leaf,
                ..
            }
        );
        !(self.isolated && is_leaf)
    }

    /// spec: nats-server v2.15.1 `updateLeafNodesEx` and `updateSmap` in server/leafnode.go
    fn is_told(&self, change: &InterestChange<'_>) -> bool {
        if change.account != self.account
            || (change.origin_cluster == Some(&self.peer.cluster) && !self.peer.cluster.is_empty())
        {
            return false;
        }
        let told = match change.source {
            Source::Client(_) | Source::Internal => true,
            Source::Link { link, .. } if link == self.link => return false,
            // Of other leafnodes alone; what other servers want comes as it does to all.
            _ if !self.hears_of(change.source) => return false,
            Source::Link {
                kind: LinkKind::Leaf,
                is_hub,
                ..
            } => !(is_hub && self.role() == Role::Spoke),
            // What our hub sends stays at this server.
            Source::Link { .. } => self.role() == Role::Hub,
        };
        is_loop_subject(change.subject)
            || (told && self.gate.may_announce(change.subject, change.queue))
    }

    /// Split horizon: nothing goes back where it came from, nor to another server of that cluster.
    fn is_own_side(&self, via: &Via<'_>) -> bool {
        let from_here = match via.source {
            Source::Client(_) | Source::Internal => false,
            Source::Link { link, .. } if link == self.link => true,
            // Each server of a cluster has its own hub, and serves its own leafnodes.
            Source::Link {
                kind: LinkKind::Route,
                ..
            } => self.role() == Role::Spoke && !via.is_answer,
            Source::Link { .. } => false,
        };
        from_here || self.is_echo(via)
    }

    /// What came from the peer's cluster goes there no more, unless an import made it a message of
    /// another account: then only from one hub to another that may be the same.
    ///
    /// spec: nats-server v2.15.1 server/client.go `checkLeafEcho`; wire-4 section 14
    fn is_echo(&self, via: &Via<'_>) -> bool {
        let is_known = !self.peer.cluster.is_empty();
        let is_same = is_known && via.origin_cluster == Some(&self.peer.cluster);
        if !via.has_crossed {
            return is_same;
        }
        let from_hub = matches!(
            via.source,
            Source::Link {
                kind: LinkKind::Leaf,
                is_hub: true,
                ..
            }
        );
        let may_be_same = is_same || !is_known || via.origin_cluster.is_none();
        self.role() == Role::Spoke && from_hub && may_be_same
    }

    fn on_wanted(
        &mut self,
        subject: &str,
        queue: Option<(&str, u32)>,
        up: &mut dyn Upcalls,
    ) -> Handled {
        if subject == self.loop_subject {
            return Handled::Loop;
        }
        if !is_valid_filter(subject) {
            encode::err(up.out(), "Invalid Subscription");
            return Handled::Fine;
        }
        if self.gate.is_offence(subject) {
            return Handled::Offence(format!(
                "Permissions Violation for Subscription to \"{subject}\""
            ));
        }
        let queue = queue.map(|(name, weight)| (name, weight.max(1)));
        let key = key(subject, queue.map(|(name, _)| name));
        let weight = queue.map_or(1, |(_, weight)| weight);
        if self.wanted.len() >= PEER_SUBSCRIPTIONS_MAX && !self.wanted.contains_key(key.as_str()) {
            return Handled::TooMuch("maximum subscriptions exceeded");
        }
        if self.wanted.insert(key.into(), weight) != Some(weight) {
            up.subscribe(subject, queue);
        }
        Handled::Fine
    }

    fn on_unwanted(&mut self, subject: &str, queue: Option<&str>, up: &mut dyn Upcalls) {
        if self.wanted.remove(key(subject, queue).as_str()).is_some() {
            up.unsubscribe(subject, queue);
        }
    }

    fn on_message(
        &mut self,
        now: Now,
        message: &Message<'_>,
        queues: &[&str],
        up: &mut dyn Upcalls,
    ) -> Handled {
        if let Some(dest) = self.forbidden_trace(message) {
            if self.role() == Role::Hub {
                let text = format!("Permissions Violation for Publish to \"{dest}\"");
                encode::err(up.out(), &text);
            }
            return Handled::Fine;
        }
        let subject = message.subject;
        let reply = message.reply.filter(|it| !self.gate.may_be_answered(it));
        let closed = (!self.gate.is_open(subject)).then_some(subject);
        if let Some(closed) = closed.or(reply) {
            self.drop_closed(closed, up);
            return Handled::Fine;
        }
        let allowed = self.gate.may_receive(subject)
            || self
                .replies
                .as_mut()
                .is_some_and(|replies| replies.answer(now.mono, subject));
        match (allowed, self.role()) {
            (true, Role::Hub) => up.publish(message, queues),
            (true, Role::Spoke) => {
                let may_have = |queue: &&&str| self.gate.may_receive_for(subject, queue);
                let queues: Vec<&str> = queues.iter().filter(may_have).copied().collect();
                up.publish(message, &queues);
            }
            (false, Role::Spoke) => {}
            (false, Role::Hub) => {
                return Handled::Offence(format!(
                    "Permissions Violation for Publish to \"{subject}\""
                ));
            }
        }
        Handled::Fine
    }
}

/// How often the peer is asked for a sign of life, and how many may stay unanswered: as the
/// operator says if that is sooner, for a line that died is to be found soon whoever is silent.
pub(crate) fn pace(facts: &ServerFacts, own: (Duration, u32)) -> (Duration, u32) {
    if facts.ping_interval.is_zero() || facts.ping_interval >= own.0 {
        return own;
    }
    (facts.ping_interval, facts.pings_outstanding_max)
}

fn key(subject: &str, queue: Option<&str>) -> String {
    match queue {
        Some(queue) => format!("{subject} {queue}"),
        None => subject.to_owned(),
    }
}
