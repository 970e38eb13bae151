mod link;
mod namesake;

use frond_account::{AccountId, Credentials, Permissions, SubjectRules};
use frond_broker::{Level, LinkPeer, Packs, Pulse, Settled, Upcalls, told_as};
use frond_clock::{Instant, Now};
use frond_wire::{LeafConnect, Op, ServerInfo, SubjectPermission, encode};

use crate::border::{border, deny_jetstream, domain_lines};
use crate::gate::{Gate, Role};
use crate::listener::Listener;
use crate::replies::Replies;
use crate::reserved::Names;
use crate::session::{Handled, Session, Terms, pace};
use crate::solicit::loop_text;
use crate::trouble::printable;
use namesake::{DUPLICATE, Namesake, namesake, replace, stand_off};

/// One leaf that dialed us; as old as its connection.
#[derive(Debug)]
pub struct Accept {
    listener: Listener,
    /// Shown to the peer as `client_id`; not 0, which would mean a wrong port.
    client_id: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Accepted, not greeted.
    New,
    /// Greeted; the leaf owes its `CONNECT`.
    AwaitingConnect {
        until: Instant,
        nonce: String,
        packs: Packs,
    },
    /// Its credentials are looked at.
    Authenticating {
        until: Instant,
        connect: Box<LeafConnect>,
        packs: Packs,
    },
    /// Interest and messages flow.
    Up(Box<Session>),
    /// Nothing more is said.
    Closed,
}

impl Accept {
    /// The accepting end of a connection that is the `client_id`th of this server (from 1).
    #[must_use]
    pub const fn new(listener: Listener, client_id: u64) -> Self {
        Self {
            listener,
            client_id,
            state: State::New,
        }
    }

    /// Before its `CONNECT` a leaf may say how it wants to be compressed.
    ///
    /// spec: nats-server v2.15.1 server/leafnode.go `negotiateLeafCompression`
    fn on_early_info(&mut self, now: Now, json: &[u8], up: &mut dyn Upcalls) {
        let State::AwaitingConnect {
            until,
            nonce,
            packs,
        } = &mut self.state
        else {
            return;
        };
        if !packs.is_open() {
            return self.refuse(Some(UNAUTHORIZED), UNAUTHENTICATED, up);
        }
        let Ok(info) = ServerInfo::parse(json) else {
            return self.refuse(None, "Parse Error", up);
        };
        // A round trip went by for this.
        *until = now.mono + self.listener.auth_timeout;
        match packs.settle(now.mono, &info.compression) {
            Settled::Bare => {}
            Settled::Packed(name) => {
                packs.begin(up);
                let (nonce, compression) = (nonce.clone(), name.to_owned());
                let info = ServerInfo {
                    nonce,
                    compression,
                    ..self.greeting(up)
                };
                encode::info(up.out(), &info);
            }
            Settled::Unknown(text) => self.refuse(Some(&text), PROTOCOL_VIOLATION, up),
        }
    }

    fn on_connect(&mut self, json: &[u8], up: &mut dyn Upcalls) {
        let State::AwaitingConnect {
            until,
            nonce,
            mut packs,
        } = core::mem::replace(&mut self.state, State::New)
        else {
            return;
        };
        let Ok(connect) = LeafConnect::parse(json) else {
            return self.refuse(None, PROTOCOL_VIOLATION, up);
        };
        up.introduce(&connect.name, &connect.version);
        if !connect.lang.is_empty() {
            let text = "attempted to connect to leaf node port";
            return self.refuse(Some(text), "Incorrect Port", up);
        }
        if !connect.gateway.is_empty() {
            let text = format!(
                "Rejecting connection from gateway {:?} on the leafnode port",
                connect.gateway
            );
            return self.refuse(Some(&text), "Wrong Gateway", up);
        }
        packs.go_without(&connect.compress_mode);
        let credentials = credentials(&connect);
        self.state = State::Authenticating {
            until,
            connect: Box::new(connect),
            packs,
        };
        up.authenticate(credentials, &nonce);
    }

    fn admit(
        &mut self,
        now: Now,
        (connect, packs): (&LeafConnect, Packs),
        account: AccountId,
        permissions: Option<&Permissions>,
        up: &mut dyn Upcalls,
    ) {
        if let Some((text, cause)) = name_fault(connect, &up.server().cluster) {
            return self.refuse(Some(text), cause, up);
        }
        // Also where the peer calls itself a hub: that is what it says.
        let reserved = self.listener.reserved.as_ref();
        let left = reserved.map(|it| it.taken_from(&up.account_name(account), permissions));
        let permissions = left.as_ref().map_or(permissions, Option::as_ref);
        let answer = self.answer(up, account, permissions);
        if !self.listener.takes_version(&connect.version) {
            encode::info(up.out(), &answer);
            let text = format!(
                "connection rejected since minimum version required is {:?}",
                self.listener.min_version.as_deref().unwrap_or_default()
            );
            return self.refuse(Some(&text), "Minimum Version Required", up);
        }
        let peer = LinkPeer {
            name: connect.name.clone(),
            server_id: connect.server_id.clone(),
            cluster: connect.cluster.clone(),
            remote_account: connect.remote_account.clone(),
            is_hub: connect.is_hub,
        };
        match namesake(account, &peer, &*up) {
            Namesake::None => {}
            Namesake::Former(old) => replace(old, &peer, up),
            Namesake::Other(other, id) => {
                let words = stand_off(other, &id, &peer, up);
                let key = format!("namesake {} {}", peer.name, account.0);
                up.log_seldom(Level::Warn, &key, words);
                return self.shut(Some(DUPLICATE), DUPLICATE, up);
            }
        }
        let terms = self.terms(now, (connect, packs), account, permissions, peer, up);
        let Some(session) = Session::bind(terms, up) else {
            self.state = State::Closed;
            return;
        };
        let mut session = Box::new(session);
        encode::info(up.out(), &answer);
        session.send_snapshot(up);
        up.log(
            Level::Info,
            format!(
                "leafnode: {:?} attached to account {:?}",
                connect.name,
                session.account_name()
            ),
        );
        for text in domain_lines(&*up, account, session.peer(), &connect.domain) {
            up.log_peer(Level::Info, &text);
        }
        if let Some(text) = border(&*up, account, &connect.domain) {
            up.log(Level::Debug, text);
        }
        self.state = State::Up(session);
    }

    fn terms(
        &self,
        now: Now,
        (connect, packs): (&LeafConnect, Packs),
        account: AccountId,
        permissions: Option<&Permissions>,
        peer: LinkPeer,
        up: &mut dyn Upcalls,
    ) -> Terms {
        let role = if connect.is_hub {
            Role::Spoke
        } else {
            Role::Hub
        };
        let mut gate = Gate::open(role);
        if let Some(permissions) = permissions {
            gate.limit_peer(permissions);
        }
        gate.deny_sending(connect.deny_pub.iter().map(String::as_str));
        deny_jetstream(&mut gate, &*up, account, &connect.domain);
        if let Some(reserved) = &self.listener.reserved {
            let names = Names {
                name: &connect.name,
                id: &connect.server_id,
                user: &connect.user,
            };
            let account = up.account_name(account);
            gate.close(reserved.closed_to(&account, permissions));
            gate.limit_names(reserved.one_name_of(&account, permissions, names));
        }
        let rule = permissions.and_then(|permissions| permissions.allow_responses);
        let own = &self.listener;
        let own = (own.ping_interval, own.pings_outstanding_max);
        let (interval, outstanding) = pace(up.server(), own);
        Terms {
            account,
            peer,
            gate,
            headers: connect.headers,
            isolated: self.listener.isolate || connect.isolate,
            peer_payload_max: None,
            replies: rule.map(Replies::new),
            pulse: Pulse::new(now.mono, interval, outstanding),
            packs,
        }
    }

    fn greeting(&self, up: &mut dyn Upcalls) -> ServerInfo {
        let (mine, others) = (up.own_urls().websocket, up.other_urls());
        let own = up.server();
        ServerInfo {
            server_id: own.id.clone(),
            server_name: own.name.clone(),
            version: own.version.clone(),
            proto: 3,
            host: self.listener.host.clone(),
            port: i64::from(self.listener.port),
            headers: true,
            auth_required: true,
            max_payload: own.max_payload_bytes,
            tls_required: self.listener.tls_required,
            tls_verify: self.listener.tls_verify,
            jetstream: own.jetstream,
            ip: self.listener.advertise.clone(),
            client_id: self.client_id,
            cluster: own.cluster.clone(),
            domain: own.domain.clone().unwrap_or_default(),
            api_lvl: 5,
            info_on_connect: true,
            leafnode_urls: joined(self.listener.leafnode_urls.clone(), others.leafnode),
            ws_connect_urls: joined(mine, others.websocket),
            ..ServerInfo::default()
        }
    }

    fn answer(
        &self,
        up: &mut dyn Upcalls,
        account: AccountId,
        permissions: Option<&Permissions>,
    ) -> ServerInfo {
        let told = |rules: &SubjectRules| {
            let strings = |list: &[Box<str>]| list.iter().map(|s| String::from(&**s)).collect();
            SubjectPermission {
                allow: strings(&rules.allow),
                deny: strings(&rules.deny),
            }
        };
        ServerInfo {
            connect_info: true,
            remote_account: up.account_name(account),
            acc_is_sys: up.is_system(account),
            import: permissions.map(|permissions| told(&permissions.subscribe)),
            export: permissions.map(|permissions| told(&permissions.publish)),
            ..self.greeting(up)
        }
    }

    /// Says what is wrong, if there are words for it, to the peer and to the operator, and closes.
    fn refuse(&mut self, text: Option<&str>, cause: &str, up: &mut dyn Upcalls) {
        if let Some(text) = text {
            let (level, words) = told_as(text, "");
            up.log_peer(level, &words);
        }
        self.shut(text, cause, up);
    }

    /// The same of what the operator knows already.
    fn shut(&mut self, text: Option<&str>, cause: &str, up: &mut dyn Upcalls) {
        if let Some(text) = text {
            encode::err(up.out(), text);
        }
        self.state = State::Closed;
        up.close(cause);
    }

    fn on_session_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        let State::Up(session) = &mut self.state else {
            return;
        };
        match session.on_op(now, op, up) {
            Handled::Fine => {}
            Handled::NotMine => self.on_other(op, up),
            Handled::Protocol => self.refuse(Some(UNKNOWN), PROTOCOL_VIOLATION, up),
            Handled::Loop => {
                let text = loop_text(session.account_name());
                self.refuse(Some(&text), PROTOCOL_VIOLATION, up);
            }
            Handled::Offence(text) => self.refuse(Some(&text), PROTOCOL_VIOLATION, up),
            Handled::TooMuch(text) => {
                self.refuse(Some(text), "Maximum Subscriptions Exceeded", up);
            }
        }
    }

    /// A leaf's `INFO` changes nothing; after its `-ERR` it is the leaf that closes.
    fn on_other(&mut self, op: &Op<'_>, up: &mut dyn Upcalls) {
        match op {
            Op::Err(text) => {
                let text = printable(text);
                up.log_peer(Level::Error, &format!("Leafnode Error '{text}'"));
            }
            Op::Connect(_) => self.refuse(Some(UNKNOWN), PROTOCOL_VIOLATION, up),
            Op::Info(_)
            | Op::Ping
            | Op::Pong
            | Op::Ok
            | Op::Publish(_)
            | Op::Subscribe { .. }
            | Op::Unsubscribe { .. }
            | Op::LeafSubscribe { .. }
            | Op::LeafUnsubscribe { .. }
            | Op::LeafMessage { .. }
            | Op::Route(_) => {}
        }
    }
}

/// Why a leaf can't be attached under the cluster name it gives.
fn name_fault(connect: &LeafConnect, own: &str) -> Option<(&'static str, &'static str)> {
    if connect.cluster.contains(' ') {
        Some(("cluster name cannot contain spaces", PROTOCOL_VIOLATION))
    } else if connect.cluster == "_" {
        Some(("cluster name is reserved", PROTOCOL_VIOLATION))
    } else if !own.is_empty() && connect.cluster == own {
        Some((
            "remote leafnode has same cluster name",
            "Cluster Names Identical",
        ))
    } else {
        None
    }
}

/// Own urls, then what others add to them.
fn joined(mut own: Vec<String>, others: Vec<String>) -> Vec<String> {
    for url in others {
        if !own.contains(&url) {
            own.push(url);
        }
    }
    own
}

fn credentials(connect: &LeafConnect) -> Credentials {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Credentials {
        user: some(&connect.user),
        pass: some(&connect.pass),
        auth_token: some(&connect.auth_token),
        nkey: some(&connect.nkey),
        jwt: some(&connect.jwt),
        sig: some(&connect.sig),
        proxy_sig: some(&connect.proxy_sig),
        account: None,
    }
}

const NONCE_CHARS: usize = 15;
const PROTOCOL_VIOLATION: &str = "Protocol Violation";
const STALE: &str = "Stale Connection";
const UNAUTHENTICATED: &str = "Authentication Failure";
const UNAUTHORIZED: &str = "Authorization Violation";
const UNKNOWN: &str = "Unknown Protocol Operation";

#[cfg(test)]
mod tests;
