use frond_account::{PeerKind, Transport};
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

/// The account of a leafnode that never was in one.
const NO_ACCOUNT: &str = "N/A";

impl Node {
    /// Who a client is; `stop` when it is gone.
    pub(crate) fn client_info(
        &self,
        client: &ClientView,
        kind: PeerKind,
        stop: Option<When>,
    ) -> ClientInfo {
        let directory = self.broker.directory();
        let account = match (client.account, kind) {
            (Some(account), _) => Some(account),
            // Who never came further was in the default account.
            (None, PeerKind::Client) => Some(directory.default_account()),
            (None, PeerKind::Leafnode) => None,
        };
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
            name_tag: account
                .map_or("", |account| directory.name_tag(account))
                .to_owned(),
            tags: voucher.tags.to_vec(),
            acc: account.map_or_else(
                || NO_ACCOUNT.to_owned(),
                |account| self.account_name(account),
            ),
            user: client.user.clone(),
            name: client.name.clone(),
            lang: client.lang.clone(),
            ver: client.version.clone(),
            rtt: stop
                .and(client.rtt)
                .map(|rtt| u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX)),
            stop,
            kind: match kind {
                PeerKind::Client => "Client",
                PeerKind::Leafnode => "Leafnode",
            },
            client_type: match (kind, client.transport) {
                (PeerKind::Leafnode, _) => "",
                (PeerKind::Client, Transport::Tcp | Transport::InProcess) => "nats",
                (PeerKind::Client, Transport::WebSocket) => "websocket",
            },
        }
    }
}
