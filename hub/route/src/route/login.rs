//! Whether a server that dialed may come in.
//! spec: nats-server v2.15.1 server/route.go `processRouteConnect`, server/auth.go `isRouterAuthorized`

use frond_broker::{LinkVerdict, Upcalls};
use frond_clock::Instant;
use frond_wire::RouteConnect;

use super::{PROTOCOL_VIOLATION, Route, State, hello};
use crate::plan::Admission;

impl Route {
    pub(super) fn on_connect(&mut self, json: &[u8], until: Instant, up: &mut dyn Upcalls) {
        let Ok(connect) = RouteConnect::parse(json) else {
            return self.refuse(None, PROTOCOL_VIOLATION, up);
        };
        if !connect.lang.is_empty() {
            let text = "attempted to connect to route port";
            return self.refuse(Some(text), "Client attempted to connect to route port", up);
        }
        if !connect.gateway.is_empty() {
            let text = format!(
                "Rejecting connection from gateway {:?} on the Route port",
                connect.gateway
            );
            return self.refuse(Some(&text), "Wrong Gateway", up);
        }
        let cert = up.peer_cert();
        match self
            .mesh
            .planned(|plan| plan.judge(&connect, cert.as_ref()))
        {
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
        let name = (connect.cluster.as_str(), connect.cluster_dynamic);
        if let Err(text) = hello::agree(&self.mesh, &connect.name, name, up) {
            return self.refuse(Some(&text), "Cluster Name Conflict", up);
        }
        self.state = State::AwaitingPeer { until };
    }
}
