use std::collections::BTreeMap;

use frond_account::ClaimedAccount;
use frond_account::jwt::{AccountClaims, Severity};
use frond_clock::Timestamp;
use serde::Serialize;

use crate::text::{When, empty};

/// What the JWT of an account says.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct ClaimsInfo {
    #[serde(skip_serializing_if = "empty")]
    jwt: String,
    #[serde(skip_serializing_if = "empty")]
    issuer_key: String,
    #[serde(skip_serializing_if = "empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded_jwt: Option<AccountClaims>,
    #[serde(skip_serializing_if = "empty")]
    validation_result_jwt: Vec<IssueInfo>,
    #[serde(skip_serializing_if = "empty")]
    revoked_user: BTreeMap<String, When>,
}

/// Something about a JWT that is not as it should be.
#[derive(Debug, Default, PartialEq, Serialize)]
struct IssueInfo {
    description: String,
    blocking: bool,
    time_check: bool,
}

impl ClaimsInfo {
    pub(crate) fn of(account: &ClaimedAccount, now: Timestamp) -> Self {
        let claims = &account.claims;
        let found = claims.validate(now.as_nanos() / NANOS);
        let issues = found.issues.into_iter().map(|issue| IssueInfo {
            description: issue.text,
            blocking: issue.severity == Severity::Error,
            time_check: issue.severity == Severity::Time,
        });
        let when = |seconds: i64| When(Timestamp::from_nanos(seconds.saturating_mul(NANOS)));
        let revoked = claims.nats.revocations.iter();
        Self {
            jwt: account.text.to_string(),
            issuer_key: claims.issuer.clone(),
            tags: claims.nats.tags.clone(),
            decoded_jwt: (!account.is_temporary()).then(|| claims.clone()),
            validation_result_jwt: issues.collect(),
            revoked_user: revoked.map(|(key, at)| (key.clone(), when(*at))).collect(),
        }
    }
}

const NANOS: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use frond_account::Trust;
    use frond_account::jwt::OperatorLimits;
    use frond_account::nkey::{KeyPair, Role};

    use super::*;

    #[test]
    fn a_jwt_is_shown_with_what_it_says() {
        let operator = KeyPair::from_random(Role::Operator, &[1; 32]);
        let key = KeyPair::from_random(Role::Account, &[2; 32]).public_key();
        let mut claims = AccountClaims::about(&key);
        claims.nats.limits = OperatorLimits::unlimited();
        claims.nats.tags = vec!["a".into()];
        claims.nats.revocations.insert("*".into(), 1);
        let text = claims.encode(&operator).unwrap();
        let trust = Trust {
            issuers: [operator.public_key()].into(),
            ..Trust::default()
        };
        let account = ClaimedAccount::verify(&text, &trust, 0).unwrap();
        let shown = serde_json::to_value(ClaimsInfo::of(&account, Timestamp::default())).unwrap();
        assert_eq!(shown["jwt"], *text);
        assert_eq!(shown["issuer_key"], operator.public_key());
        assert_eq!(shown["decoded_jwt"]["sub"], key);
        assert_eq!(shown["revoked_user"]["*"], "1970-01-01T00:00:01Z");
        assert_eq!(
            serde_json::to_value(ClaimsInfo::default()).unwrap(),
            serde_json::json!({})
        );
    }
}
