use serde::{Deserialize, Serialize};

use crate::go_json;
use crate::server_info::is_default;

/// What a dialing route or gateway says of itself in `CONNECT`; empty strings stand for absent ones.
///
/// spec: nats-server v2.15.1 `connectInfo` in server/route.go
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "named by the protocol")]
pub struct RouteConnect {
    pub echo: bool,
    pub verbose: bool,
    pub pedantic: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pass: String,
    pub tls_required: bool,
    pub headers: bool,
    /// The server id of the dialer.
    pub name: String,
    pub cluster: String,
    /// Whether that name was made up.
    #[serde(skip_serializing_if = "is_default")]
    pub cluster_dynamic: bool,
    /// Whether it understands `LS+` and `LMSG` with an origin.
    #[serde(skip_serializing_if = "is_default")]
    pub lnoc: bool,
    /// Whether it understands `LS-` with an origin.
    #[serde(skip_serializing_if = "is_default")]
    pub lnocu: bool,
    /// Whether it understands the origin `_` of leafnodes without a cluster.
    #[serde(skip_serializing_if = "is_default")]
    pub ln: bool,
    /// The cluster of a dialing gateway.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gateway: String,
    /// Set only by a client that dialed the wrong port.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lang: String,
}

impl RouteConnect {
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
        let json = br#"{"echo":true,"verbose":false,"pedantic":false,"user":"r","pass":"r","tls_required":false,"headers":true,"name":"NBMW","cluster":"C1","lnoc":true,"ln":true}"#;
        let connect = RouteConnect::parse(json).unwrap();
        assert_eq!((connect.name.as_str(), connect.lnoc), ("NBMW", true));
        assert_eq!(go_json::to_vec(&connect), json);
    }
}
