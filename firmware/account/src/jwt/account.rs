use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::Body;
use super::validation::Validation;
use super::{
    AccountClaims, Claim, ClaimedExport, ClaimedImport, Claims, JwtError, OperatorLimits,
    PermissionClaims, SigningKeys, WeightedMapping, exports, imports, is_default, mappings,
    subject_text, v1,
};
use crate::nkey::{Role, is_public_key};
use crate::xkey;

/// What an operator says about an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// What it takes from others.
    #[serde(skip_serializing_if = "is_default")]
    pub imports: Vec<ClaimedImport>,
    /// What others may take from it.
    #[serde(skip_serializing_if = "is_default")]
    pub exports: Vec<ClaimedExport>,
    /// What it may use.
    pub limits: OperatorLimits,
    /// Who signs in its name.
    #[serde(skip_serializing_if = "is_default")]
    pub signing_keys: SigningKeys,
    /// Users (`*` is all) whose tokens of that second or before are void.
    #[serde(skip_serializing_if = "is_default")]
    pub revocations: BTreeMap<String, i64>,
    /// What users without permissions of their own may do.
    pub default_permissions: PermissionClaims,
    /// Subjects that become others.
    #[serde(skip_serializing_if = "is_default")]
    pub mappings: BTreeMap<String, Vec<WeightedMapping>>,
    /// Who says who its users are.
    pub authorization: ExternalAuthorization,
    /// Where traces go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<MsgTrace>,
    /// Whose connections carry it in a cluster: `system`, `owner` or nothing.
    #[serde(skip_serializing_if = "is_default")]
    pub cluster_traffic: String,
    /// For people.
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// For people.
    #[serde(skip_serializing_if = "is_default")]
    pub info_url: String,
    /// Labels.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// `account`.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: String,
    /// 2, or 1 for a token of the old version.
    #[serde(skip_serializing_if = "is_default")]
    pub version: i64,
}

/// An authorization service, when there are `auth_users`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExternalAuthorization {
    /// Users that are not asked about, the service itself.
    #[serde(skip_serializing_if = "is_default")]
    pub auth_users: Vec<String>,
    /// Accounts the service may put users into besides its own; `*` is any.
    #[serde(skip_serializing_if = "is_default")]
    pub allowed_accounts: Vec<String>,
    /// The curve key requests are sealed for.
    #[serde(skip_serializing_if = "is_default")]
    pub xkey: String,
}

/// Where traces go that a `traceparent` header asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MsgTrace {
    /// The subject.
    #[serde(rename = "dest", skip_serializing_if = "is_default")]
    pub destination: String,
    /// Percent of the messages that ask; 0 is all.
    #[serde(skip_serializing_if = "is_default")]
    pub sampling: i64,
}

impl ExternalAuthorization {
    /// Whether there is a service.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        !self.auth_users.is_empty()
    }

    /// Whether the service may put users into this account, which is not its own.
    #[must_use]
    pub fn may_place_in(&self, account: &str) -> bool {
        match self.allowed_accounts.as_slice() {
            [any] if any == "*" => true,
            allowed => allowed.iter().any(|name| name == account),
        }
    }

    fn check(&self, found: &mut Validation) {
        if !self.allowed_accounts.is_empty() && self.auth_users.is_empty() {
            found.error("External authorization cannot have accounts without users specified");
        }
        for user in &self.auth_users {
            if !is_public_key(Role::User, user) {
                found.error(format!("AuthUser {user:?} is not a valid user public key"));
            }
        }
        for account in &self.allowed_accounts {
            if account == "*" {
                if self.allowed_accounts.len() > 1 {
                    found.error("AllowedAccounts can only be a list of accounts or \"*\"");
                }
            } else if !is_public_key(Role::Account, account) {
                found.error(format!(
                    "Account {account:?} is not a valid account public key"
                ));
            }
        }
        if !self.xkey.is_empty() && !xkey::is_public_key(&self.xkey) {
            found.error(format!("XKey {:?} is not a valid public xkey", self.xkey));
        }
    }
}

impl MsgTrace {
    fn check(&self, found: &mut Validation) {
        let mut subject = Validation::default();
        subject_text::check(&self.destination, &mut subject);
        if let Some(first) = subject.issues.first() {
            found.error(format!("the account Trace.Destination {}", first.text));
        }
        if subject_text::has_wildcards(&self.destination) {
            found.error(format!(
                "the account Trace.Destination subject {:?} is not a valid publish subject",
                self.destination
            ));
        }
        if !(0..=100).contains(&self.sampling) {
            found.error(format!(
                "the account Trace.Sampling value '{}' is not valid, should be in the range [1..100]",
                self.sampling
            ));
        }
    }
}

impl AccountClaims {
    /// Whether the account signed a claim of `issuer` that names `issuer_account`.
    #[must_use]
    pub fn did_sign(&self, issuer: &str, issuer_account: &str) -> bool {
        issuer == self.subject
            || issuer_account == self.subject && self.nats.signing_keys.contains(issuer)
    }
}

/// Whether a list of revocations voids what was issued to `key` at `issued_at`, unix seconds.
#[must_use]
pub fn is_revoked(revocations: &BTreeMap<String, i64>, key: &str, issued_at: i64) -> bool {
    ["*", key]
        .into_iter()
        .filter_map(|key| revocations.get(key))
        .any(|until| *until >= issued_at)
}

impl Body for Account {
    const KIND: &'static str = "account";
    const ISSUERS: &'static [Role] = &[Role::Account, Role::Operator];
    const ISSUERS_TEXT: &'static str = "[account operator]";

    fn of(claims: Claims) -> Option<Claim<Self>> {
        let Claims::Account(claim) = claims else {
            return None;
        };
        Some(tiers_win(*claim))
    }

    fn stamp(&mut self) {
        (self.kind, self.version) = ("account".to_owned(), 2);
    }

    fn from_v1(claim: Value) -> Result<Claim<Self>, JwtError> {
        v1::moved(claim, |nats| {
            *nats = kept(core::mem::take(nats), V1_FIELDS);
            if let Some(limits) = nats.get_mut("limits").and_then(Value::as_object_mut) {
                *limits = kept(core::mem::take(limits), V1_LIMITS);
            }
        })
    }

    fn check(claim: &Claim<Self>, wall_s: i64, found: &mut Validation) {
        claim.check_time(wall_s, found);
        let account = &claim.nats;
        imports::check(&account.imports, &claim.subject, found);
        exports::check(&account.exports, found);
        account.limits.check(found);
        account.default_permissions.check(found);
        mappings::check(&account.mappings, found);
        account.authorization.check(found);
        if let Some(trace) = &account.trace {
            trace.check(found);
        }
        check_counts(account, found);
        account.signing_keys.check(found);
        exports::check_info(&account.description, &account.info_url, found);
        let traffic = account.cluster_traffic.as_str();
        if !["", "system", "owner"].contains(&traffic) {
            found.error(format!("unknown cluster traffic option: {traffic:?}"));
        }
        if is_public_key(Role::Account, &claim.issuer) && !is_default(&account.limits) {
            found.warning("self-signed account JWTs shouldn't contain operator limits");
        }
    }
}

fn check_counts(account: &Account, found: &mut Validation) {
    let limits = &account.limits;
    let over =
        |count: usize, limit: i64| limit >= 0 && i64::try_from(count).is_ok_and(|n| n > limit);
    if over(account.imports.len(), limits.imports) {
        found.error("the account contains more imports than allowed by the operator");
    }
    if limits.exports < 0 {
        return;
    }
    if over(account.exports.len(), limits.exports) {
        found.error("the account contains more exports than allowed by the operator");
    }
    let mut subjects = account.exports.iter().map(|export| &export.subject);
    if !limits.wildcards && subjects.any(|subject| subject_text::has_wildcards(subject)) {
        found.error("the account contains wildcard exports that are not allowed by the operator");
    }
}

/// With tiers the other limits of JetStream say nothing.
fn tiers_win(mut claim: AccountClaims) -> AccountClaims {
    if !claim.nats.limits.tiered_limits.is_empty() {
        claim.nats.limits.jetstream = Default::default();
    }
    claim
}

fn kept(fields: Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let known = fields.into_iter();
    known
        .filter(|(name, _)| names.contains(&name.as_str()))
        .collect()
}

const V1_FIELDS: &[&str] = &[
    "imports",
    "exports",
    "limits",
    "signing_keys",
    "revocations",
];
const V1_LIMITS: &[&str] = &[
    "subs",
    "data",
    "payload",
    "imports",
    "exports",
    "wildcards",
    "conn",
    "leaf",
];
