//! The one path of every message.
//! spec: nats-server v2.15.1 server/client.go `processInboundClientMsg`, `processMsgResults`,
//! `deliverMsg`.

use std::rc::Rc;

use frond_account::AccountId;
use frond_subject::is_literal;
use frond_wire::{Message, MessageBuf, encode, headers};

use crate::broker::Ending;
use crate::connection::Kind;
use crate::interest::{Group, Matches, Owner, SubId};
use crate::subscribe::permissions;
use crate::{Broker, Level, LinkId, Output, Sent, Source, Via};

/// One message on its way.
pub(crate) struct Publication<'a> {
    pub(crate) account: AccountId,
    /// As it is matched, and as links get it.
    pub(crate) message: &'a Message<'a>,
    /// The subject that receivers on this server see instead.
    pub(crate) shown: Option<&'a str>,
    pub(crate) origin: Origin,
    /// The queue groups it is for; `None` is all.
    pub(crate) queues: Option<&'a [&'a str]>,
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Client { slot: u32, echo: bool },
    Internal,
    Link(LinkId),
}

impl Broker {
    pub(crate) fn client_publish(&mut self, slot: u32, message: &Message<'_>) {
        let now = self.now.mono;
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        let bytes = message.body_bytes() as u64;
        let traffic = &mut connection.traffic;
        let Kind::Client(session) = &mut connection.kind else {
            return;
        };
        session.last_in = now;
        let account = session.account;
        let echo = session.options.echo;
        let no_responders = session.options.no_responders;
        let (verbose, pedantic) = (session.options.verbose, session.options.pedantic);
        if !message.header.is_empty() && !session.options.headers {
            self.log_connection(slot, Level::Error, "message headers not supported");
            return self.begin_close(slot, "Protocol Violation", Ending::Wanted);
        }
        for traffic in [traffic, &mut self.totals.traffic] {
            traffic.in_msgs += 1;
            traffic.in_bytes += bytes;
        }
        // Subject mappings of the account come here: the mapped subject is what is checked.
        let allowed = !is_reserved(message.subject, &RESERVED_SUBJECTS)
            && session.may_publish(message.subject, now);
        if pedantic && !is_literal(message.subject) {
            self.write(slot, |out| encode::err(out, "Invalid Publish Subject"));
        }
        if !allowed {
            return self.publish_violation(slot, "to", message.subject);
        }
        if let Some(reply) = message.reply
            && is_reserved(reply, &RESERVED_REPLIES)
        {
            return self.publish_violation(slot, "with Reply of", reply);
        }
        if verbose {
            self.write(slot, encode::ok);
        }
        let taken = self.publish(&Publication {
            account,
            message,
            shown: None,
            origin: Origin::Client { slot, echo },
            queues: None,
        });
        if !taken
            && no_responders
            && let Some(reply) = message.reply
        {
            self.answer_no_responders(slot, account, message.subject, reply);
        }
    }

    /// Brings a message to everybody who wants it; whether anybody got it.
    pub(crate) fn publish(&mut self, publication: &Publication<'_>) -> bool {
        let message = publication.message;
        let Some(state) = self.accounts.get_mut(publication.account.0 as usize) else {
            return false;
        };
        state.traffic.in_msgs += 1;
        state.traffic.in_bytes += message.body_bytes() as u64;
        let matches = state.interest.matches(message.subject, &self.subs);
        if matches.is_empty() {
            return false;
        }
        let mut delivery = Delivery {
            publication,
            shown: Message {
                subject: publication.shown.unwrap_or(message.subject),
                ..*message
            },
            copy: None,
            sent: (0, 0),
        };
        let mut taken = false;
        for id in &matches.plain {
            taken |= self.deliver(*id, &mut delivery);
        }
        let mut picks = Vec::new();
        for (index, group) in matches.groups.iter().enumerate() {
            let named = publication.queues;
            if named.is_some_and(|named| !named.contains(&&*group.name)) {
                continue;
            }
            if self.deliver_to_member(group, &mut delivery) {
                taken = true;
            } else if let Some(link) = self.pick_remote(group, publication.origin, &[]) {
                picks.push((link, index));
            }
        }
        if !(matches.links.is_empty() && picks.is_empty()) {
            taken |= self.deliver_to_links(publication, &matches, &picks);
        }
        if let Some(state) = self.account_state(publication.account) {
            state.traffic.out_msgs += delivery.sent.0;
            state.traffic.out_bytes += delivery.sent.1;
        }
        taken
    }

    /// One member of a queue group on this server, whoever takes it first from a random start.
    fn deliver_to_member(&mut self, group: &Group, delivery: &mut Delivery<'_>) -> bool {
        let count = group.local.len();
        if count == 0 {
            return false;
        }
        let start = match count {
            1 => 0,
            count => usize::try_from(self.rng.below(count as u64)).unwrap_or(0),
        };
        let (before, after) = group.local.split_at(start);
        after
            .iter()
            .chain(before)
            .any(|id| self.deliver(*id, delivery))
    }

    /// To one subscription of this server or its clients.
    fn deliver(&mut self, id: SubId, delivery: &mut Delivery<'_>) -> bool {
        let Some(sub) = self.subs.get_mut(id) else {
            return false;
        };
        let (slot, sid) = match &sub.owner {
            Owner::Client { slot, sid } => (*slot, sid),
            Owner::Internal(number) => {
                let (number, account) = (*number, sub.account);
                sub.delivered += 1;
                self.deliver_internal(account, number, delivery);
                return true;
            }
            Owner::Link { .. } => return false,
        };
        let no_echo = Origin::Client { slot, echo: false };
        if delivery.publication.origin == no_echo || (sub.max > 0 && sub.delivered >= sub.max) {
            return false;
        }
        let Some(connection) = self.conns.get_mut(slot) else {
            return false;
        };
        let Some(session) = connection.session_mut() else {
            return false;
        };
        let mut shown = delivery.shown;
        if sub.filtered && permissions(session).is_some_and(|p| !p.may_receive(shown.subject)) {
            return false;
        }
        if let Some(reply) = shown.reply {
            session.track_reply(reply, self.now.mono);
        }
        if !session.options.headers {
            shown.header = &[];
        }
        let expected = HEAD_BYTES_MAX
            + shown.subject.len()
            + sid.len()
            + shown.reply.map_or(0, str::len)
            + shown.body_bytes();
        let waiting = connection.outbox.len() + expected;
        if waiting > self.limits.outbox_bytes_max {
            self.overrun.push(slot);
            return false;
        }
        self.stalled |= waiting > self.limits.outbox_bytes_max / 4 * 3;
        connection
            .outbox
            .append(expected, |out| encode::msg(out, &shown, sid));
        let bytes = shown.body_bytes() as u64;
        connection.traffic.out_msgs += 1;
        connection.traffic.out_bytes += bytes;
        self.totals.traffic.out_msgs += 1;
        self.totals.traffic.out_bytes += bytes;
        delivery.sent.0 += 1;
        delivery.sent.1 += bytes;
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push_back(slot);
        }
        sub.delivered += 1;
        if sub.delivered == sub.max {
            self.spent.push(id);
        }
        true
    }

    fn deliver_internal(&mut self, account: AccountId, id: u64, delivery: &mut Delivery<'_>) {
        let from = self.source_of(delivery.publication.origin);
        let copy = delivery
            .copy
            .get_or_insert_with(|| MessageBuf::copy_of(&delivery.shown));
        self.outputs.push_back(Output::Internal {
            account,
            id,
            message: copy.clone(),
            from,
        });
    }

    /// A link with members of the group, by weight; never the origin nor one of `refused`.
    fn pick_remote(&mut self, group: &Group, origin: Origin, refused: &[LinkId]) -> Option<LinkId> {
        let candidates = || {
            let eligible = |link: &LinkId| Origin::Link(*link) != origin && !refused.contains(link);
            group.remote.iter().filter(move |(link, _)| eligible(link))
        };
        let total: u64 = candidates().map(|(_, weight)| u64::from(*weight)).sum();
        if total == 0 {
            return None;
        }
        let mut at = self.rng.below(total);
        candidates().find_map(|(link, weight)| {
            let weight = u64::from(*weight);
            if at < weight {
                return Some(*link);
            }
            at -= weight;
            None
        })
    }

    /// Each link once: for its plain subscriptions and for the groups it was picked for.
    fn deliver_to_links(
        &mut self,
        publication: &Publication<'_>,
        matches: &Rc<Matches>,
        picks: &[(LinkId, usize)],
    ) -> bool {
        let with_subject = publication.shown.and_then(|shown| {
            let reply = publication.message.reply?;
            reply
                .starts_with(ACK_PREFIX)
                .then(|| format!("{reply}@{shown}"))
        });
        let message = Message {
            reply: with_subject.as_deref().or(publication.message.reply),
            ..*publication.message
        };
        let mut links = matches.links.clone();
        links.extend(picks.iter().map(|(link, _)| *link));
        links.sort_unstable();
        links.dedup();
        let mut refused = Vec::new();
        let mut taken = false;
        for link in links {
            if publication.origin == Origin::Link(link) {
                continue;
            }
            let mine = picks.iter().filter(|(picked, _)| *picked == link);
            let queues: Vec<&str> = mine
                .filter_map(|(_, index)| matches.groups.get(*index))
                .map(|group| &*group.name)
                .collect();
            let plain = matches.links.contains(&link);
            match self.deliver_to_link(link, publication.origin, &message, plain, &queues) {
                Sent::Sent => taken = true,
                Sent::Withheld => refused.push(link),
            }
        }
        for (link, index) in picks {
            let Some(group) = matches
                .groups
                .get(*index)
                .filter(|_| refused.contains(link))
            else {
                continue;
            };
            taken |= self.deliver_to_other(publication.origin, &message, group, refused.clone());
        }
        taken
    }

    /// The link picked for a group refused: somebody else of the group, if there is one.
    fn deliver_to_other(
        &mut self,
        origin: Origin,
        message: &Message<'_>,
        group: &Group,
        mut refused: Vec<LinkId>,
    ) -> bool {
        while let Some(link) = self.pick_remote(group, origin, &refused) {
            match self.deliver_to_link(link, origin, message, false, &[&group.name]) {
                Sent::Sent => return true,
                Sent::Withheld => refused.push(link),
            }
        }
        false
    }

    fn deliver_to_link(
        &mut self,
        id: LinkId,
        origin: Origin,
        message: &Message<'_>,
        plain: bool,
        queues: &[&str],
    ) -> Sent {
        let now = self.now;
        let source = self.source_of(origin);
        let cluster = match origin {
            Origin::Link(from) => self.cluster_of(from),
            Origin::Client { .. } | Origin::Internal => None,
        };
        let Some((slot, link)) = self.links.get_mut(&id).and_then(|slot| slot.ready()) else {
            return Sent::Withheld;
        };
        let Some(connection) = self.conns.get_mut(slot) else {
            return Sent::Withheld;
        };
        let via = Via {
            source,
            origin_cluster: cluster.as_deref(),
            plain,
            queues,
        };
        let expected = HEAD_BYTES_MAX + message.subject.len() + message.body_bytes();
        if connection.outbox.len() + expected > self.limits.outbox_bytes_max {
            self.overrun.push(slot);
            return Sent::Withheld;
        }
        let sent = connection
            .outbox
            .append(expected, |out| link.deliver(now, message, &via, out));
        if sent == Sent::Sent {
            let bytes = message.body_bytes() as u64;
            connection.traffic.out_msgs += 1;
            connection.traffic.out_bytes += bytes;
            self.totals.traffic.out_msgs += 1;
            self.totals.traffic.out_bytes += bytes;
            self.totals.links.out_msgs += 1;
            self.totals.links.out_bytes += bytes;
            self.stalled |= connection.outbox.len() > self.limits.outbox_bytes_max / 4 * 3;
        }
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push_back(slot);
        }
        sent
    }

    /// 503 to the client itself, when it listens on the reply subject.
    fn answer_no_responders(&mut self, slot: u32, account: AccountId, subject: &str, reply: &str) {
        let Some(state) = self.accounts.get_mut(account.0 as usize) else {
            return;
        };
        let matches = state.interest.matches(reply, &self.subs);
        let sid = matches
            .plain
            .iter()
            .find_map(|id| match &self.subs.get(*id)?.owner {
                Owner::Client { slot: owner, sid } if *owner == slot => Some(sid.clone()),
                Owner::Client { .. } | Owner::Internal(_) | Owner::Link { .. } => None,
            });
        if let Some(sid) = sid {
            let header = headers::no_responders(subject);
            let message = Message {
                subject: reply,
                reply: None,
                header: &header,
                payload: &[],
            };
            self.write(slot, |out| encode::msg(out, &message, &sid));
        }
    }

    fn publish_violation(&mut self, slot: u32, what: &str, subject: &str) {
        let text = format!("Permissions Violation for Publish {what} \"{subject}\"");
        self.log_connection(slot, Level::Error, &text);
        self.write(slot, |out| encode::err(out, &text));
    }

    pub(crate) fn source_of(&self, origin: Origin) -> Source {
        match origin {
            Origin::Client { slot, .. } => {
                let conn = self.conns.get(slot).map(|connection| connection.conn);
                conn.map_or(Source::Internal, Source::Client)
            }
            Origin::Internal => Source::Internal,
            Origin::Link(link) => self.link_source(link),
        }
    }
}

/// What is the same for all receivers of a message.
struct Delivery<'a> {
    publication: &'a Publication<'a>,
    shown: Message<'a>,
    /// Made when the first receiver inside this server is found.
    copy: Option<MessageBuf>,
    /// Messages and bytes for clients.
    sent: (u64, u64),
}

fn is_reserved(subject: &str, prefixes: &[&str]) -> bool {
    matches!(subject.as_bytes().first(), Some(b'_' | b'$'))
        && prefixes.iter().any(|prefix| subject.starts_with(prefix))
}

/// No client publishes here.
const RESERVED_SUBJECTS: [&str; 2] = ["_GR_.", "$NRG."];

/// No client wants answers here.
const RESERVED_REPLIES: [&str; 3] = ["_R_.", ACK_PREFIX, "_GR_."];

/// Replies of JetStream deliveries.
pub(crate) const ACK_PREFIX: &str = "$JS.ACK.";

/// Verb, blanks and two sizes.
const HEAD_BYTES_MAX: usize = 64;
