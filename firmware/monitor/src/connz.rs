//! `/connz`: connections.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Connz`

mod options;
mod order;

pub(crate) use options::{NEITHER, Options, State};

use frond_account::{TlsSession, Transport};
use frond_clock::Timestamp;
use serde::Serialize;

use crate::query::Subs;
use crate::rows::{Connection, Peer, Server, Subscription};
use crate::subsz::SubDetail;
use crate::text::{When, empty, go_duration, uptime};

#[derive(Debug, Serialize)]
pub(crate) struct Connz {
    server_id: String,
    now: When,
    num_connections: usize,
    total: usize,
    offset: usize,
    limit: usize,
    connections: Option<Vec<ConnInfo>>,
}

/// A connection of any kind.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ConnInfo {
    cid: u64,
    #[serde(skip_serializing_if = "empty")]
    kind: &'static str,
    #[serde(rename = "type", skip_serializing_if = "empty")]
    of_type: &'static str,
    ip: String,
    port: u16,
    start: When,
    last_activity: When,
    #[serde(skip_serializing_if = "empty")]
    stop: Option<When>,
    #[serde(skip_serializing_if = "empty")]
    reason: String,
    #[serde(skip_serializing_if = "empty")]
    rtt: String,
    uptime: String,
    idle: String,
    pending_bytes: usize,
    in_msgs: u64,
    out_msgs: u64,
    in_bytes: u64,
    out_bytes: u64,
    #[serde(skip_serializing_if = "empty")]
    stalls: u64,
    subscriptions: usize,
    #[serde(skip_serializing_if = "empty")]
    name: String,
    #[serde(skip_serializing_if = "empty")]
    lang: String,
    #[serde(skip_serializing_if = "empty")]
    version: String,
    #[serde(skip_serializing_if = "empty")]
    tls_version: String,
    #[serde(skip_serializing_if = "empty")]
    tls_cipher_suite: String,
    #[serde(skip_serializing_if = "empty")]
    tls_peer_certs: Vec<TlsPeerCert>,
    #[serde(skip_serializing_if = "empty")]
    tls_first: bool,
    #[serde(skip_serializing_if = "empty")]
    authorized_user: String,
    #[serde(skip_serializing_if = "empty")]
    account: String,
    #[serde(skip_serializing_if = "empty")]
    subscriptions_list: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    subscriptions_list_detail: Vec<SubDetail>,
    #[serde(skip_serializing_if = "empty")]
    jwt: String,
    #[serde(skip_serializing_if = "empty")]
    issuer_key: String,
    #[serde(skip_serializing_if = "empty")]
    name_tag: String,
    #[serde(skip_serializing_if = "empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<ProxyKey>,
}

/// A proxy, by its public key.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct ProxyKey {
    pub(crate) key: Box<str>,
}

/// The certificate a peer showed.
#[derive(Debug, PartialEq, Serialize)]
struct TlsPeerCert {
    #[serde(skip_serializing_if = "empty")]
    subject: String,
    spki_sha256: String,
    cert_sha256: String,
}

/// The account that is not named in a connection, being everybody's.
const GLOBAL_ACCOUNT: &str = "$G";

/// The connections asked for, out of those that are open and those that are gone. `knows` tells
/// whether there is such an account.
pub(crate) fn document(
    server: &Server,
    options: &Options,
    knows: impl Fn(&str) -> bool,
    open: Vec<Connection>,
    closed: Vec<Connection>,
) -> Connz {
    let paging = options.paging;
    let mut document = Connz {
        server_id: String::new(),
        now: When(server.now),
        num_connections: 0,
        total: 0,
        offset: paging.offset,
        limit: paging.limit,
        connections: None,
    };
    if !options.account.is_empty() && !knows(&options.account) {
        return document;
    }
    document.server_id.clone_from(&server.id);
    let (open, closed) = match options.state {
        State::Open => (open, Vec::new()),
        State::Closed => (Vec::new(), closed),
        State::Any => (open, closed),
        State::Neither => (Vec::new(), Vec::new()),
    };
    let in_account =
        |row: &Connection| options.account.is_empty() || row.account == options.account;
    document.total = open
        .iter()
        .chain(&closed)
        .filter(|row| in_account(row))
        .count();
    let mut rows = match options.cid {
        Some(cid) => the_one(cid, open, closed),
        None => open
            .into_iter()
            .filter(|row| options.takes_subs(&row.subs))
            .chain(closed)
            .filter(|row| in_account(row) && options.takes_user(&row.user))
            .collect(),
    };
    order::sort(&mut rows, options.sort, server.now);
    let shown = paging.cut(rows);
    let infos: Vec<_> = shown
        .into_iter()
        .map(|row| info(row, options, server.now))
        .collect();
    document.num_connections = infos.len();
    document.connections = Some(infos);
    document
}

/// A client by its number, rather an open one; links are not found by number.
fn the_one(cid: u64, open: Vec<Connection>, closed: Vec<Connection>) -> Vec<Connection> {
    let open = open.into_iter().filter(|row| row.peer == Peer::Client);
    open.chain(closed)
        .find(|row| row.cid == cid)
        .into_iter()
        .collect()
}

fn info(row: Connection, options: &Options, now: Timestamp) -> ConnInfo {
    let mut info = ConnInfo::plain(&row, now);
    info.show_subs(row.subs, options.subs);
    if let Some(tls) = &row.tls {
        info.show_tls(tls, options.auth);
    }
    if options.auth {
        info.authorized_user = row.user;
        info.name_tag = row.name_tag;
        info.jwt = row.jwt;
        info.issuer_key = row.issuer_key;
        info.tags = row.tags;
        info.account = if row.account == GLOBAL_ACCOUNT {
            String::new()
        } else {
            row.account
        };
    }
    info
}

impl ConnInfo {
    /// What is told of a connection to whoever asks.
    pub(crate) fn plain(row: &Connection, now: Timestamp) -> Self {
        let until = row.end.as_ref().map_or(now, |(stop, _)| *stop);
        let (kind, of_type) = match (row.peer, row.transport) {
            (Peer::Client, Transport::WebSocket) => ("Client", "websocket"),
            (Peer::Client, Transport::Tcp | Transport::InProcess) => ("Client", "nats"),
            (Peer::Leafnode, _) => ("Leafnode", ""),
            (Peer::Gateway, _) => ("Gateway", ""),
        };
        let (stop, reason) = match &row.end {
            None => (None, String::new()),
            Some((at, why)) => (Some(When(*at)), why.clone()),
        };
        Self {
            cid: row.cid,
            kind,
            of_type,
            ip: row.ip.clone(),
            port: row.port,
            start: When(row.start),
            last_activity: When(row.last_activity),
            stop,
            reason,
            rtt: go_duration(row.rtt),
            uptime: uptime(until.since(row.start)),
            idle: uptime(until.since(row.last_activity)),
            pending_bytes: row.pending_bytes,
            in_msgs: row.traffic.in_msgs,
            out_msgs: row.traffic.out_msgs,
            in_bytes: row.traffic.in_bytes,
            out_bytes: row.traffic.out_bytes,
            stalls: row.stalls,
            subscriptions: row.subscriptions,
            name: row.name.clone(),
            lang: row.lang.clone(),
            version: row.version.clone(),
            proxy: row.proxy.clone().map(|key| ProxyKey { key }),
            ..Self::default()
        }
    }

    fn show_subs(&mut self, subs: Vec<Subscription>, how: Subs) {
        match how {
            Subs::Hidden => {}
            Subs::Listed => {
                self.subscriptions_list = subs.into_iter().map(|sub| sub.subject).collect();
            }
            Subs::Detailed => {
                // nats-server keeps what is gone with its account.
                let detail = match self.stop {
                    None => SubDetail::without_account,
                    Some(_) => SubDetail::of,
                };
                self.subscriptions_list_detail = subs.into_iter().map(detail).collect();
            }
        }
    }

    /// Certificates only for those who ask for `auth`.
    fn show_tls(&mut self, tls: &TlsSession, auth: bool) {
        self.tls_version.clone_from(&tls.version);
        self.tls_cipher_suite.clone_from(&tls.cipher);
        self.tls_first = tls.first;
        let certs = tls.peer.iter().filter(|_| auth);
        self.tls_peer_certs = certs
            .map(|cert| TlsPeerCert {
                subject: cert.subject.clone(),
                spki_sha256: cert.subject_pk_sha256.clone(),
                cert_sha256: cert.cert_sha256.clone(),
            })
            .collect();
    }
}

#[cfg(test)]
mod tests;
