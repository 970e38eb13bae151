//! Whether a server that dialed may come in.
//! spec: nats-server v2.15.1 server/route.go `processRouteConnect`, server/auth.go `isRouterAuthorized`

use frond_broker::{Admission, LinkVerdict, REFUSED_CAUSE, REFUSED_TEXT, Upcalls};
use frond_clock::Instant;
use frond_wire::RouteConnect;

use super::{PROTOCOL_VIOLATION, Route, State, hello};

impl Route {
    pub(super) fn on_connect(&mut self, json: &[u8], until: Instant, up: &mut dyn Upcalls) {
        let Ok(connect) = RouteConnect::parse(json) else {
            return self.refuse(None, PROTOCOL_VIOLATION, up);
        };
        if !connect.lang.is_empty() {
            let text = "attempted to connect to route port";
            return self.refuse(Some(text), "Incorrect Port", up);
        }
        if !connect.gateway.is_empty() {
            let text = format!(
                "Rejecting connection from gateway {:?} on the Route port",
                connect.gateway
            );
            return self.refuse(Some(&text), "Wrong Gateway", up);
        }
        let admission = self.judge(connect, up);
        self.on_admission(admission, until, up);
    }

    pub(super) fn judge(&mut self, connect: RouteConnect, up: &mut dyn Upcalls) -> Admission {
        let cert = up.peer_cert();
        let entry = self.mesh.planned(|plan| {
            let (user, password) = (&connect.user, &connect.pass);
            plan.login.judge(user, password, cert.as_ref())
        });
        let compare = |hash: &str, password: &str| up.compare(hash, password);
        self.door.knock(connect, entry, compare)
    }

    /// Its password was compared.
    pub(super) fn on_verdict(&mut self, verdict: &LinkVerdict, up: &mut dyn Upcalls) {
        let admission = self.door.decide(verdict);
        match &self.state {
            State::AwaitingConnect { until } => {
                let until = *until;
                self.on_admission(admission, until, up);
            }
            State::AwaitingPeer { .. } | State::Up { .. } => {
                self.stays(admission, up);
            }
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::Waiting { .. }
            | State::Parked { .. }
            | State::Ended => {}
        }
    }

    fn on_admission(&mut self, admission: Admission, until: Instant, up: &mut dyn Upcalls) {
        match admission {
            Admission::Admitted(connect) => self.admit(connect, until, up),
            Admission::Refused => self.refuse(Some(REFUSED_TEXT), REFUSED_CAUSE, up),
            Admission::Pending => {}
        }
    }

    fn admit(&mut self, connect: Box<RouteConnect>, until: Instant, up: &mut dyn Upcalls) {
        let name = (connect.cluster.as_str(), connect.cluster_dynamic);
        if let Err(text) = hello::agree(&self.mesh, &connect.name, name, up) {
            return self.refuse(Some(&text), "Cluster Name Conflict", up);
        }
        self.caller = Some((connect, self.mesh.logins()));
        self.state = State::AwaitingPeer { until };
    }
}
