//! Whether a server that dialed may come in.
//! spec: nats-server v2.15.1 server/gateway.go `processGatewayConnect`, server/auth.go `isGatewayAuthorized`

use frond_broker::{Admission, Level, LinkVerdict, REFUSED_CAUSE, REFUSED_TEXT, Upcalls};
use frond_clock::Instant;
use frond_wire::RouteConnect;

use super::{Gateway, State, WRONG_GATEWAY};
use crate::plan::Plan;

impl Gateway {
    pub(super) fn on_connect(&mut self, json: &[u8], until: Instant, up: &mut dyn Upcalls) {
        let Ok(connect) = RouteConnect::parse(json) else {
            return self.refuse(None, "Protocol Violation", up);
        };
        let cert = up.peer_cert();
        let entry = self.clusters.planned(|plan| {
            let (user, password) = (&connect.user, &connect.pass);
            plan.login.judge(user, password, cert.as_ref())
        });
        let compare = |hash: &str, password: &str| up.compare(hash, password);
        let admission = self.door.knock(connect, entry, compare);
        self.on_admission(admission, until, up);
    }

    /// Its password was compared.
    pub(super) fn on_verdict(&mut self, verdict: &LinkVerdict, up: &mut dyn Upcalls) {
        let admission = self.door.decide(verdict);
        if let State::AwaitingConnect { until } = &self.state {
            let until = *until;
            self.on_admission(admission, until, up);
        }
    }

    fn on_admission(&mut self, admission: Admission, until: Instant, up: &mut dyn Upcalls) {
        match admission {
            Admission::Admitted(connect) => self.admit(&connect, until, up),
            Admission::Refused => self.refuse(Some(REFUSED_TEXT), REFUSED_CAUSE, up),
            Admission::Pending => {}
        }
    }

    fn admit(&mut self, connect: &RouteConnect, until: Instant, up: &mut dyn Upcalls) {
        if connect.gateway.is_empty() {
            let text = "attempted to connect to gateway port";
            return self.refuse(Some(text), "Incorrect Port", up);
        }
        if self.is_welcome(&connect.gateway, up) {
            self.state = State::AwaitingPeer { until };
        }
    }

    /// Whether a cluster of this name may call; else it is told.
    pub(super) fn is_welcome(&mut self, cluster: &str, up: &mut dyn Upcalls) -> bool {
        let is_unknown = |plan: &Plan| plan.reject_unknown && !plan.names(cluster);
        if !self.clusters.planned(is_unknown) {
            return true;
        }
        let text = format!("Rejecting connection from gateway {cluster:?}");
        up.log_peer(Level::Error, &text);
        let own = self.clusters.planned(|plan| plan.name.clone());
        let text = format!("Connection to gateway {own:?} rejected");
        self.refuse(Some(&text), WRONG_GATEWAY, up);
        false
    }
}
