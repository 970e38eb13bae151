//! A broker that only remembers what it was asked.

use core::time::Duration;
use std::collections::BTreeSet;

use frond_account::{AccountId, Credentials, Permissions};
use frond_broker::{
    Conn, InterestChange, Level, Link, LinkId, LinkPeer, LinkVerdict, Packing, PeerAddr,
    ServerFacts, ServerUrls, Source, Upcalls, Wanted,
};
use frond_clock::{Instant, Now, Rng, Timestamp};
use frond_wire::{Dialect, Limits, Message, Parser, ServerInfo, Step};

#[derive(Debug)]
pub(crate) struct Mock {
    pub(crate) facts: ServerFacts,
    pub(crate) link: LinkId,
    pub(crate) out: Vec<u8>,
    pub(crate) calls: Vec<String>,
    pub(crate) logs: Vec<String>,
    /// Of the connection.
    pub(crate) peer_logs: Vec<String>,
    pub(crate) seldom: BTreeSet<String>,
    pub(crate) interest: Vec<OwnedInterest>,
    pub(crate) peers: Vec<(LinkId, AccountId, LinkPeer)>,
    pub(crate) full: bool,
    pub(crate) empty_domain: bool,
    pub(crate) secured: bool,
    pub(crate) deflated: bool,
    /// Of the other servers of the cluster.
    pub(crate) others: ServerUrls,
    rng: Rng,
}

#[derive(Clone, Debug)]
pub(crate) struct OwnedInterest {
    pub(crate) subject: String,
    pub(crate) queue: Option<String>,
    pub(crate) source: Source,
    pub(crate) cluster: Option<String>,
    pub(crate) delta: i32,
}

/// The account every test uses; `SYS` is 1.
pub(crate) const A: AccountId = AccountId(0);

pub(crate) const CLIENT: Source = Source::Client(Conn(1));

impl OwnedInterest {
    pub(crate) fn plain(subject: &str, source: Source) -> Self {
        Self {
            subject: subject.into(),
            queue: None,
            source,
            cluster: None,
            delta: 1,
        }
    }

    pub(crate) fn change(&self) -> InterestChange<'_> {
        InterestChange {
            account: A,
            subject: &self.subject,
            queue: self.queue.as_deref(),
            source: self.source,
            origin_cluster: self.cluster.as_deref(),
            stays_here: false,
            delta: self.delta,
        }
    }
}

impl Mock {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            facts: ServerFacts {
                id: format!("N{}", name.to_uppercase()),
                name: name.into(),
                version: "2.15.1".into(),
                cluster: name.into(),
                host: "127.0.0.1".into(),
                max_payload_bytes: 1_048_576,
                jetstream: false,
                ..ServerFacts::default()
            },
            link: LinkId(7),
            out: Vec::new(),
            calls: Vec::new(),
            logs: Vec::new(),
            peer_logs: Vec::new(),
            seldom: BTreeSet::new(),
            interest: Vec::new(),
            peers: Vec::new(),
            full: false,
            empty_domain: false,
            secured: false,
            deflated: false,
            others: ServerUrls::default(),
            rng: Rng::seeded(1),
        }
    }

    /// What was written since the last call.
    pub(crate) fn said(&mut self) -> String {
        String::from_utf8(core::mem::take(&mut self.out)).unwrap()
    }

    /// What was asked since the last call.
    pub(crate) fn asked(&mut self) -> Vec<String> {
        core::mem::take(&mut self.calls)
    }
}

impl Upcalls for Mock {
    fn link(&self) -> LinkId {
        self.link
    }
    fn server(&self) -> &ServerFacts {
        &self.facts
    }
    fn random(&mut self) -> &mut Rng {
        &mut self.rng
    }
    fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
    fn account(&self, name: &str) -> Option<AccountId> {
        ["A", "SYS"]
            .iter()
            .position(|known| *known == name)
            .map(|at| AccountId(at as u32))
    }
    fn account_name(&self, account: AccountId) -> String {
        ["A", "SYS"][account.0 as usize].into()
    }
    fn has_jetstream(&self, _account: AccountId) -> bool {
        self.facts.jetstream
    }
    fn is_system(&self, account: AccountId) -> bool {
        account.0 == 1
    }
    fn has_empty_domain(&self, _account: AccountId) -> bool {
        self.empty_domain
    }
    fn introduce(&mut self, _name: &str, _version: &str) {}
    fn compare(&mut self, _hash: &str, _password: &str) {
        self.calls.push("compare".into());
    }

    fn authenticate(&mut self, credentials: Credentials, nonce: &str) {
        let user = credentials.user.unwrap_or_default();
        self.calls
            .push(format!("authenticate {user} {}", nonce.len()));
    }
    fn bind(&mut self, account: AccountId, peer: LinkPeer) -> bool {
        let LinkPeer { name, cluster, .. } = peer;
        self.calls
            .push(format!("bind {} {name} {cluster}", account.0));
        !self.full
    }
    fn bind_all(&mut self, peer: LinkPeer) {
        self.calls.push(format!("bind all {}", peer.name));
    }
    fn subscribe_in(&mut self, wanted: &Wanted<'_>, weight: u32) {
        self.calls.push(format!("sub {wanted:?} {weight}"));
    }
    fn unsubscribe_in(&mut self, wanted: &Wanted<'_>) {
        self.calls.push(format!("unsub {wanted:?}"));
    }
    fn publish_in(
        &mut self,
        account: AccountId,
        origin: Option<&str>,
        message: &Message<'_>,
        queues: &[&str],
    ) {
        self.calls.push(format!(
            "pub in {} {origin:?} {} {queues:?}",
            account.0, message.subject
        ));
    }
    fn imply_account(&mut self) {
        self.calls.push("imply account".into());
    }
    fn attach(&mut self, link: Box<dyn Link>) {
        self.calls.push(format!("attach {:?}", link.kind()));
    }
    fn detach(&mut self) {
        self.calls.push("detach".into());
    }
    fn wake(&mut self, other: LinkId) {
        self.calls.push(format!("wake {}", other.0));
    }
    fn write_to(&mut self, other: LinkId, bytes: &[u8]) {
        self.calls.push(format!(
            "write to {} {}",
            other.0,
            String::from_utf8_lossy(bytes)
        ));
    }
    fn offer(&mut self, server_id: &str, urls: ServerUrls) {
        self.calls.push(format!("offer {server_id} {:?}", urls.tcp));
    }
    fn accounts(&self) -> Vec<AccountId> {
        vec![A]
    }
    fn set_crossings(&mut self, _nearest_first: Vec<LinkId>) {}
    fn gateway_url(&self) -> String {
        String::new()
    }
    fn gateway_urls(&self) -> Vec<String> {
        Vec::new()
    }
    fn place_neighbour(&mut self, _server_id: &str, _url: &str) {}
    fn hear_of_cluster(&mut self, _told: &ServerInfo) -> bool {
        false
    }
    fn write_to_neighbours(&mut self, _bytes: &[u8]) {}
    fn is_neighbour(&self, name: &str) -> bool {
        self.facts.name == name
    }
    fn rename_cluster(&mut self, name: &str, _is_dynamic: bool) {
        self.calls.push(format!("rename cluster {name}"));
    }
    fn peer_ip(&self) -> Option<core::net::IpAddr> {
        None
    }
    fn own_urls(&self) -> ServerUrls {
        ServerUrls::default()
    }
    fn other_urls(&self) -> ServerUrls {
        self.others.clone()
    }
    fn each_interest(&mut self, each: &mut dyn FnMut(&InterestChange<'_>)) {
        for interest in &self.interest {
            each(&interest.change());
        }
    }
    fn subscribe(&mut self, subject: &str, queue: Option<(&str, u32)>) {
        self.calls.push(match queue {
            Some((queue, weight)) => format!("sub {subject} {queue} {weight}"),
            None => format!("sub {subject}"),
        });
    }
    fn unsubscribe(&mut self, subject: &str, queue: Option<&str>) {
        let queue = queue.map(|queue| format!(" {queue}")).unwrap_or_default();
        self.calls.push(format!("unsub {subject}{queue}"));
    }
    fn publish(&mut self, message: &Message<'_>, queues: &[&str]) {
        self.calls.push(format!(
            "pub {} {:?} {:?} h{} p{}",
            message.subject,
            message.reply,
            queues,
            message.header.len(),
            message.payload.len()
        ));
    }
    fn dial(&mut self, host: &str, port: u16, _timeout: Duration, _tls_first: Option<&str>) {
        self.calls.push(format!("dial {host}:{port}"));
    }
    fn secure(&mut self, server_name: &str) {
        self.calls.push(format!("secure {server_name}"));
    }
    fn is_secured(&self) -> bool {
        self.secured
    }
    fn is_deflated(&self) -> bool {
        self.deflated
    }
    fn pack(&mut self, packing: Packing) {
        self.calls
            .push(format!("pack {} after {}", packing.name(), self.out.len()));
    }
    fn each_peer(&self, see: &mut dyn FnMut(LinkId, AccountId, &LinkPeer)) {
        for (link, account, peer) in &self.peers {
            see(*link, *account, peer);
        }
    }
    fn address_of(&self, link: LinkId) -> Option<PeerAddr> {
        let ip = core::net::Ipv4Addr::LOCALHOST.into();
        let port = u16::try_from(link.0).ok()?;
        Some(PeerAddr { ip, port })
    }
    fn evict(&mut self, other: LinkId, text: &str, _cause: &str) {
        self.calls.push(format!("evict {} {text}", other.0));
    }
    fn close(&mut self, cause: &str) {
        self.calls.push(format!("close {cause}"));
    }
    fn log(&mut self, level: Level, text: String) {
        self.logs.push(format!("{level:?} {text}"));
    }

    fn log_peer(&mut self, level: Level, text: &str) {
        self.peer_logs.push(format!("{level:?} {text}"));
    }

    fn log_seldom(&mut self, level: Level, key: &str, text: String) {
        if self.seldom.insert(key.to_owned()) {
            self.log(level, text);
        }
    }
}

/// `millis` after the start.
pub(crate) fn at(millis: u64) -> Now {
    Now {
        mono: Instant::from_nanos(millis * 1_000_000),
        wall: Timestamp::default(),
    }
}

/// Bytes from the peer, as the broker hands them over.
pub(crate) fn feed(link: &mut dyn Link, up: &mut Mock, now: Now, bytes: &str) {
    let mut parser = Parser::new(Dialect::Leaf, Limits::default());
    let mut rest = bytes.as_bytes();
    link.heard(now);
    while !rest.is_empty() && !up.calls.iter().any(|call| call.starts_with("close")) {
        match parser.parse(rest) {
            Ok(Step::Op { op, consumed }) => {
                link.on_op(now, &op, up);
                rest = &rest[consumed..];
            }
            Ok(Step::Need(_)) => panic!("half an operation: {rest:?}"),
            Err(error) => return link.on_garbage(now, error.err_text(), &error.to_string(), up),
        }
    }
}

/// Wakes the link when it wants to be, and says when that was.
pub(crate) fn wake(link: &mut dyn Link, up: &mut Mock) -> Now {
    let deadline = link.deadline().expect("a link that never wakes");
    let now = Now {
        mono: deadline,
        wall: Timestamp::default(),
    };
    link.on_time(now, up);
    now
}

pub(crate) fn accepted(permissions: Option<Permissions>) -> LinkVerdict {
    LinkVerdict::Accepted {
        account: A,
        permissions,
        user: "leaf".into(),
    }
}
