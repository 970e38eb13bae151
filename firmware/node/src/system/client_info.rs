use frond_account::Transport;
use frond_broker::ClientView;
use serde::Serialize;

use crate::Node;

use super::server_info::When;

/// A client as events tell of it.
///
/// spec: nats-server v2.15.1 server/events.go `ClientInfo`
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ClientInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<When>,
    #[serde(skip_serializing_if = "String::is_empty")]
    host: String,
    id: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    acc: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    lang: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    ver: String,
    /// Nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<When>,
    #[serde(skip_serializing_if = "String::is_empty")]
    jwt: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    issuer_key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name_tag: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    client_type: &'static str,
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A client.
    Client,
    /// Another server.
    Leafnode,
}

impl Node {
    /// Who a client is; `stop` when it is gone.
    pub(crate) fn client_info(
        &self,
        client: &ClientView,
        kind: Kind,
        stop: Option<When>,
    ) -> ClientInfo {
        let directory = self.broker.directory();
        let account = client
            .account
            .unwrap_or_else(|| directory.default_account());
        let known = client.known.as_ref();
        let voucher = known
            .map(|user| directory.voucher(user))
            .unwrap_or_default();
        ClientInfo {
            start: Some(When(client.start)),
            host: client
                .peer
                .map(|peer| peer.ip.to_string())
                .unwrap_or_default(),
            id: client.cid,
            jwt: voucher.jwt.to_owned(),
            issuer_key: voucher.issuer_key.to_owned(),
            name_tag: directory.name_tag(account).to_owned(),
            tags: voucher.tags.to_vec(),
            acc: self.account_name(account),
            user: client.user.clone(),
            name: client.name.clone(),
            lang: client.lang.clone(),
            ver: client.version.clone(),
            rtt: stop
                .and(client.rtt)
                .map(|rtt| u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX)),
            stop,
            kind: match kind {
                Kind::Client => "Client",
                Kind::Leafnode => "Leafnode",
            },
            client_type: match (kind, client.transport) {
                (Kind::Leafnode, _) => "",
                (Kind::Client, Transport::Tcp | Transport::InProcess) => "nats",
                (Kind::Client, Transport::WebSocket) => "websocket",
            },
        }
    }
}
