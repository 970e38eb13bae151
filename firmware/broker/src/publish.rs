//! The one path of every message.
//! spec: nats-server v2.15.1 server/client.go `processInboundClientMsg`, `processMsgResults`,
//! `deliverMsg`.

use frond_account::{AccountId, Mapped};
use frond_clock::Instant;
use frond_subject::is_literal;
use frond_wire::{Message, encode, headers};

use crate::broker::Ending;
use crate::connection::{Connection, Kind};
use crate::deliver::Delivery;
use crate::groups::Chosen;
use crate::interest::Owner;
use crate::mapped_reply::bare;
use crate::requests::Hop;
use crate::slab::Slab;
use crate::{Broker, Level, LinkId, Source, TraceStep};

/// One message on its way.
pub(crate) struct Publication<'a> {
    pub(crate) account: AccountId,
    /// As it is matched, and as links get it.
    pub(crate) message: &'a Message<'a>,
    /// The subject that receivers on this server see instead.
    pub(crate) shown: Option<&'a str>,
    pub(crate) origin: Origin,
    /// The cluster of the leafnode it came from, here or at a server of our cluster.
    pub(crate) leaf_cluster: Option<&'a str>,
    /// The queue groups it is for; `None` is all.
    pub(crate) queues: Option<&'a [&'a str]>,
    /// The accounts it came through.
    pub(crate) hop: Option<&'a Hop<'a>>,
    /// Whether it answers who asked from another account or cluster.
    pub(crate) is_answer: bool,
}

impl<'a> Publication<'a> {
    /// For all queue groups, as it is.
    pub(crate) const fn new(account: AccountId, message: &'a Message<'a>, origin: Origin) -> Self {
        Self {
            account,
            message,
            shown: None,
            origin,
            leaf_cluster: None,
            queues: None,
            hop: None,
            is_answer: false,
        }
    }

    /// A consumer's delivery tells other servers in its reply which subject to show.
    pub(crate) fn deliverable_reply(&self) -> Option<String> {
        let (shown, reply) = (self.shown?, self.message.reply?);
        let is_ack = bare(reply).starts_with(ACK_PREFIX);
        is_ack.then(|| format!("{reply}@{shown}"))
    }
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
        if !message.header.is_empty() && !session.options.headers {
            self.log_connection(slot, Level::Error, "message headers not supported");
            return self.begin_close(slot, "Protocol Violation", Ending::Wanted);
        }
        // spec: nats-server v2.15.1 server/client.go `processInboundClientMsg`: before it is
        // looked at whether it may be sent.
        let of_account = self.accounts.get_mut(account.0 as usize);
        let of_account = of_account.map(|state| &mut state.traffic);
        let all = [Some(traffic), Some(&mut self.totals.traffic), of_account];
        for traffic in all.into_iter().flatten() {
            traffic.in_msgs += 1;
            traffic.in_bytes += bytes;
        }
        let origin = Origin::Client { slot, echo };
        if message.header.is_empty() {
            return self.client_message(slot, account, origin, message);
        }
        if let Some(header) = self.begin_trace(origin, account, message) {
            let message = Message {
                header: &header,
                ..*message
            };
            self.client_message(slot, account, origin, &message);
            self.finish_trace();
        }
    }

    /// A message that is to be let in if the client may send it.
    fn client_message(
        &mut self,
        slot: u32,
        account: AccountId,
        origin: Origin,
        message: &Message<'_>,
    ) {
        let now = self.now.mono;
        let renamed = self.renamed(account, message.subject);
        let given = message.subject;
        let message = &Message {
            subject: renamed.as_deref().unwrap_or(message.subject),
            ..*message
        };
        let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) else {
            return;
        };
        let (verbose, pedantic) = (session.options.verbose, session.options.pedantic);
        let no_responders = session.options.no_responders;
        let allowed = !is_reserved(message.subject, &RESERVED_SUBJECTS)
            && session.may_publish(message.subject, now);
        if pedantic && !is_literal(given) {
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
        let mapped = session_reply(&self.conns, slot, message.subject, now);
        let taken = match mapped {
            Some(mapped) => {
                let message = Message {
                    subject: &mapped,
                    ..*message
                };
                self.publish_mapped(&Publication::new(account, &message, origin));
                true
            }
            None => self.publish(&Publication::new(account, message, origin)),
        };
        if !taken
            && no_responders
            && let Some(reply) = message.reply
        {
            self.answer_no_responders(slot, account, message.subject, reply);
        }
    }

    /// What an account calls `subject`, if not by this name; nothing wants the empty name of what
    /// is lost.
    pub(crate) fn renamed(&mut self, account: AccountId, subject: &str) -> Option<String> {
        let renamed = match self.mapped(account, subject)? {
            Mapped::To(subject) => subject,
            Mapped::Lost => String::new(),
        };
        if self.tracing.is_some() {
            self.trace_step(TraceStep::Mapped {
                to: renamed.clone(),
            });
        }
        Some(renamed)
    }

    /// Brings a message to everybody who wants it; whether anybody got it.
    pub(crate) fn publish(&mut self, publication: &Publication<'_>) -> bool {
        let crosses = self.crosses(publication.origin);
        self.publish_to(publication, crosses)
    }

    /// The same, to other clusters or not.
    pub(crate) fn publish_to(&mut self, publication: &Publication<'_>, crosses: bool) -> bool {
        let message = publication.message;
        self.count_in(publication);
        let Some(state) = self.accounts.get_mut(publication.account.0 as usize) else {
            return false;
        };
        let matches = state.interest.matches(message.subject, &self.subs);
        if message.subject.is_empty() || (matches.is_empty() && !crosses) {
            return false;
        }
        let mut delivery = Delivery {
            publication,
            shown: Message {
                subject: publication.shown.unwrap_or(message.subject),
                ..*message
            },
            renamed: false,
            copy: None,
            sent: (0, 0),
        };
        let mut taken = false;
        for id in &matches.plain {
            taken |= self.deliver(*id, &mut delivery);
        }
        let (mut picks, mut served) = (Vec::new(), Vec::new());
        for (index, group) in matches.groups.iter().enumerate() {
            let named = publication.queues;
            if named.is_some_and(|named| !named.contains(&&*group.name)) {
                continue;
            }
            match self.deliver_to_group(group, &mut delivery) {
                Chosen::Member => taken = true,
                Chosen::Link(link) => picks.push((link, index)),
                Chosen::Nobody => continue,
            }
            if crosses {
                served.push(index);
            }
        }
        if !(matches.links.is_empty() && picks.is_empty()) {
            let (sent, unserved) = self.deliver_to_links(publication, &matches, &picks);
            taken |= sent;
            // Refused by who was picked: for those who were not, here or in another cluster.
            for index in unserved {
                let group = matches.groups.get(index);
                if group.is_some_and(|group| self.deliver_to_member(group, &mut delivery)) {
                    taken = true;
                } else {
                    served.retain(|one| *one != index);
                }
            }
        }
        if crosses {
            taken |= self.cross(publication, &matches, served);
        }
        if let Some(state) = self.account_state(publication.account) {
            state.traffic.out_msgs += delivery.sent.0;
            state.traffic.out_bytes += delivery.sent.1;
        }
        taken
    }

    /// What came from another server counts for the account it was said in, and by the kind of
    /// that server there too. What a client says was counted when it came.
    fn count_in(&mut self, publication: &Publication<'_>) {
        if publication.hop.is_some() {
            return;
        }
        let Origin::Link(link) = publication.origin else {
            return;
        };
        let kind = self.link_kind(link);
        let bytes = publication.message.body_bytes() as u64;
        if let Some(state) = self.account_state(publication.account) {
            for traffic in [&mut state.traffic, state.by_peer.of(kind)] {
                traffic.in_msgs += 1;
                traffic.in_bytes += bytes;
            }
        }
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
                Owner::Client { .. }
                | Owner::Internal(_)
                | Owner::Link { .. }
                | Owner::Import(_)
                | Owner::Responses => None,
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

    pub(crate) fn publish_violation(&mut self, slot: u32, what: &str, subject: &str) {
        let text = format!("Permissions Violation for Publish {what} \"{subject}\"");
        self.trace_refusal(&text);
        let named = if what == "to" { "Subject" } else { "Reply" };
        let logged = format!("Publish Violation - {named} \"{subject}\"");
        self.log_connection(slot, Level::Error, &logged);
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

/// Where an answer of a client goes that was shown a mapped reply.
fn session_reply(
    conns: &Slab<Connection>,
    slot: u32,
    subject: &str,
    now: Instant,
) -> Option<String> {
    let shown = conns.get(slot)?.session()?.shown_replies.as_ref()?;
    Some(shown.find(subject, now)?.to_owned())
}

fn is_reserved(subject: &str, prefixes: &[&str]) -> bool {
    let fits = |prefix: &&str| {
        // As nats-server, which lets most of the bare prefixes pass.
        let is_whole = subject.len() > prefix.len() || ["_R_.", "$NRG."].contains(prefix);
        is_whole && subject.starts_with(*prefix)
    };
    matches!(subject.as_bytes().first(), Some(b'_' | b'$')) && prefixes.iter().any(fits)
}

/// No client publishes here.
const RESERVED_SUBJECTS: [&str; 3] = ["_GR_.", "$GR.", "$NRG."];

/// No client wants answers here.
const RESERVED_REPLIES: [&str; 4] = ["_R_.", ACK_PREFIX, "_GR_.", "$GR."];

/// Replies of JetStream deliveries.
pub(crate) const ACK_PREFIX: &str = "$JS.ACK.";
