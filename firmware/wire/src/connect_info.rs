use serde::{Deserialize, Serialize};

use crate::go_json;
use crate::server_info::{SubjectPermission, is_default};

/// What a client says of itself in `CONNECT`; empty strings stand for absent ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "named by the protocol")]
pub struct ConnectInfo {
    /// Whether the client's own messages come back to it.
    pub echo: bool,
    /// Whether each operation is answered with `+OK`.
    pub verbose: bool,
    /// Whether publish subjects are checked.
    pub pedantic: bool,
    pub tls_required: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nkey: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub jwt: String,
    /// Signature of the nonce, base64.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sig: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub auth_token: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pass: String,
    pub name: String,
    pub lang: String,
    pub version: String,
    /// 1 for clients that understand later `INFO`s.
    pub protocol: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub account: String,
    #[serde(skip_serializing_if = "is_default")]
    pub new_account: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub headers: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub no_responders: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<SubjectPermission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<SubjectPermission>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remote_account: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub proxy_sig: String,
}

impl ConnectInfo {
    /// Reads the JSON of a `CONNECT`.
    ///
    /// # Errors
    /// If it is no object or a value has the wrong type.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        go_json::from_slice(json)
    }

    /// The same for a client that said something before: what it doesn't name stays.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_over(&self, json: &[u8]) -> Result<Self, serde_json::Error> {
        go_json::from_slice_over(self, json)
    }
}

impl Default for ConnectInfo {
    /// What counts for keys that are absent, and for clients that send no `CONNECT`.
    fn default() -> Self {
        Self {
            echo: true,
            verbose: true,
            pedantic: true,
            tls_required: false,
            nkey: String::new(),
            jwt: String::new(),
            sig: String::new(),
            auth_token: String::new(),
            user: String::new(),
            pass: String::new(),
            name: String::new(),
            lang: String::new(),
            version: String::new(),
            protocol: 0,
            account: String::new(),
            new_account: false,
            headers: false,
            no_responders: false,
            import: None,
            export: None,
            remote_account: String::new(),
            proxy_sig: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_keys_have_their_defaults() {
        let read = ConnectInfo::parse(b"{}").unwrap();
        assert_eq!(read, ConnectInfo::default());
        assert!(read.verbose && read.pedantic && read.echo);
    }

    #[test]
    fn half_a_character_is_read_as_go_does() {
        let name = |json: &str| ConnectInfo::parse(json.as_bytes()).map(|read| read.name);
        let read = name(r#"{"name":"\ud800x\ude00\ud83d\ude00\\ud800"}"#).unwrap();
        assert_eq!(read, "\u{fffd}x\u{fffd}\u{1f600}\\ud800");
        assert!(name(r#"{"name":"\ud800"#).is_err());
    }

    #[test]
    fn what_a_second_one_does_not_name_stays() {
        let first = ConnectInfo::parse(br#"{"verbose":false,"echo":false,"name":"a"}"#).unwrap();
        let second = first.parse_over(br#"{"NAME":"b","echo":null}"#).unwrap();
        let expected = ConnectInfo {
            name: "b".into(),
            ..first.clone()
        };
        assert_eq!(second, expected);
        assert!(first.parse_over(b"7").is_err());
    }

    #[test]
    fn writing_and_reading_are_inverse() {
        let info = ConnectInfo {
            verbose: false,
            user: "a".into(),
            pass: "<b>".into(),
            protocol: 1,
            headers: true,
            ..ConnectInfo::default()
        };
        let json = go_json::to_vec(&info);
        assert_eq!(
            core::str::from_utf8(&json).unwrap(),
            r#"{"echo":true,"verbose":false,"pedantic":true,"tls_required":false,"user":"a","pass":"\u003cb\u003e","name":"","lang":"","version":"","protocol":1,"headers":true}"#
        );
        assert_eq!(ConnectInfo::parse(&json).unwrap(), info);
    }
}
