//! Links that are wrong on purpose: the world has to notice each of them.

use std::collections::BTreeMap;

use frond_account::AccountId;
use frond_broker::{
    InterestChange, Link, LinkKind, LinkStatus, LinkVerdict, Sent, Source, Upcalls, Via,
};
use frond_clock::{Instant, Now};
use frond_wire::{Message, Op, RouteOp, ServerInfo, encode};

use super::topics::ACCOUNTS;

/// Which links the servers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The real ones.
    Sound,
    /// What came from one server of a cluster goes on to the others.
    Hopping,
    /// Others are never told that interest ended.
    Clinging,
    /// A link that was up and ended is not dialed again.
    Resting,
    /// A message from another cluster is for all queue groups of this one.
    Grabbing,
}

impl Variant {
    pub(super) fn wrap(self, link: Box<dyn Link>) -> Box<dyn Link> {
        match self {
            Self::Sound => link,
            Self::Hopping | Self::Clinging | Self::Resting | Self::Grabbing => Box::new(Broken {
                variant: self,
                link,
                has_been_up: false,
                names: BTreeMap::new(),
            }),
        }
    }
}

#[derive(Debug)]
struct Broken {
    variant: Variant,
    link: Box<dyn Link>,
    has_been_up: bool,
    names: BTreeMap<AccountId, &'static str>,
}

impl Link for Broken {
    fn kind(&self) -> LinkKind {
        self.link.kind()
    }

    fn opened(&mut self, now: Now, up: &mut dyn Upcalls) {
        let known = ACCOUNTS
            .iter()
            .filter_map(|name| Some((up.account(name)?, *name)));
        self.names = known.collect();
        self.link.opened(now, up);
    }

    fn secured(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.link.secured(now, up);
    }

    fn heard(&mut self, now: Now) {
        self.link.heard(now);
    }

    fn on_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        let grabs = self.variant == Variant::Grabbing && self.kind() == LinkKind::Gateway;
        if let Op::Route(RouteOp::Message {
            account,
            origin,
            message,
            queues,
        }) = op
            && grabs
            && queues.is_empty()
        {
            let all = RouteOp::Message {
                account: *account,
                origin: *origin,
                message: *message,
                queues: vec!["q1", "q2"],
            };
            return self.link.on_op(now, &Op::Route(all), up);
        }
        self.link.on_op(now, op, up);
        self.has_been_up |= self.link.status().state == "up";
    }

    fn on_garbage(&mut self, now: Now, err_text: Option<&str>, why: &str, up: &mut dyn Upcalls) {
        self.link.on_garbage(now, err_text, why, up);
    }

    fn authenticated(&mut self, now: Now, verdict: LinkVerdict, up: &mut dyn Upcalls) {
        self.link.authenticated(now, verdict, up);
    }

    fn interest(&mut self, now: Now, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        if self.variant != Variant::Clinging || change.delta > 0 {
            self.link.interest(now, change, up);
        }
    }

    fn hears_of(&self, source: Source) -> bool {
        self.link.hears_of(source)
    }

    fn deliver(
        &mut self,
        now: Now,
        message: &Message<'_>,
        via: &Via<'_>,
        out: &mut Vec<u8>,
    ) -> Sent {
        let sent = self.link.deliver(now, message, via, out);
        let routed = matches!(
            via.source,
            Source::Link {
                kind: LinkKind::Route,
                ..
            }
        );
        let hops = self.variant == Variant::Hopping && self.kind() == LinkKind::Route && routed;
        match self.names.get(&via.account) {
            Some(name) if hops && sent == Sent::Withheld => {
                encode::route_msg(out, Some(name), None, message, via.queues);
                Sent::Sent
            }
            Some(_) | None => sent,
        }
    }

    fn takes_unasked(&self, account: AccountId, subject: &str) -> bool {
        self.link.takes_unasked(account, subject)
    }

    fn cluster_told(&mut self, told: &ServerInfo, up: &mut dyn Upcalls) {
        self.link.cluster_told(told, up);
    }

    fn neighbours_changed(&mut self, up: &mut dyn Upcalls) {
        self.link.neighbours_changed(up);
    }

    fn accounts_changed(&mut self, up: &mut dyn Upcalls) {
        self.link.accounts_changed(up);
    }

    fn reconfigured(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.link.reconfigured(now, up);
    }

    fn leaving(&mut self, up: &mut dyn Upcalls) {
        self.link.leaving(up);
    }

    fn offered(&mut self, up: &mut dyn Upcalls) {
        self.link.offered(up);
    }

    fn closed(&mut self, now: Now, cause: &str, up: &mut dyn Upcalls) {
        self.link.closed(now, cause, up);
    }

    fn deadline(&self) -> Option<Instant> {
        let rests = self.variant == Variant::Resting && self.has_been_up;
        if rests && self.link.status().state == "waiting" {
            return None;
        }
        self.link.deadline()
    }

    fn on_time(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.link.on_time(now, up);
    }

    fn status(&self) -> LinkStatus {
        self.link.status()
    }
}
