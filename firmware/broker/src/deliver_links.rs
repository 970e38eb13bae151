//! Messages to other servers.
//! spec: nats-server v2.15.1 server/client.go `processMsgResults`, the part for routes and leafnodes.

use std::rc::Rc;

use frond_wire::Message;

use crate::deliver::HEAD_BYTES_MAX;
use crate::interest::{Group, Matches};
use crate::publish::{Origin, Publication};
use crate::{Broker, LinkId, LinkKind, Sent, Traffic, Via};

impl Broker {
    /// Each link once: for its plain subscriptions and for the groups it was picked for. Whether
    /// one took it, and the groups that no link took it for.
    pub(crate) fn deliver_to_links(
        &mut self,
        publication: &Publication<'_>,
        matches: &Rc<Matches>,
        picks: &[(LinkId, usize)],
    ) -> (bool, Vec<usize>) {
        let with_subject = publication.deliverable_reply();
        let message = Message {
            reply: with_subject.as_deref().or(publication.message.reply),
            ..*publication.message
        };
        let is_elsewhere = |link: &LinkId| publication.origin != Origin::Link(*link);
        let mut pending: Vec<_> = picks.to_vec();
        pending.retain(|(link, _)| is_elsewhere(link));
        let (mut asked, mut closed, mut unserved) = (Vec::new(), Vec::new(), Vec::new());
        let mut taken = false;
        while let Some(link) = self.next_picked(&pending) {
            let (mine, others) = pending.iter().partition(|(picked, _)| *picked == link);
            pending = others;
            let mine: Vec<(LinkId, usize)> = mine;
            let groups = mine.iter().filter_map(|(_, at)| matches.groups.get(*at));
            let groups: Vec<&Group> = groups.collect();
            let queues: Vec<&str> = groups.iter().map(|group| &*group.name).collect();
            let plain = !asked.contains(&link) && matches.links.contains(&link);
            let sent = self.deliver_here(link, publication, &message, matches, (plain, &queues));
            asked.push(link);
            taken |= sent == Sent::Sent;
            if plain || sent == Sent::Withheld {
                closed.push(link);
            }
            if sent == Sent::Withheld {
                // Somebody else of the groups, who doesn't have it already for plain subscriptions.
                for (group, (_, at)) in groups.iter().zip(&mine) {
                    match self.pick_remote(group, publication, &closed) {
                        Some(other) => pending.push((other, *at)),
                        None => unserved.push(*at),
                    }
                }
            }
        }
        let plain = matches.links.iter();
        for link in plain.filter(|link| is_elsewhere(link) && !asked.contains(link)) {
            let sent = self.deliver_here(*link, publication, &message, matches, (true, &[]));
            taken |= sent == Sent::Sent;
        }
        (taken, unserved)
    }

    /// Of the links that were picked for groups first the leafnodes: they may refuse, and a server
    /// that is picked instead is to get the message once.
    fn next_picked(&self, pending: &[(LinkId, usize)]) -> Option<LinkId> {
        let links = pending.iter().map(|(link, _)| *link);
        links.min_by_key(|link| (self.link_kind(*link) != LinkKind::Leaf, *link))
    }

    /// Under the name that the subject has where the link is bound.
    fn deliver_here(
        &mut self,
        link: LinkId,
        publication: &Publication<'_>,
        message: &Message<'_>,
        matches: &Matches,
        (plain, queues): (bool, &[&str]),
    ) -> Sent {
        let import = matches.importing.iter().find(|(known, _)| *known == link);
        let here = import.map(|(_, import)| import.here(message.subject));
        let message = Message {
            subject: here.as_deref().unwrap_or(message.subject),
            ..*message
        };
        self.deliver_to_link(link, publication, &message, plain, queues)
    }

    pub(crate) fn deliver_to_link(
        &mut self,
        id: LinkId,
        publication: &Publication<'_>,
        message: &Message<'_>,
        plain: bool,
        queues: &[&str],
    ) -> Sent {
        if self.tracing.is_none() {
            return self.write_to_link(id, publication, message, plain, queues);
        }
        let header = self.trace_hop(message.header);
        let message = Message {
            header: &header,
            ..*message
        };
        let sent = self.write_to_link(id, publication, &message, plain, queues);
        self.trace_to_link(id, publication.origin, sent);
        sent
    }

    fn write_to_link(
        &mut self,
        id: LinkId,
        publication: &Publication<'_>,
        message: &Message<'_>,
        plain: bool,
        queues: &[&str],
    ) -> Sent {
        let now = self.now;
        let from_client = matches!(publication.origin, Origin::Client { .. });
        let source = self.source_of(publication.origin);
        let has_crossed = self.crosses_to(id, publication);
        let Some(known) = self.links.get_mut(&id) else {
            return Sent::Withheld;
        };
        let kind = known.kind;
        let Some((slot, link)) = known.ready() else {
            return Sent::Withheld;
        };
        let Some(connection) = self.conns.get_mut(slot) else {
            return Sent::Withheld;
        };
        let via = Via {
            account: publication.account,
            source,
            origin_cluster: publication.leaf_cluster,
            plain,
            is_answer: publication.is_answer,
            has_crossed,
            queues,
        };
        if from_client && self.limits.misses(connection.outbox.len()) {
            return Sent::Withheld;
        }
        let expected = HEAD_BYTES_MAX + message.subject.len() + message.body_bytes();
        let outbox_max = self.limits.outbox_max_of(&connection.kind);
        // A line slower than what is said stays: what no longer fits is lost, the newest first.
        if connection.outbox.len() + expected > outbox_max {
            let totals = &mut self.totals;
            for traffic in [
                &mut connection.traffic,
                &mut totals.traffic,
                &mut totals.links,
            ] {
                traffic.shed += 1;
                traffic.shed_bytes += message.body_bytes() as u64;
            }
            return Sent::Withheld;
        }
        let (mut said, traces) = (Vec::new(), self.traces);
        let sent = connection.outbox.append(expected, |out| {
            let start = out.len();
            let sent = link.deliver(now, message, &via, out);
            if traces {
                said.extend_from_slice(out.get(start..).unwrap_or_default());
            }
            sent
        });
        if sent == Sent::Sent {
            let bytes = message.body_bytes() as u64;
            count_out(&mut connection.traffic, bytes);
            count_out(&mut self.totals.traffic, bytes);
            count_out(&mut self.totals.links, bytes);
            if let Some(state) = self.accounts.get_mut(publication.account.0 as usize) {
                count_out(&mut state.traffic, bytes);
                count_out(state.by_peer.of(kind), bytes);
            }
            self.stalled |= connection.outbox.len() > outbox_max / 4 * 3;
        }
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push_back(slot);
        }
        if !said.is_empty() {
            self.trace_out(slot, &said);
        }
        sent
    }
}

const fn count_out(traffic: &mut Traffic, bytes: u64) {
    traffic.out_msgs += 1;
    traffic.out_bytes += bytes;
}
