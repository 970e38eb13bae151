//! Which member of a queue group gets a message.
//! spec: nats-server v2.15.1 server/client.go `processMsgResults`, the part for queue groups.

use crate::deliver::Delivery;
use crate::interest::{Group, Owner, Remote, SubId};
use crate::publish::{Origin, Publication};
use crate::{Broker, LinkId, LinkKind, Source};

/// Who of a group was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// A member here, who has it.
    Member,
    /// Somebody behind this link.
    Link(LinkId),
    /// Nobody.
    Nobody,
}

/// How soon members at another server are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// Like members here.
    Equal,
    /// When nobody of those takes it.
    Later,
    /// When nobody else does.
    Last,
}

impl Broker {
    /// Chooses one, and delivers if it is here.
    pub(crate) fn deliver_to_group(
        &mut self,
        group: &Group,
        delivery: &mut Delivery<'_>,
    ) -> Chosen {
        if group.remote.is_empty() {
            return if self.deliver_to_member(group, delivery) {
                Chosen::Member
            } else {
                Chosen::Nobody
            };
        }
        let publication = delivery.publication;
        let equals = self.weigh(group, publication, &[], Rank::Equal);
        let here = group.local.len() as u64;
        let there_first = equals > 0 && self.rng.below(equals + here) < equals;
        if !there_first && self.deliver_to_member(group, delivery) {
            return Chosen::Member;
        }
        match self.pick_remote(group, publication, &[]) {
            Some(link) => Chosen::Link(link),
            None => Chosen::Nobody,
        }
    }

    /// A link with members of the group, by weight; never the origin nor one of `refused`.
    pub(crate) fn pick_remote(
        &mut self,
        group: &Group,
        publication: &Publication<'_>,
        refused: &[LinkId],
    ) -> Option<LinkId> {
        for rank in [Rank::Equal, Rank::Later, Rank::Last] {
            let total = self.weigh(group, publication, refused, rank);
            if total == 0 {
                continue;
            }
            let mut at = self.rng.below(total);
            for remote in &group.remote {
                if self.rank(remote, publication, refused) != Some(rank) {
                    continue;
                }
                let weight = u64::from(remote.weight);
                if at < weight {
                    return Some(remote.link);
                }
                at -= weight;
            }
        }
        None
    }

    fn weigh(
        &self,
        group: &Group,
        publication: &Publication<'_>,
        refused: &[LinkId],
        rank: Rank,
    ) -> u64 {
        let eligible = group
            .remote
            .iter()
            .filter(|remote| self.rank(remote, publication, refused) == Some(rank));
        eligible.map(|remote| u64::from(remote.weight)).sum()
    }

    /// `None`: not for this message.
    fn rank(
        &self,
        remote: &Remote,
        publication: &Publication<'_>,
        refused: &[LinkId],
    ) -> Option<Rank> {
        let origin = publication.origin;
        if origin == Origin::Link(remote.link) || refused.contains(&remote.link) {
            return None;
        }
        let source = self.source_of(origin);
        let (from, from_hub) = match source {
            Source::Client(_) | Source::Internal => (None, false),
            Source::Link { kind, is_hub, .. } => (Some(kind), is_hub),
        };
        // What an import carries into another account is new to the leafnode that it came from.
        let is_new = self.crosses_to(remote.link, publication);
        let back = |cluster: Option<&str>| {
            !is_new && cluster.is_some() && cluster == publication.leaf_cluster
        };
        match (remote.kind, from) {
            (LinkKind::Gateway, _) => None,
            (LinkKind::Leaf, _) if back(self.cluster_of(remote.link).as_deref()) => None,
            (LinkKind::Leaf, Some(LinkKind::Gateway)) => Some(Rank::Equal),
            (LinkKind::Leaf, _) => Some(Rank::Later),
            // What our hub sends is for this server alone.
            (LinkKind::Route, Some(LinkKind::Leaf)) if from_hub => None,
            (LinkKind::Route, _) if back(remote.origin.as_deref()) => None,
            // It has told us of members that have gone since, and we it: neither has one.
            (LinkKind::Route, Some(LinkKind::Route)) if self.is_its_server(remote.link, origin) => {
                None
            }
            (LinkKind::Route, Some(LinkKind::Route)) => Some(Rank::Last),
            (LinkKind::Route, _) if remote.origin.is_some() => Some(Rank::Later),
            (LinkKind::Route, _) => Some(Rank::Equal),
        }
    }

    /// Whether a link leads to the server that sent the message, though by another connection.
    fn is_its_server(&self, link: LinkId, origin: Origin) -> bool {
        let Origin::Link(from) = origin else {
            return false;
        };
        let peer = |link| Some(&self.links.get(&link)?.bound.as_ref()?.peer.server_id);
        peer(link) == peer(from)
    }

    /// One member of a queue group on this server, whoever takes it first from a random start.
    pub(crate) fn deliver_to_member(&mut self, group: &Group, delivery: &mut Delivery<'_>) -> bool {
        let count = group.local.len();
        if count == 0 {
            return false;
        }
        let start = match count {
            1 => 0,
            count => usize::try_from(self.rng.below(count as u64)).unwrap_or(0),
        };
        let (before, after) = group.local.split_at(start);
        let mut members = after.iter().chain(before);
        members.any(|id| !self.is_itself(*id, delivery) && self.deliver(*id, delivery))
    }

    /// This server asks itself: another member may answer better.
    fn is_itself(&self, id: SubId, delivery: &Delivery<'_>) -> bool {
        let owner = self.subs.get(id).map(|sub| &sub.owner);
        delivery.publication.origin == Origin::Internal && matches!(owner, Some(Owner::Internal(_)))
    }

    /// Whether it comes from a server with the same accounts.
    pub(crate) fn is_routed(&self, origin: Origin) -> bool {
        match origin {
            Origin::Link(link) => self.link_kind(link) != LinkKind::Leaf,
            Origin::Client { .. } | Origin::Internal => false,
        }
    }
}
