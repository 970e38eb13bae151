use serde::{Deserialize, Serialize};

use crate::go_json;

/// What a server says of itself in `INFO`, to clients and to other servers.
///
/// Written with nats-server's key order; empty strings, lists, zeros and `false` are left
/// out where it leaves them out.
/// spec: nats-server v2.15.1 `Info` in server/server.go
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "named by the protocol")]
pub struct ServerInfo {
    /// Public nkey of the server.
    pub server_id: String,
    pub server_name: String,
    pub version: String,
    /// Protocol level: 1 to clients, 3 to leafnodes.
    pub proto: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub git_commit: String,
    pub go: String,
    pub host: String,
    pub port: i64,
    pub headers: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub auth_required: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub tls_required: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub tls_verify: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub tls_available: bool,
    /// Bytes; -1 is unlimited.
    pub max_payload: i64,
    #[serde(skip_serializing_if = "is_default")]
    pub jetstream: bool,
    /// `host:port` of a server's listener for servers.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ip: String,
    #[serde(skip_serializing_if = "is_default")]
    pub client_id: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_ip: String,
    /// 15 characters that an nkey must sign.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nonce: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    #[serde(skip_serializing_if = "is_default")]
    pub cluster_dynamic: bool,
    /// JetStream domain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_urls: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ws_connect_urls: Vec<String>,
    /// Lame duck: going away soon.
    #[serde(skip_serializing_if = "is_default")]
    pub ldm: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub compression: String,
    /// Whether this answers the `CONNECT`.
    #[serde(skip_serializing_if = "is_default")]
    pub connect_info: bool,
    /// Account that the peer was bound to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remote_account: String,
    #[serde(skip_serializing_if = "is_default")]
    pub acc_is_sys: bool,
    /// JetStream API level.
    #[serde(skip_serializing_if = "is_default")]
    pub api_lvl: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<SubjectPermission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<SubjectPermission>,
    /// Whether a route understands `LS+` and `LMSG` with an origin.
    #[serde(skip_serializing_if = "is_default")]
    pub lnoc: bool,
    /// Whether it understands `LS-` with an origin.
    #[serde(skip_serializing_if = "is_default")]
    pub lnocu: bool,
    /// Whether it understands the origin `_` of leafnodes without a cluster.
    #[serde(skip_serializing_if = "is_default")]
    pub ln: bool,
    /// Whether each `CONNECT` is answered with an `INFO`.
    #[serde(skip_serializing_if = "is_default")]
    pub info_on_connect: bool,
    /// Connections of a route, besides those for one account.
    #[serde(skip_serializing_if = "is_default")]
    pub route_pool_size: i64,
    /// Which of them this is, by the dialer.
    #[serde(skip_serializing_if = "is_default")]
    pub route_pool_idx: i64,
    /// The one account of this connection.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub route_account: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub route_acc_add_reqid: String,
    /// Whether what is told here is told on: 0 as usual, 1 not, 2 always.
    #[serde(skip_serializing_if = "is_default")]
    pub gossip_mode: i64,
    /// The cluster of a gateway; a leafnode sees by it that it dialed the wrong port.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gateway: String,
    /// `host:port` of the gateways of that cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateway_urls: Vec<String>,
    /// `host:port` of this server's gateway, told by routes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gateway_url: String,
    /// What a gateway is to do: 1 gossip, 2 and 3 all interest begins and is complete.
    #[serde(skip_serializing_if = "is_default")]
    pub gateway_cmd: i64,
    /// The account that the command is about, as base64.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gateway_cmd_payload: String,
    /// Whether it understands replies of gateways of today.
    #[serde(skip_serializing_if = "is_default")]
    pub gateway_nrp: bool,
    /// Whether it is told all interest at once.
    #[serde(skip_serializing_if = "is_default")]
    pub gateway_iom: bool,
    /// `host:port` of the leafnode listeners of the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leafnode_urls: Vec<String>,
    /// Public curve key of the server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub xkey: String,
}

impl ServerInfo {
    /// Reads the JSON of an `INFO`.
    ///
    /// # Errors
    /// If it is no object or a value has the wrong type.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        go_json::from_slice(json)
    }
}

/// Subjects allowed and denied, as servers tell each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubjectPermission {
    /// Filters allowed; none stands for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Filters denied, whatever is allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

/// Go's `omitempty` for numbers and truth values.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO_CLIENT: &str = r#"{"server_id":"NA3U","server_name":"t1","version":"2.15.1","proto":1,"git_commit":"b2fd3ef","go":"go1.27.2","host":"127.0.0.1","port":18601,"headers":true,"auth_required":true,"max_payload":64,"client_id":7,"client_ip":"127.0.0.1","connect_info":true,"remote_account":"A","api_lvl":5,"xkey":"XDXH"}"#;
    const TO_LEAF: &str = r#"{"server_id":"NDHX","server_name":"hub1","version":"2.15.1","proto":3,"git_commit":"b2fd3ef","go":"go1.27.2","host":"127.0.0.1","port":17422,"headers":true,"auth_required":true,"max_payload":1048576,"ip":"127.0.0.1:17422","client_id":6,"nonce":"8XkoCVl0tJTsh0o","compression":"off","remote_account":"B","api_lvl":5,"import":{"allow":["a.\u003e","$SYS.\u003e"],"deny":["a.no"]},"export":{"deny":["no.pub"]},"info_on_connect":true,"leafnode_urls":["127.0.0.1:17422"]}"#;

    #[test]
    fn captured_infos_are_read_and_written_unchanged() {
        for json in [TO_CLIENT, TO_LEAF] {
            let info = ServerInfo::parse(json.as_bytes()).unwrap();
            assert_eq!(go_json::to_string(&info), json);
        }
    }

    #[test]
    fn keys_without_a_value_are_written_where_nats_server_writes_them() {
        assert_eq!(
            go_json::to_string(&ServerInfo::default()),
            r#"{"server_id":"","server_name":"","version":"","proto":0,"go":"","host":"","port":0,"headers":false,"max_payload":0}"#
        );
    }
}
