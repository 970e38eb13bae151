//! Clients that are here already, judged by a new configuration as if they came again.
//! spec: nats-server v2.15.1 server/reload.go `reloadAuthorization`, server/auth.go
//! `isClientAuthorized`.

use std::sync::Arc;

use frond_account::{
    Access, Answer, Credentials, Identity, PeerKind, Refusal, Transport, User, Verdict,
};

use crate::broker::Ending;
use crate::connection::Session;
use crate::proof::authentication_error;
use crate::{Broker, Level, Output};

impl Broker {
    /// Its user is there as before, though it may do something else now, or come another way.
    pub(crate) fn keep_client(&mut self, slot: u32, user: Arc<User>) {
        let wall = self.now.wall;
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        let may_come = user.may_come(&connection.caller(PeerKind::Client, wall));
        let within = connection.transport == Transport::InProcess;
        let Some(session) = connection.session_mut() else {
            return;
        };
        if !may_come {
            return self.turn_out(slot, Refusal::Credentials);
        }
        if user.proxy_required && session.proxy.is_none() && !within {
            return self.turn_out(slot, Refusal::ProxyRequired);
        }
        let permissions = user.permissions.as_ref();
        session.access = permissions.map(|p| Access::new(Arc::clone(p)));
        if let Some(identity) = &mut session.identity {
            identity.user = Some(user);
        }
        self.drop_denied(slot);
    }

    /// It proved itself by other rules: what it said then decides.
    pub(crate) fn judge_again(&mut self, slot: u32) {
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        let Some(session) = connection.session() else {
            return;
        };
        let user = session.identity.as_ref().and_then(|it| it.user.as_ref());
        let given = match user {
            Some(user) => user.login.given(),
            None => Some(session.offered.as_deref().cloned().unwrap_or_default()),
        };
        let Some(given) = given else {
            return self.turn_out(slot, Refusal::Credentials);
        };
        let caller = connection.caller(PeerKind::Client, self.now.wall);
        match self.directory.authenticate(&given, &session.nonce, &caller) {
            Verdict::Accept(identity) => self.recognise(slot, &identity),
            Verdict::Refuse => self.turn_out_for(slot, &given),
            Verdict::RefuseFor(why) => {
                let why = self.log_jwt_refusal(slot, &why);
                self.turn_out(slot, why);
            }
            Verdict::Ask(question) => {
                self.next_token += 1;
                let (conn, token) = (connection.conn, self.next_token);
                self.outputs.push_back(Output::Ask {
                    conn,
                    token,
                    question,
                });
                if let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) {
                    session.asked_again = Some(token);
                }
            }
        }
    }

    /// The answer to what [`Self::judge_again`] asked.
    pub(crate) fn answered_again(&mut self, slot: u32, answer: Answer) {
        match answer {
            Answer::Accept(identity) => self.recognise(slot, &identity),
            Answer::Again => self.judge_again(slot),
            Answer::Refuse(why) => {
                if !why.is_empty() {
                    self.log_connection(slot, Level::Debug, &why);
                }
                self.turn_out(slot, Refusal::Credentials);
            }
        }
    }

    /// It may stay as who it turned out to be, unless that one belongs elsewhere.
    fn recognise(&mut self, slot: u32, identity: &Identity) {
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        let conn = connection.conn;
        if connection.session().map(|session| session.account) != Some(identity.account) {
            return self.begin_close(slot, "Client Closed", Ending::Wanted);
        }
        self.plan_end(conn, identity);
        if let Some(user) = &identity.user {
            self.keep_client(slot, Arc::clone(user));
        }
    }

    fn turn_out_for(&mut self, slot: u32, given: &Credentials) {
        let session = self.conns.get(slot).and_then(|c| c.session());
        let nonce = session.map_or("", |session| &session.nonce);
        let why = self.directory.why_refused(given, nonce, PeerKind::Client);
        self.turn_out(slot, why);
    }

    fn turn_out(&mut self, slot: u32, why: Refusal) {
        if !why.detail().is_empty() {
            self.log_connection(slot, Level::Debug, why.detail());
        }
        let session = self.conns.get(slot).and_then(|c| c.session());
        let text = authentication_error(session.and_then(Session::known_as));
        self.log_connection(slot, Level::Error, &text);
        self.refuse(slot, "Authorization Violation", why.cause());
    }
}
