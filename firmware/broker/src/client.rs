//! What clients say, and what is said to them.
//! spec: nats-server v2.15.1 server/client.go `processConnect`, `processPing`, `processSub`.

use std::sync::Arc;

use frond_account::{
    Access, AccountId, Answer, Credentials, Identity, PeerKind, Question, Refusal, User, Verdict,
};
use frond_clock::Now;
use frond_wire::{ConnectInfo, Op, ServerInfo, WireError, encode};

use crate::account_limits::TOO_MANY_CONNECTIONS;
use crate::broker::{Alarm, Ending, InfoMoment};
use crate::claimed::jwt_user;
use crate::connection::{Connection, Hello, Kind, Session, State};
use crate::garbage::parser_error;
use crate::label::{self, Name};
use crate::options::Options;
use crate::proof::{authentication_error, is_object};
use crate::readiness::Readiness;
use crate::{Address, Broker, Conn, Level, Output};

impl Broker {
    /// `at` is what was read and where in it the operation begins.
    pub(crate) fn client_garbage(&mut self, slot: u32, error: &WireError, at: (&[u8], usize)) {
        let text = match error {
            WireError::UnknownOperation => parser_error(at.0, at.1),
            WireError::BadArguments(_)
            | WireError::ControlLineTooLong
            | WireError::PayloadTooLarge { .. } => error.to_string(),
        };
        self.log_connection(slot, Level::Error, &text);
        let cause = match error {
            WireError::UnknownOperation | WireError::BadArguments(_) => "Protocol Violation",
            WireError::ControlLineTooLong => "Maximum Control Line Exceeded",
            WireError::PayloadTooLarge { .. } => "Maximum Message Payload Exceeded",
        };
        match error.err_text() {
            Some(text) => self.refuse(slot, text, cause),
            None => self.begin_close(slot, cause, Ending::Wanted),
        }
    }

    pub(crate) fn client_op(&mut self, slot: u32, op: &Op<'_>) {
        match op {
            Op::Publish(message) => self.client_publish(slot, message),
            Op::Subscribe {
                subject,
                queue,
                sid,
            } => self.client_subscribe(slot, subject, *queue, sid),
            Op::Unsubscribe { sid, max } => self.client_unsubscribe(slot, sid, *max),
            Op::Ping => self.client_ping(slot),
            Op::Pong => self.client_pong(slot),
            Op::Connect(json) => self.client_connect(slot, json),
            Op::Info(json) => {
                if let Err(error) = is_object(json) {
                    self.log_connection(slot, Level::Error, &error.to_string());
                    self.begin_close(slot, "Protocol Violation", Ending::Wanted);
                }
            }
            Op::Ok => {}
            Op::Err(text) => {
                let text = format!("Client Error '{text}'");
                self.log_connection(slot, Level::Error, &text);
                self.begin_close(slot, "Parse Error", Ending::Wanted);
            }
            Op::LeafSubscribe { .. }
            | Op::LeafUnsubscribe { .. }
            | Op::LeafMessage { .. }
            | Op::Route(_) => {
                self.refuse(slot, "Unknown Protocol Operation", "Protocol Violation");
            }
        }
    }

    /// The answer to [`Output::Ask`].
    pub fn answered(&mut self, now: Now, conn: Conn, token: u64, answer: Answer) {
        self.now = now;
        let Some(slot) = self.by_conn.get(&conn).copied() else {
            return;
        };
        match self
            .conns
            .get_mut(slot)
            .map(|connection| &mut connection.kind)
        {
            Some(Kind::Link(link)) => {
                let link = *link;
                self.link_answered(link, token, answer);
            }
            Some(Kind::Client(session)) if session.asked_again == Some(token) => {
                session.asked_again = None;
                self.answered_again(slot, answer);
            }
            Some(Kind::Client(session)) => {
                match core::mem::replace(&mut session.state, State::Greeted) {
                    State::Authenticating {
                        token: asked,
                        connect,
                    } if asked == token => self.client_answered(slot, answer, connect),
                    state @ (State::Greeted | State::Authenticating { .. } | State::Ready(_)) => {
                        session.state = state;
                    }
                }
            }
            Some(Kind::Closing) | None => {}
        }
        self.settle();
    }

    /// Asks clients to go elsewhere; closing them is the caller's, by and by.
    pub fn lame_duck(&mut self, now: Now) {
        self.now = now;
        self.lame_duck = true;
        self.withdraw();
        self.announce();
        self.tell_leaving();
        self.settle();
    }

    /// Tells every client that understands it the `INFO` as it is now.
    pub(crate) fn announce(&mut self) {
        for slot in self.conns.keys() {
            let session = self.conns.get(slot).and_then(|c| c.session());
            if session.is_some_and(|session| {
                session.options.protocol >= 1 && matches!(session.state, State::Ready(_))
            }) {
                self.send_info(slot, InfoMoment::Changed);
            }
        }
    }

    /// What to do with a client whose first word isn't `CONNECT`.
    pub(crate) fn start_without_connect(&mut self, slot: u32) -> Readiness {
        let wall = self.now.wall;
        let Some(connection) = self.conns.get(slot) else {
            return Readiness::Never;
        };
        let caller = connection.caller(PeerKind::Client, wall);
        match self.directory.without_connect(&caller) {
            Verdict::Refuse => {
                self.violation(slot, None, Refusal::Credentials);
                Readiness::Never
            }
            Verdict::RefuseFor(why) => {
                let why = self.log_jwt_refusal(slot, &why);
                self.violation(slot, None, why);
                Readiness::Never
            }
            Verdict::Ask(question) => {
                self.client_ask(slot, question, None);
                Readiness::Verify
            }
            Verdict::Accept(identity) => match self.bind_client(slot, identity, Hello::Silent) {
                true => Readiness::Ready,
                false => Readiness::Never,
            },
        }
    }

    pub(crate) fn auth_timed_out(&mut self, conn: Conn) {
        if let Some(slot) = self.by_conn.get(&conn).copied() {
            self.log_connection(slot, Level::Debug, "Authentication Timeout");
            self.refuse(slot, "Authentication Timeout", "Authentication Timeout");
        }
    }

    pub(crate) fn send_info(&mut self, slot: u32, moment: InfoMoment) {
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        let Some(session) = connection.session() else {
            return;
        };
        let transport = connection.transport;
        let mut info = ServerInfo {
            client_id: connection.conn.0,
            client_ip: match connection.address {
                Address::Known => connection.peer.ip.to_string(),
                Address::Awaited => String::new(),
            },
            nonce: session.nonce.to_string(),
            auth_required: match moment {
                InfoMoment::Greeting => self.directory.auth_announced_over(transport),
                InfoMoment::Connected | InfoMoment::Changed => {
                    self.directory.auth_required_over(transport)
                }
            },
            max_payload: self.payload_max_of(session),
            ldm: self.lame_duck,
            tls_required: connection.security.is_required(),
            tls_available: connection.security.is_optional(),
            connect_urls: self.urls_for(transport),
            ..self.info.clone()
        };
        self.dress(&mut info, transport);
        if moment == InfoMoment::Connected {
            info.connect_info = true;
            info.remote_account = self.name_of(session.account);
            info.acc_is_sys = session.account == self.directory.system_account();
        }
        self.write(slot, |out| encode::info(out, &info));
    }

    pub(crate) fn name_of(&self, account: AccountId) -> String {
        self.directory
            .account(account)
            .map_or_else(String::new, |account| account.name.to_string())
    }

    fn client_connect(&mut self, slot: u32, json: &[u8]) {
        let Some(session) = self.conns.get(slot).and_then(|c| c.session()) else {
            return;
        };
        let connect = match session.options.said().parse_over(json) {
            Ok(connect) => Box::new(connect),
            Err(error) => {
                self.log_connection(slot, Level::Error, &error.to_string());
                return self.begin_close(slot, "Protocol Violation", Ending::Wanted);
            }
        };
        let known = self.still_known(slot, &connect);
        self.unbind_client(slot);
        let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) else {
            return;
        };
        session.state = State::Greeted;
        self.guess_rtt(slot);
        match known {
            Some((identity, offered)) => {
                self.welcome(slot, identity, connect);
                if let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) {
                    session.offered = offered;
                }
            }
            None => self.client_judge(slot, connect),
        }
    }

    fn client_judge(&mut self, slot: u32, connect: Box<ConnectInfo>) {
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        let Some(session) = connection.session() else {
            return;
        };
        let given = self.given(slot, &connect);
        let caller = connection.caller(PeerKind::Client, self.now.wall);
        match self.directory.authenticate(&given, &session.nonce, &caller) {
            Verdict::Refuse => self.turn_away(slot, &given, &connect),
            Verdict::RefuseFor(why) => {
                let why = self.log_jwt_refusal(slot, &why);
                self.turn_away_for(slot, why, &connect);
            }
            Verdict::Accept(identity) => self.welcome(slot, identity, connect),
            Verdict::Ask(question) => self.client_ask(slot, question, Some(connect)),
        }
    }

    fn client_ask(&mut self, slot: u32, question: Question, connect: Option<Box<ConnectInfo>>) {
        self.next_token += 1;
        let token = self.next_token;
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        // As with nats-server, the service has its whole time from here on.
        if matches!(question, Question::Callout(_)) {
            self.timers.cancel(&Alarm::Auth(connection.conn));
        }
        self.outputs.push_back(Output::Ask {
            conn: connection.conn,
            token,
            question,
        });
        if let Some(session) = connection.session_mut() {
            session.state = State::Authenticating { token, connect };
        }
    }

    fn client_answered(&mut self, slot: u32, answer: Answer, said: Option<Box<ConnectInfo>>) {
        match (answer, said) {
            (Answer::Refuse(why), said) => {
                if !why.is_empty() {
                    self.log_connection(slot, Level::Debug, &why);
                }
                match said {
                    Some(connect) => {
                        self.turn_away(slot, &self.given(slot, &connect), &connect);
                    }
                    None => self.violation(slot, None, Refusal::Credentials),
                }
            }
            (Answer::Accept(identity), Some(connect)) => self.welcome(slot, identity, connect),
            (Answer::Accept(identity), None) => {
                self.bind_client(slot, identity, Hello::Silent);
            }
            (Answer::Again, Some(connect)) => self.client_judge(slot, connect),
            (Answer::Again, None) => {
                self.start_without_connect(slot);
            }
        }
    }

    /// Refuses a client because of what it gave, or because it came without the proxy it needs.
    fn turn_away(&mut self, slot: u32, given: &Credentials, connect: &ConnectInfo) {
        let session = self.conns.get(slot).and_then(|c| c.session());
        let nonce = session.map_or("", |session| &session.nonce);
        let why = self.directory.why_refused(given, nonce, PeerKind::Client);
        self.turn_away_for(slot, why, connect);
    }

    fn turn_away_for(&mut self, slot: u32, why: Refusal, connect: &ConnectInfo) {
        if !why.detail().is_empty() {
            self.log_connection(slot, Level::Debug, why.detail());
        }
        self.violation(slot, Some(connect), why);
    }

    fn violation(&mut self, slot: u32, said: Option<&ConnectInfo>, why: Refusal) {
        let given = said.map(|said| self.given(slot, said)).unwrap_or_default();
        let text = authentication_error(Name::given(&given));
        self.log_connection(slot, Level::Error, &text);
        self.tell_rejected(slot, said, why.cause());
        self.refuse(slot, "Authorization Violation", why.cause());
    }

    fn welcome(&mut self, slot: u32, identity: Identity, connect: Box<ConnectInfo>) {
        // Who it is counts for the log even if it is turned away below.
        if let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) {
            session.identity = Some(identity.clone());
            let proxy = self
                .directory
                .trusted_proxy(&connect.proxy_sig, &session.nonce);
            session.proxy = proxy.map(Into::into);
        }
        let is_within = self.conns.get(slot).is_some_and(Connection::is_within);
        if (!connect.account.is_empty() && !is_within) || connect.new_account {
            return self.violation(slot, Some(&connect), Refusal::Credentials);
        }
        let verbose = connect.verbose;
        let given = self.given(slot, &connect);
        let nobody = identity.user.is_none() && given != Credentials::default();
        let account = self.name_of(identity.account);
        let (protocol, headers) = (connect.protocol, connect.headers);
        let no_responders = connect.no_responders;
        if let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) {
            session.options = Options::of(*connect);
            if session.label.is_empty() {
                let label = label::of(&session.options, &account, &identity, &given);
                session.label = label.into();
            }
            session.offered = nobody.then(|| Box::new(given));
            if !identity.name().is_empty() {
                session.options.user = String::new();
            }
        }
        if !matches!(protocol, 0 | 1) {
            self.log_connection(slot, Level::Error, "invalid client protocol");
            let cause = "Bad Client Protocol Version";
            return self.refuse(slot, "invalid client protocol", cause);
        }
        if no_responders && !headers {
            let text = "no responders requires headers support";
            self.log_connection(slot, Level::Error, text);
            return self.refuse(slot, text, "No Responders Requires Headers");
        }
        if self.bind_client(slot, identity, Hello::Connected) && verbose {
            self.write(slot, encode::ok);
        }
    }

    /// Puts a client into its account; whether there was room.
    fn bind_client(&mut self, slot: u32, identity: Identity, hello: Hello) -> bool {
        let account = identity.account;
        let limits = self
            .directory
            .account(account)
            .map(|account| account.limits);
        let limits = limits.unwrap_or_default();
        let wire = self.wire_limits_of(account, identity.user.as_deref());
        let Some(state) = self.accounts.get_mut(account.0 as usize) else {
            return false;
        };
        let full = limits
            .connections_max
            .is_some_and(|max| state.clients + state.leafs >= max);
        if full {
            let cause = "Maximum Account Connections Exceeded";
            self.log_connection(slot, Level::Error, TOO_MANY_CONNECTIONS);
            self.refuse(slot, TOO_MANY_CONNECTIONS, cause);
            return false;
        }
        let Some(connection) = self.conns.get_mut(slot) else {
            return false;
        };
        connection.parser.set_limits(wire);
        let conn = connection.conn;
        let Some(session) = connection.session_mut() else {
            return false;
        };
        state.clients += 1;
        self.outputs.push_back(Output::Population(account));
        session.account = account;
        session.access = identity
            .user
            .as_ref()
            .and_then(|user| user.permissions.as_ref())
            .map(|permissions| Access::new(Arc::clone(permissions)));
        session.identity = Some(identity.clone());
        session.state = State::Ready(hello);
        self.know(conn);
        self.timers.cancel(&Alarm::Auth(conn));
        self.plan_end(conn, &identity);
        self.plan_first_ping(conn);
        if hello == Hello::Connected {
            self.outputs.push_back(Output::Connected(conn));
        }
        true
    }

    /// What the parser of such a client watches.
    pub(crate) fn wire_limits_of(
        &self,
        account: AccountId,
        user: Option<&User>,
    ) -> frond_wire::Limits {
        let own = self.limits.payload_bytes_max;
        let account = self.directory.account(account);
        let account = account.and_then(|account| account.limits.payload_bytes_max);
        let account = account.map(|max| max as usize);
        let user = jwt_user(user).and_then(|user| user.payload_bytes_max);
        let user = user.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
        frond_wire::Limits {
            control_line_bytes_max: self.limits.control_line_bytes_max,
            payload_bytes_max: own.into_iter().chain(account).chain(user).min(),
        }
    }

    fn payload_max_of(&self, session: &Session) -> i64 {
        let user = session.identity.as_ref();
        let user = user.and_then(|identity| identity.user.as_deref());
        match self.wire_limits_of(session.account, user).payload_bytes_max {
            Some(max) => i64::try_from(max).unwrap_or(i64::MAX),
            None => -1,
        }
    }
}
