//! Messages to subscriptions of this server and its clients.
//! spec: nats-server v2.15.1 server/client.go `deliverMsg`.

use std::sync::Arc;

use frond_account::AccountId;
use frond_wire::{Message, MessageBuf, encode};

use crate::interest::{Owner, SubId, Tie};
use crate::publish::{Origin, Publication};
use crate::subscribe::permissions;
use crate::{Broker, Output};

/// What is the same for all receivers of a message.
pub(crate) struct Delivery<'a> {
    pub(crate) publication: &'a Publication<'a>,
    pub(crate) shown: Message<'a>,
    /// Whether it has the name of an import already.
    pub(crate) renamed: bool,
    /// Made when the first receiver inside this server is found.
    pub(crate) copy: Option<MessageBuf>,
    /// Messages and bytes for clients.
    pub(crate) sent: (u64, u64),
}

impl Broker {
    /// To one subscription of this server or its clients.
    pub(crate) fn deliver(&mut self, id: SubId, delivery: &mut Delivery<'_>) -> bool {
        let Some(sub) = self.subs.get_mut(id) else {
            return false;
        };
        if matches!(sub.tie, Tie::Shadow(_)) && !delivery.renamed {
            return self.deliver_imported(id, delivery);
        }
        match &sub.owner {
            Owner::Client { slot, .. } => {
                let slot = *slot;
                self.deliver_to_client(id, slot, delivery)
            }
            Owner::Internal(number) => {
                let number = *number;
                let account = match &sub.tie {
                    Tie::Shadow(shadow) => shadow.account,
                    Tie::None | Tie::Shadows(_) => sub.account,
                };
                sub.delivered += 1;
                self.deliver_internal(account, number, delivery);
                true
            }
            Owner::Link { .. } => false,
            Owner::Import(import) => {
                let (import, account) = (Arc::clone(import), sub.account);
                sub.delivered += 1;
                // The server it was sent to first did what imports want.
                if self.is_routed(delivery.publication.origin) {
                    return false;
                }
                self.request(&import, account, delivery.publication)
            }
            Owner::Responses => {
                let account = sub.account;
                sub.delivered += 1;
                self.respond(account, delivery.publication);
                true
            }
        }
    }

    fn deliver_to_client(&mut self, id: SubId, slot: u32, delivery: &mut Delivery<'_>) -> bool {
        if self.tracing.is_some()
            && let Some(outcome) = self.trace_to_client(id, slot, delivery)
        {
            return outcome;
        }
        let Some(sub) = self.subs.get_mut(id) else {
            return false;
        };
        let Owner::Client { sid, .. } = &sub.owner else {
            return false;
        };
        let no_echo = Origin::Client { slot, echo: false };
        if delivery.publication.origin == no_echo || (sub.max > 0 && sub.delivered >= sub.max) {
            return false;
        }
        let Some(connection) = self.conns.get_mut(slot) else {
            return false;
        };
        let waiting = connection.outbox.len();
        let Some(session) = connection.session_mut() else {
            return false;
        };
        let from_client = matches!(delivery.publication.origin, Origin::Client { .. });
        if from_client && self.limits.misses(waiting) {
            return false;
        }
        let mut shown = delivery.shown;
        let queue = sub.queue.as_deref();
        if sub.filtered
            && permissions(session).is_some_and(|p| !p.may_receive(shown.subject, queue))
        {
            return false;
        }
        shown.reply = shown
            .reply
            .map(|reply| session.show_reply(reply, self.now.mono));
        if !session.options.headers {
            shown.header = &[];
        }
        let expected = bytes_at_most(&shown, sid);
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
        for traffic in [&mut connection.traffic, &mut self.totals.traffic] {
            traffic.out_msgs += 1;
            traffic.out_bytes += bytes;
        }
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
        if self.traces {
            let sid = sid.clone();
            self.trace_msg(slot, &shown, &sid);
        }
        true
    }

    fn trace_msg(&mut self, slot: u32, shown: &Message<'_>, sid: &str) {
        let mut said = Vec::new();
        encode::msg(&mut said, shown, sid);
        self.trace_out(slot, &said);
    }

    fn deliver_internal(&mut self, account: AccountId, id: u64, delivery: &mut Delivery<'_>) {
        let from = self.source_of(delivery.publication.origin);
        let trace = self.trace_internal();
        let reply = delivery.shown.reply;
        let shown = Message {
            reply: reply.map(|reply| self.show_reply(account, reply)),
            ..delivery.shown
        };
        let copy = delivery
            .copy
            .get_or_insert_with(|| MessageBuf::copy_of(&shown));
        self.outputs.push_back(Output::Internal {
            account,
            id,
            message: copy.clone(),
            from,
            trace,
        });
    }
}

/// Verb, blanks and two sizes.
pub(crate) const HEAD_BYTES_MAX: usize = 64;

/// What a message takes on the wire.
fn bytes_at_most(shown: &Message<'_>, sid: &str) -> usize {
    let words = shown.subject.len() + sid.len() + shown.reply.map_or(0, str::len);
    HEAD_BYTES_MAX + words + shown.body_bytes()
}
