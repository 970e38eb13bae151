use serde::{Deserialize, Serialize};

use crate::go_json;
use crate::server_info::is_default;

/// What a soliciting leafnode says of itself in `CONNECT`; empty strings stand for absent ones.
///
/// spec: nats-server v2.15.1 `leafConnectInfo` in server/leafnode.go
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "named by the protocol")]
pub struct LeafConnect {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nkey: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub jwt: String,
    /// Signature of the nonce, base64.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sig: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pass: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub auth_token: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub server_id: String,
    /// JetStream domain of the solicitor.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// Server name of the solicitor.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether the solicitor is the hub of the two.
    #[serde(skip_serializing_if = "is_default")]
    pub is_hub: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    #[serde(skip_serializing_if = "is_default")]
    pub headers: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub jetstream: bool,
    /// Subjects that the acceptor must not publish to us.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_pub: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub isolate: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub compress_mode: String,
    /// Set only by a gateway that dialed the wrong port.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gateway: String,
    /// Account that the solicitor binds to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remote_account: String,
    #[serde(skip_serializing_if = "is_default")]
    pub protocol: i64,
    /// Set only by a client that dialed the wrong port.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lang: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub proxy_sig: String,
}

impl LeafConnect {
    /// Reads the JSON of a `CONNECT`.
    ///
    /// # Errors
    /// If it is no object or a value has the wrong type.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        go_json::from_slice(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_connect_is_read_and_written_unchanged() {
        let json = br#"{"version":"2.15.1","user":"leaf","pass":"leaf","server_id":"NAB5","domain":"edge1","name":"leafjs","cluster":"leafjs","headers":true,"jetstream":true,"deny_pub":["di.\u003e"],"isolate":true,"compress_mode":"off","remote_account":"A","protocol":3}"#;
        let connect = LeafConnect::parse(json).unwrap();
        assert_eq!(connect.deny_pub, ["di.>"]);
        assert_eq!(go_json::to_vec(&connect), json);
    }
}
