use serde::{Deserialize, Serialize};

use super::body::Body;
use super::validation::Validation;
use super::{Claim, Claims, OperatorClaims, is_default};
use crate::nkey::{Role, is_public_key};

/// What an operator says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Operator {
    /// Public keys that sign in its name.
    #[serde(skip_serializing_if = "is_default")]
    pub signing_keys: Vec<String>,
    /// Where accounts are looked up.
    #[serde(skip_serializing_if = "is_default")]
    pub account_server_url: String,
    /// Where servers can be reached.
    #[serde(skip_serializing_if = "is_default")]
    pub operator_service_urls: Vec<String>,
    /// The account of the servers themselves.
    #[serde(skip_serializing_if = "is_default")]
    pub system_account: String,
    /// The oldest server that may use it.
    #[serde(skip_serializing_if = "is_default")]
    pub assert_server_version: String,
    /// Whether only signing keys may sign accounts.
    #[serde(skip_serializing_if = "is_default")]
    pub strict_signing_key_usage: bool,
    /// Labels.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// `operator`.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: String,
    /// 2.
    #[serde(skip_serializing_if = "is_default")]
    pub version: i64,
}

impl OperatorClaims {
    /// Whether this operator signed a claim of `issuer` about `subject`.
    #[must_use]
    pub fn did_sign(&self, issuer: &str, subject: &str) -> bool {
        if issuer == self.subject {
            return !self.nats.strict_signing_key_usage || subject == self.subject;
        }
        self.nats.signing_keys.iter().any(|key| key == issuer)
    }
}

impl Body for Operator {
    const KIND: &'static str = "operator";
    const ISSUERS: &'static [Role] = &[Role::Operator];
    const ISSUERS_TEXT: &'static str = "[operator]";

    fn of(claims: Claims) -> Option<Claim<Self>> {
        let Claims::Operator(claim) = claims else {
            return None;
        };
        Some(*claim)
    }

    fn stamp(&mut self) {
        (self.kind, self.version) = ("operator".to_owned(), 2);
    }

    fn check(claim: &Claim<Self>, wall_s: i64, found: &mut Validation) {
        claim.check_time(wall_s, found);
        let operator = &claim.nats;
        check_url(&operator.account_server_url, found);
        for url in &operator.operator_service_urls {
            check_service_url(url, found);
        }
        for key in &operator.signing_keys {
            if !is_public_key(Role::Operator, key) {
                found.error(format!("{key} is not an operator public key"));
            }
        }
        let system = &operator.system_account;
        if !system.is_empty() && !is_public_key(Role::Account, system) {
            found.error(format!("{system} is not an account public key"));
        }
        check_version(&operator.assert_server_version, found);
    }
}

fn check_url(url: &str, found: &mut Validation) {
    if !url.is_empty() && !url.contains("://") {
        found.error(format!("account server url {url:?} requires a protocol"));
    }
}

fn check_service_url(url: &str, found: &mut Validation) {
    if url.is_empty() {
        return;
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let what = if rest.contains('@') {
        "credentials are not supported"
    } else if rest.contains('/') {
        "paths are not supported"
    } else if !["nats", "tls", "ws", "wss"].contains(&scheme.to_ascii_lowercase().as_str()) {
        "protocol not supported (only 'nats', 'tls', 'ws', 'wss' only)"
    } else {
        return;
    };
    found.error(format!("operator service url {url:?} - {what}"));
}

fn check_version(version: &str, found: &mut Validation) {
    let parts: Vec<&str> = version.split('.').collect();
    let problem = if version.is_empty() {
        None
    } else if parts.len() == 3 {
        let odd = parts.iter().find(|part| part.parse::<u32>().is_err());
        odd.map(|part| format!("asserted server version cant parse {part} to int"))
    } else {
        Some("asserted server version must be of the form <major>.<minor>.<update>".to_owned())
    };
    if let Some(problem) = problem {
        found.error(format!("assert server version error: {problem}"));
    }
}
