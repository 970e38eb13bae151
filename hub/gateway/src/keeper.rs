use frond_broker::{
    InterestChange, Link, LinkDetail, LinkKind, LinkStatus, LinkVerdict, Sent, Upcalls, Via,
};
use frond_clock::{Instant, Now};
use frond_wire::{Message, Op, ServerInfo};

use crate::clusters::{Clusters, News};

/// Hears of other clusters while there is no gateway yet; it never has a connection.
#[derive(Debug)]
pub struct Keeper {
    clusters: Clusters,
}

impl Keeper {
    pub(crate) const fn new(clusters: Clusters) -> Self {
        Self { clusters }
    }
}

/// Dials a cluster that was heard of, unless it is dialed already.
pub(crate) fn hear_of(clusters: &Clusters, name: &str, urls: &[String], up: &mut dyn Upcalls) {
    if clusters.hear_of(name, urls) == News::New {
        up.attach(clusters.gateway_to(name, false));
    }
}

impl Link for Keeper {
    fn kind(&self) -> LinkKind {
        LinkKind::Gateway
    }

    fn opened(&mut self, _now: Now, _up: &mut dyn Upcalls) {}

    fn heard(&mut self, _now: Now) {}

    fn on_op(&mut self, _now: Now, _op: &Op<'_>, _up: &mut dyn Upcalls) {}

    fn on_garbage(&mut self, _now: Now, _text: Option<&str>, _why: &str, _up: &mut dyn Upcalls) {}

    fn authenticated(&mut self, _now: Now, _verdict: LinkVerdict, _up: &mut dyn Upcalls) {}

    fn interest(&mut self, _now: Now, _change: &InterestChange<'_>, _up: &mut dyn Upcalls) {}

    fn deliver(
        &mut self,
        _now: Now,
        _message: &Message<'_>,
        _via: &Via<'_>,
        _out: &mut Vec<u8>,
    ) -> Sent {
        Sent::Withheld
    }

    fn cluster_told(&mut self, told: &ServerInfo, up: &mut dyn Upcalls) {
        hear_of(&self.clusters, &told.gateway, &told.gateway_urls, up);
    }

    fn closed(&mut self, _now: Now, _cause: &str, _up: &mut dyn Upcalls) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn on_time(&mut self, _now: Now, _up: &mut dyn Upcalls) {}

    fn status(&self) -> LinkStatus {
        LinkStatus {
            kind: "gateway",
            state: "disabled",
            compression: "off",
            detail: LinkDetail::Gateway(frond_broker::GatewayDetail::default()),
            ..LinkStatus::default()
        }
    }
}
