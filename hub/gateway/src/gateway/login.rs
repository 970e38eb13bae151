//! Whether a server that dialed may come in.
//! spec: nats-server v2.15.1 server/gateway.go `processGatewayConnect`, server/auth.go `isGatewayAuthorized`

use frond_broker::{Level, LinkVerdict, Upcalls};
use frond_clock::Instant;
use frond_wire::RouteConnect;

use super::{Gateway, State, WRONG_GATEWAY};
use crate::plan::Admission;

impl Gateway {
    pub(super) fn on_connect(&mut self, json: &[u8], until: Instant, up: &mut dyn Upcalls) {
        let Ok(connect) = RouteConnect::parse(json) else {
            return self.refuse(None, "Protocol Violation", up);
        };
        let cert = up.peer_cert();
        let admission = self
            .clusters
            .planned(|plan| plan.judge(&connect, cert.as_ref()));
        match admission {
            Admission::Yes => self.admit(&connect, until, up),
            Admission::No => self.reject(up),
            Admission::If(hash) => {
                up.compare(hash.expose(), &connect.pass);
                self.held = Some(Box::new(connect));
            }
        }
    }

    /// Its password was compared.
    pub(super) fn on_verdict(&mut self, verdict: &LinkVerdict, up: &mut dyn Upcalls) {
        let (Some(connect), State::AwaitingConnect { until }) = (self.held.take(), &self.state)
        else {
            return;
        };
        let until = *until;
        match verdict {
            LinkVerdict::Accepted { .. } => self.admit(&connect, until, up),
            LinkVerdict::Refused { .. } => self.reject(up),
        }
    }

    fn reject(&mut self, up: &mut dyn Upcalls) {
        self.refuse(
            Some("Authorization Violation"),
            "Authentication Failure",
            up,
        );
    }

    fn admit(&mut self, connect: &RouteConnect, until: Instant, up: &mut dyn Upcalls) {
        if connect.gateway.is_empty() {
            let text = "attempted to connect to gateway port";
            return self.refuse(Some(text), "Wrong Port", up);
        }
        let is_unknown = self
            .clusters
            .planned(|plan| plan.reject_unknown && !plan.names(&connect.gateway));
        if is_unknown {
            let text = format!(
                "gateway: Rejecting connection from gateway {:?}",
                connect.gateway
            );
            up.log(Level::Error, text);
            let own = self.clusters.planned(|plan| plan.name.clone());
            let text = format!("Connection to gateway {own:?} rejected");
            return self.refuse(Some(&text), WRONG_GATEWAY, up);
        }
        self.state = State::AwaitingPeer { until };
    }
}
