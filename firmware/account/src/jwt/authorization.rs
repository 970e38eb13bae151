use serde::{Deserialize, Serialize};

use super::body::Body;
use super::validation::Validation;
use super::{Claim, Claims, is_default};
use crate::nkey::{Role, is_public_key};

/// All a server knows about a peer that asks to be let in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthRequest {
    /// The server that asks.
    #[serde(rename = "server_id")]
    pub server: ServerId,
    /// The key the answer must be about, made for this question.
    pub user_nkey: String,
    /// The peer.
    pub client_info: ClientInformation,
    /// What its `CONNECT` said.
    pub connect_opts: ConnectOptions,
    /// Its TLS session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_tls: Option<ClientTls>,
    /// Unused.
    #[serde(skip_serializing_if = "is_default")]
    pub request_nonce: String,
    /// Labels.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// `authorization_request`.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: String,
    /// 2.
    #[serde(skip_serializing_if = "is_default")]
    pub version: i64,
}

/// A server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerId {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub host: String,
    /// Its public key.
    pub id: String,
    /// Its version.
    #[serde(skip_serializing_if = "is_default")]
    pub version: String,
    /// Its cluster.
    #[serde(skip_serializing_if = "is_default")]
    pub cluster: String,
    /// Its labels.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// Its curve key, for sealed answers.
    #[serde(skip_serializing_if = "is_default")]
    pub xkey: String,
}

/// A peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientInformation {
    /// Its address.
    #[serde(skip_serializing_if = "is_default")]
    pub host: String,
    /// The number of its connection.
    #[serde(skip_serializing_if = "is_default")]
    pub id: u64,
    /// The user it says to be.
    #[serde(skip_serializing_if = "is_default")]
    pub user: String,
    /// What it calls itself.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// Labels of its token.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// The name in its token.
    #[serde(skip_serializing_if = "is_default")]
    pub name_tag: String,
    /// `Client` or `Leafnode`.
    #[serde(skip_serializing_if = "is_default")]
    pub kind: String,
    /// `nats`, `websocket` or `mqtt`.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub client_type: String,
    /// Its MQTT client id.
    #[serde(skip_serializing_if = "is_default")]
    pub mqtt_id: String,
    /// What it had to sign.
    #[serde(skip_serializing_if = "is_default")]
    pub nonce: String,
}

/// What a `CONNECT` said. Holds secrets.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectOptions {
    /// A token.
    #[serde(skip_serializing_if = "is_default")]
    pub jwt: String,
    /// A public key.
    #[serde(skip_serializing_if = "is_default")]
    pub nkey: String,
    /// The signature of the nonce.
    #[serde(skip_serializing_if = "is_default")]
    pub sig: String,
    /// A token of the other sort.
    #[serde(skip_serializing_if = "is_default")]
    pub auth_token: String,
    /// A user.
    #[serde(skip_serializing_if = "is_default")]
    pub user: String,
    /// A password.
    #[serde(skip_serializing_if = "is_default")]
    pub pass: String,
    /// What the client calls itself.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// Its language.
    #[serde(skip_serializing_if = "is_default")]
    pub lang: String,
    /// Its version.
    #[serde(skip_serializing_if = "is_default")]
    pub version: String,
    /// The protocol it speaks.
    pub protocol: i64,
}

/// Never prints a secret.
impl core::fmt::Debug for ConnectOptions {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ConnectOptions")
            .field("nkey", &self.nkey)
            .field("user", &self.user)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A TLS session; certificates are PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientTls {
    /// `1.3`.
    #[serde(skip_serializing_if = "is_default")]
    pub version: String,
    /// The cipher suite.
    #[serde(skip_serializing_if = "is_default")]
    pub cipher: String,
    /// What the peer showed, not verified.
    #[serde(skip_serializing_if = "is_default")]
    pub certs: Vec<String>,
    /// What the peer showed, verified; its own is the first of each.
    #[serde(skip_serializing_if = "is_default")]
    pub verified_chains: Vec<Vec<String>>,
}

/// What an authorization service says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthResponse {
    /// Who the peer is: a user's token.
    #[serde(skip_serializing_if = "is_default")]
    pub jwt: String,
    /// Why it may not come in.
    #[serde(skip_serializing_if = "is_default")]
    pub error: String,
    /// The account, when a signing key of it is the issuer.
    #[serde(skip_serializing_if = "is_default")]
    pub issuer_account: String,
    /// Labels.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// `authorization_response`.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: String,
    /// 2.
    #[serde(skip_serializing_if = "is_default")]
    pub version: i64,
}

impl Body for AuthRequest {
    const KIND: &'static str = "an authorization request";
    const ISSUERS: &'static [Role] = &[Role::Server];
    const ISSUERS_TEXT: &'static str = "[server]";

    fn of(claims: Claims) -> Option<Claim<Self>> {
        let Claims::AuthRequest(claim) = claims else {
            return None;
        };
        Some(*claim)
    }

    fn stamp(&mut self) {
        (self.kind, self.version) = ("authorization_request".to_owned(), 2);
    }

    fn check(claim: &Claim<Self>, wall_s: i64, found: &mut Validation) {
        let key = &claim.nats.user_nkey;
        if key.is_empty() {
            found.error("User nkey is required");
        } else if !is_public_key(Role::User, key) {
            found.error(format!("User nkey {key:?} is not a valid user public key"));
        }
        claim.check_time(wall_s, found);
    }
}

impl Body for AuthResponse {
    const KIND: &'static str = "an authorization response";
    const ISSUERS: &'static [Role] = &[Role::Account];
    const ISSUERS_TEXT: &'static str = "[account]";

    fn of(claims: Claims) -> Option<Claim<Self>> {
        let Claims::AuthResponse(claim) = claims else {
            return None;
        };
        Some(*claim)
    }

    fn stamp(&mut self) {
        (self.kind, self.version) = ("authorization_response".to_owned(), 2);
    }

    fn check(claim: &Claim<Self>, wall_s: i64, found: &mut Validation) {
        let answer = &claim.nats;
        if !is_public_key(Role::User, &claim.subject) {
            found.error("Subject must be a user public key");
        }
        if !is_public_key(Role::Server, &claim.audience) {
            found.error("Audience must be a server public key");
        }
        match (answer.error.is_empty(), answer.jwt.is_empty()) {
            (true, true) => found.error("Error or Jwt is required"),
            (false, false) => found.error("Only Error or Jwt can be set"),
            (true, false) | (false, true) => {}
        }
        let account = &answer.issuer_account;
        if !account.is_empty() && !is_public_key(Role::Account, account) {
            found.error("issuer_account is not an account public key");
        }
        claim.check_time(wall_s, found);
    }
}
