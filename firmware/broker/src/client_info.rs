//! A client as services of other accounts are told of it.
//! spec: nats-server v2.15.1 server/events.go `ClientInfo`, server/client.go `getClientInfo`.

use std::fmt::Write;

use frond_account::{AccountId, Transport};
use frond_clock::Timestamp;
use frond_wire::go_json;

use crate::Broker;
use crate::connection::{Connection, Kind};
use crate::link::Source;
use crate::publish::Origin;

#[derive(Clone, Debug, Default)]
pub(crate) struct ClientInfo {
    pub(crate) account: String,
    /// The account whose import the request came through.
    pub(crate) service: String,
    pub(crate) rtt_nanos: u64,
    pub(crate) server: String,
    pub(crate) cluster: String,
    /// The rest, told only to those it is shared with.
    pub(crate) details: Option<Box<Details>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Details {
    start: Timestamp,
    host: String,
    id: u64,
    user: String,
    name: String,
    lang: String,
    version: String,
    kind: &'static str,
    client_type: &'static str,
}

impl ClientInfo {
    /// As nats-server writes it: what is empty is left out.
    pub(crate) fn to_json(&self) -> String {
        let mut json = String::from("{");
        let text = |json: &mut String, key: &str, value: &str| {
            if !value.is_empty() {
                field(json, key, &go_json::to_string(&value));
            }
        };
        let number = |json: &mut String, key: &str, value: u64| {
            if value != 0 {
                field(json, key, &value.to_string());
            }
        };
        let details = self.details.as_deref();
        if let Some(details) = details {
            text(&mut json, "start", &details.start.to_string());
            text(&mut json, "host", &details.host);
            number(&mut json, "id", details.id);
        }
        text(&mut json, "acc", &self.account);
        text(&mut json, "svc", &self.service);
        if let Some(details) = details {
            text(&mut json, "user", &details.user);
            text(&mut json, "name", &details.name);
            text(&mut json, "lang", &details.lang);
            text(&mut json, "ver", &details.version);
        }
        number(&mut json, "rtt", self.rtt_nanos);
        text(&mut json, "server", &self.server);
        text(&mut json, "cluster", &self.cluster);
        if let Some(details) = details {
            text(&mut json, "kind", details.kind);
            text(&mut json, "client_type", details.client_type);
        }
        json.push('}');
        json
    }
}

/// Appends `"key":value`, with a comma before it if it isn't the first.
pub(crate) fn field(json: &mut String, key: &str, value: &str) {
    let comma = if json.ends_with('{') { "" } else { "," };
    // Writing to a string can't fail.
    let _ = write!(json, "{comma}\"{key}\":{value}");
}

impl Broker {
    /// Who asks something of `account`, as a document; through an import of another account,
    /// that is said.
    #[must_use]
    pub fn asker(&self, account: AccountId, from: Source) -> String {
        let slot = match from {
            Source::Client(conn) => self.by_conn.get(&conn).copied(),
            Source::Internal => None,
            Source::Link { link, .. } => self.links.get(&link).and_then(|link| link.slot),
        };
        let session = slot
            .and_then(|slot| self.conns.get(slot))
            .and_then(Connection::session);
        let own = session.map_or(account, |session| session.account);
        let mut info = self.info_at(slot, own, true);
        if own != account {
            info.service = self.name_of(account);
        }
        info.to_json()
    }

    /// Who published, in `account` if it was this server.
    pub(crate) fn info_of(&self, origin: Origin, account: AccountId, share: bool) -> ClientInfo {
        let slot = match origin {
            Origin::Client { slot, .. } => Some(slot),
            Origin::Link(link) => self.links.get(&link).and_then(|link| link.slot),
            Origin::Internal => None,
        };
        self.info_at(slot, account, share)
    }

    fn info_at(&self, slot: Option<u32>, account: AccountId, share: bool) -> ClientInfo {
        let connection = slot.and_then(|slot| self.conns.get(slot));
        let mut info = ClientInfo {
            account: self.name_of(account),
            ..ClientInfo::default()
        };
        if share {
            self.add_server(&mut info);
        }
        let Some(connection) = connection else {
            return info;
        };
        info.rtt_nanos = connection
            .session()
            .and_then(|session| session.ping.rtt.or(session.ping.guess))
            .map_or(0, |rtt| u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX));
        info.details = share.then(|| Box::new(details_of(connection)));
        info
    }

    /// Where the client is, for those further away.
    pub(crate) fn add_server(&self, info: &mut ClientInfo) {
        info.server.clone_from(&self.facts.name);
        // Without a cluster the facts carry the server's own name.
        if self.facts.cluster != self.facts.name {
            info.cluster.clone_from(&self.facts.cluster);
        }
    }
}

fn details_of(connection: &Connection) -> Details {
    let session = connection.session();
    let options = session.map(|session| &session.options);
    let user = session
        .and_then(|session| session.identity.as_ref())
        .map_or_else(String::new, |identity| identity.name().to_owned());
    let (kind, client_type) = match &connection.kind {
        Kind::Link(_) => ("Leafnode", ""),
        Kind::Client(_) | Kind::Closing => match connection.transport {
            Transport::Tcp | Transport::InProcess => ("Client", "nats"),
            Transport::WebSocket => ("Client", "websocket"),
        },
    };
    Details {
        start: connection.started.wall,
        host: connection.peer.ip.to_string(),
        id: connection.conn.0,
        user,
        name: options.map_or_else(String::new, |options| options.name.clone()),
        lang: options.map_or_else(String::new, |options| options.lang.clone()),
        version: options.map_or_else(String::new, |options| options.version.clone()),
        kind,
        client_type,
    }
}
