//! Messages to other servers.
//! spec: nats-server v2.15.1 server/client.go `processMsgResults`, the part for routes and leafnodes.

use std::rc::Rc;

use frond_wire::Message;

use crate::deliver::HEAD_BYTES_MAX;
use crate::interest::{Group, Matches};
use crate::publish::{Origin, Publication};
use crate::{Broker, LinkId, Sent, Via};

impl Broker {
    /// Each link once: for its plain subscriptions and for the groups it was picked for.
    pub(crate) fn deliver_to_links(
        &mut self,
        publication: &Publication<'_>,
        matches: &Rc<Matches>,
        picks: &[(LinkId, usize)],
    ) -> bool {
        let with_subject = publication.deliverable_reply();
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
            let import = matches.importing.iter().find(|(known, _)| *known == link);
            let here = import.map(|(_, import)| import.here(message.subject));
            let message = Message {
                subject: here.as_deref().unwrap_or(message.subject),
                ..message
            };
            match self.deliver_to_link(link, publication, &message, plain, &queues) {
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
            taken |= self.deliver_to_other(publication, &message, group, refused.clone());
        }
        taken
    }

    /// The link picked for a group refused: somebody else of the group, if there is one.
    fn deliver_to_other(
        &mut self,
        publication: &Publication<'_>,
        message: &Message<'_>,
        group: &Group,
        mut refused: Vec<LinkId>,
    ) -> bool {
        while let Some(link) = self.pick_remote(group, publication, &refused) {
            match self.deliver_to_link(link, publication, message, false, &[&group.name]) {
                Sent::Sent => return true,
                Sent::Withheld => refused.push(link),
            }
        }
        false
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
        let Some((slot, link)) = self.links.get_mut(&id).and_then(|slot| slot.ready()) else {
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
            is_answer: publication.hop.is_some_and(|hop| hop.is_answer),
            queues,
        };
        if from_client && self.limits.misses(connection.outbox.len()) {
            return Sent::Withheld;
        }
        let expected = HEAD_BYTES_MAX + message.subject.len() + message.body_bytes();
        let outbox_max = self.limits.outbox_max_of(&connection.kind);
        if connection.outbox.len() + expected > outbox_max {
            self.overrun.push(slot);
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
            connection.traffic.out_msgs += 1;
            connection.traffic.out_bytes += bytes;
            self.totals.traffic.out_msgs += 1;
            self.totals.traffic.out_bytes += bytes;
            self.totals.links.out_msgs += 1;
            self.totals.links.out_bytes += bytes;
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
