use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::Body;
use super::validation::Validation;
use super::{Claim, ClaimedKind, Claims, JwtError, is_default, subject_text, v1};
use crate::nkey::{Role, is_public_key};

/// What the exporter lets the subject's account import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Activation {
    /// Its subject.
    #[serde(rename = "subject", skip_serializing_if = "is_default")]
    pub import_subject: String,
    /// Messages or answers.
    #[serde(rename = "kind", skip_serializing_if = "is_default")]
    pub import_kind: ClaimedKind,
    /// The account, when a signing key of it is the issuer.
    #[serde(skip_serializing_if = "is_default")]
    pub issuer_account: String,
    /// Labels.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// `activation`.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: String,
    /// 2, or 1 for a token of the old version.
    #[serde(skip_serializing_if = "is_default")]
    pub version: i64,
}

impl Activation {
    /// All but the times.
    pub(super) fn check_content(&self, found: &mut Validation) {
        if self.import_kind == ClaimedKind::Unknown {
            found.error("invalid import type: \"unknown\"");
        }
        subject_text::check(&self.import_subject, found);
        let account = &self.issuer_account;
        if !account.is_empty() && !is_public_key(Role::Account, account) {
            found.error("account_id is not an account public key");
        }
    }
}

impl Body for Activation {
    const KIND: &'static str = "activation";
    const ISSUERS: &'static [Role] = &[Role::Account, Role::Operator];
    const ISSUERS_TEXT: &'static str = "[account operator]";

    fn of(claims: Claims) -> Option<Claim<Self>> {
        let Claims::Activation(claim) = claims else {
            return None;
        };
        Some(*claim)
    }

    fn stamp(&mut self) {
        (self.kind, self.version) = ("activation".to_owned(), 2);
    }

    fn from_v1(claim: Value) -> Result<Claim<Self>, JwtError> {
        v1::moved(claim, |nats| {
            if let Some(kind) = nats.remove("type") {
                nats.insert("kind".to_owned(), kind);
            }
        })
    }

    fn check(claim: &Claim<Self>, wall_s: i64, found: &mut Validation) {
        claim.check_time(wall_s, found);
        claim.nats.check_content(found);
    }
}
