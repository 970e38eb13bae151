use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::body::Body;
use super::validation::Validation;
use super::{
    Cidr, Claim, Claims, JwtError, NO_LIMIT, PermissionClaims, UserClaims, is_default, v1,
};
use crate::nkey::{Role, is_public_key};

/// What an account says about one of its users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct User {
    /// What it may do.
    #[serde(flatten)]
    pub may: UserPermissionLimits,
    /// The account, when a signing key of it is the issuer.
    #[serde(skip_serializing_if = "is_default")]
    pub issuer_account: String,
    /// Labels.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: Vec<String>,
    /// `user`.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: String,
    /// 2, or 1 for a token of the old version.
    #[serde(skip_serializing_if = "is_default")]
    pub version: i64,
}

/// What a user, or every user of a scoped signing key, may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserPermissionLimits {
    /// Subjects.
    #[serde(flatten)]
    pub permissions: PermissionClaims,
    /// Addresses it may come from; empty is any.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "cidrs")]
    pub src: Vec<String>,
    /// Times of the day it may come; empty is any.
    #[serde(skip_serializing_if = "is_default")]
    pub times: Vec<TimeRange>,
    /// The time zone of these; empty is UTC.
    #[serde(skip_serializing_if = "is_default")]
    pub times_location: String,
    /// Subscriptions; [`NO_LIMIT`] is no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub subs: i64,
    /// Bytes altogether; nobody counts them.
    #[serde(skip_serializing_if = "is_default")]
    pub data: i64,
    /// Bytes of one message; [`NO_LIMIT`] is no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub payload: i64,
    /// Whether the token alone is enough, without a signature of the nonce.
    #[serde(skip_serializing_if = "is_default")]
    pub bearer_token: bool,
    /// Whether it may come only through a trusted proxy.
    #[serde(skip_serializing_if = "is_default")]
    pub proxy_required: bool,
    /// How it may connect: `STANDARD`, `LEAFNODE`, …; empty is any way.
    #[serde(skip_serializing_if = "is_default")]
    pub allowed_connection_types: Vec<String>,
}

/// A part of the day, `15:04:05`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeRange {
    /// Its start.
    #[serde(skip_serializing_if = "is_default")]
    pub start: String,
    /// Its end.
    #[serde(skip_serializing_if = "is_default")]
    pub end: String,
}

impl UserClaims {
    /// The public key of the account it belongs to.
    #[must_use]
    pub fn account(&self) -> &str {
        if self.nats.issuer_account.is_empty() {
            &self.issuer
        } else {
            &self.nats.issuer_account
        }
    }
}

impl UserPermissionLimits {
    /// Where a new user starts.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            subs: NO_LIMIT,
            data: NO_LIMIT,
            payload: NO_LIMIT,
            ..Self::default()
        }
    }

    /// Whether nothing is said, as it must be when a scoped key signed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }

    fn check(&self, found: &mut Validation) {
        self.permissions.check(found);
        for range in &self.src {
            if Cidr::parse(range).is_none() {
                found.error(format!("invalid cidr {range:?} in user src limits"));
            }
        }
        for range in &self.times {
            check_clock("start", &range.start, found);
            check_clock("end", &range.end, found);
        }
    }
}

impl Body for User {
    const KIND: &'static str = "user";
    const ISSUERS: &'static [Role] = &[Role::Account];
    const ISSUERS_TEXT: &'static str = "[account]";

    fn of(claims: Claims) -> Option<Claim<Self>> {
        let Claims::User(claim) = claims else {
            return None;
        };
        Some(*claim)
    }

    fn stamp(&mut self) {
        (self.kind, self.version) = ("user".to_owned(), 2);
    }

    fn from_v1(claim: Value) -> Result<Claim<Self>, JwtError> {
        v1::moved(claim, |nats| {
            for limit in ["subs", "data", "payload"] {
                nats.entry(limit).or_insert(Value::from(NO_LIMIT));
            }
            for later in ["proxy_required", "allowed_connection_types"] {
                nats.remove(later);
            }
        })
    }

    fn check(claim: &Claim<Self>, wall_s: i64, found: &mut Validation) {
        claim.check_time(wall_s, found);
        claim.nats.may.check(found);
        let account = &claim.nats.issuer_account;
        if !account.is_empty() && !is_public_key(Role::Account, account) {
            found.error("account_id is not an account public key");
        }
    }
}

/// Seconds of the day of `15:04:05`.
fn clock_s(text: &str) -> Option<u32> {
    let mut parts = text.split(':').map(|part| {
        let digits = matches!(part.len(), 1 | 2) && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse::<u32>().ok()).flatten()
    });
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let valid = parts.next().is_none() && hour < 24 && minute < 60 && second < 60;
    valid.then_some(hour * 3600 + minute * 60 + second)
}

impl TimeRange {
    /// Start and end as seconds of the day; `None` when one is no time.
    #[must_use]
    pub fn seconds(&self) -> Option<(u32, u32)> {
        Some((clock_s(&self.start)?, clock_s(&self.end)?))
    }
}

fn check_clock(which: &str, text: &str, found: &mut Validation) {
    if text.is_empty() {
        let article = if which == "end" { "an" } else { "a" };
        found.error(format!(
            "time ranges {which} must contain {article} {which}"
        ));
    } else if clock_s(text).is_none() {
        found.error(format!("{which} in time range is invalid {text:?}"));
    }
}

/// A list, or a text with commas.
fn cidrs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Ranges {
        List(Vec<String>),
        Text(String),
    }
    Ok(match Ranges::deserialize(from)? {
        Ranges::List(list) => list,
        Ranges::Text(text) => {
            let mut list: Vec<String> = Vec::new();
            for range in text.split(',').map(|range| range.trim().to_lowercase()) {
                if !range.is_empty() && !list.contains(&range) {
                    list.push(range);
                }
            }
            list
        }
    })
}
