use std::collections::BTreeMap;
use std::time::Duration;

use frond_account::{AccountId, Credentials};
use frond_clock::{Instant, Now};
use frond_wire::{Message, Op, RouteOp, encode};

use crate::{
    InterestChange, Level, Link, LinkKind, LinkPeer, LinkStatus, LinkVerdict, Packing, Sent,
    Upcalls, Via,
};

/// Binds to `$G` as soon as it is connected, or when its credentials are good.
#[derive(Debug, Default)]
pub(super) struct Plain {
    /// What it stands for; a leafnode, unless somebody says otherwise.
    pub(super) other_kind: Option<LinkKind>,
    pub(super) cluster: &'static str,
    pub(super) credentials: Option<Credentials>,
    /// Subjects that the peer doesn't get.
    pub(super) withheld: Option<&'static str>,
    pub(super) counts: BTreeMap<(String, Option<String>), i32>,
    pub(super) redial: Option<Instant>,
    /// What `+OK` of the peer makes it agree on.
    pub(super) packs: Option<Packing>,
    /// Signs of life, shown as attempts.
    pub(super) heard: u64,
}

impl Plain {
    fn go_up(&self, account: AccountId, up: &mut dyn Upcalls) {
        let peer = LinkPeer {
            name: self.cluster.into(),
            server_id: self.cluster.into(),
            cluster: self.cluster.into(),
            ..LinkPeer::default()
        };
        up.bind(account, peer);
        if self.other_kind == Some(LinkKind::Gateway) {
            up.set_crossings(vec![up.link()]);
        }
    }

    fn snapshot(&mut self, up: &mut dyn Upcalls) {
        let mut lines = Vec::new();
        up.each_interest(&mut |change| self.count(change, &mut lines));
        up.out().extend_from_slice(&lines);
    }

    fn count(&mut self, change: &InterestChange<'_>, out: &mut Vec<u8>) {
        let key = (change.subject.to_owned(), change.queue.map(str::to_owned));
        let before = self.counts.get(&key).copied().unwrap_or(0);
        let after = before + change.delta;
        assert!(after >= 0, "{key:?} went to {after}");
        self.counts.insert(key, after);
        match (change.queue, before, after) {
            (Some(queue), _, 1..) => {
                let weight = u32::try_from(after).unwrap();
                encode::leaf_sub(out, change.subject, Some((queue, weight)));
            }
            (None, 0, 1..) => encode::leaf_sub(out, change.subject, None),
            (queue, 1.., 0) => encode::leaf_unsub(out, change.subject, queue),
            (_, _, _) => {}
        }
    }
}

impl Link for Plain {
    fn kind(&self) -> LinkKind {
        self.other_kind.unwrap_or(LinkKind::Leaf)
    }

    fn opened(&mut self, _: Now, up: &mut dyn Upcalls) {
        match self.credentials.clone() {
            Some(credentials) => up.authenticate(credentials, ""),
            None => {
                self.go_up(up.account("$G").unwrap(), up);
                self.snapshot(up);
            }
        }
    }

    fn heard(&mut self, _: Now) {
        self.heard += 1;
    }

    fn on_op(&mut self, _: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        match op {
            Op::LeafSubscribe { subject, queue }
            | Op::Route(RouteOp::Subscribe { subject, queue, .. }) => {
                up.subscribe(subject, *queue);
            }
            Op::LeafUnsubscribe { subject, queue } => up.unsubscribe(subject, *queue),
            Op::LeafMessage { message, queues }
            | Op::Route(RouteOp::Message {
                message, queues, ..
            }) => up.publish(message, queues),
            Op::Ping => encode::pong(up.out()),
            Op::Ok => {
                if let Some(packing) = self.packs {
                    up.pack(packing);
                }
            }
            // Stands for a peer that takes the place of all others.
            Op::Pong => {
                let mut others = Vec::new();
                up.each_peer(&mut |other, _, _| others.push(other));
                for other in others {
                    up.evict(other, "duplicate", "Duplicate Remote LeafNode Connection");
                }
            }
            Op::Info(_)
            | Op::Connect(_)
            | Op::Publish(_)
            | Op::Subscribe { .. }
            | Op::Unsubscribe { .. }
            | Op::Route(_)
            | Op::Err(_) => up.close("Protocol Violation"),
        }
    }

    fn on_garbage(&mut self, _: Now, err_text: Option<&str>, _: &str, up: &mut dyn Upcalls) {
        encode::err(up.out(), err_text.unwrap_or_default());
        up.close("Parse Error");
    }

    fn authenticated(&mut self, _: Now, verdict: LinkVerdict, up: &mut dyn Upcalls) {
        match verdict {
            LinkVerdict::Accepted { account, user, .. } => {
                up.log(Level::Info, format!("welcome {user}"));
                self.go_up(account, up);
                self.snapshot(up);
            }
            LinkVerdict::Refused { .. } => {
                encode::err(up.out(), "Authorization Violation");
                up.close("Authentication Failure");
            }
        }
    }

    fn interest(&mut self, _: Now, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        self.count(change, up.out());
    }

    fn deliver(&mut self, _: Now, message: &Message<'_>, via: &Via<'_>, out: &mut Vec<u8>) -> Sent {
        if self.withheld == Some(message.subject) || via.origin_cluster == Some(self.cluster) {
            return Sent::Withheld;
        }
        encode::leaf_msg(out, message, via.queues);
        Sent::Sent
    }

    fn closed(&mut self, now: Now, cause: &str, up: &mut dyn Upcalls) {
        up.log(Level::Info, format!("closed: {cause}"));
        self.counts.clear();
        self.redial = Some(now.mono + Duration::from_secs(1));
    }

    fn deadline(&self) -> Option<Instant> {
        self.redial
    }

    fn on_time(&mut self, _: Now, up: &mut dyn Upcalls) {
        self.redial = None;
        up.dial("hub", 7422, Duration::from_secs(1), None);
    }

    fn status(&self) -> LinkStatus {
        LinkStatus {
            attempts: self.heard,
            ..LinkStatus::default()
        }
    }
}
