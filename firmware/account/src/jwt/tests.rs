//! The tokens were made with nats-io/jwt v2.8.1 (`-v1`: its `v1compat`) from keys whose bytes are
//! all the same.

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;

use super::*;
use crate::nkey::{KeyPair, Role};

macro_rules! token {
    ($name:literal) => {
        include_str!(concat!("tests/", $name, ".jwt")).trim()
    };
}

fn key(role: Role, byte: u8) -> KeyPair {
    KeyPair::from_random(role, &[byte; 32])
}

fn public(role: Role, byte: u8) -> String {
    key(role, byte).public_key()
}

fn payload(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).unwrap()).unwrap()
}

/// Decoded and encoded again it says the same, to the last field.
fn says_the_same<T: Body>(token: &str, by: &KeyPair) {
    let again = Claim::<T>::decode(token).unwrap().encode(by).unwrap();
    assert_eq!(payload(&again), payload(token));
    Claim::<T>::decode(&again).unwrap();
}

#[test]
fn every_field_of_every_kind_survives() {
    says_the_same::<Operator>(token!("operator"), &key(Role::Operator, 1));
    says_the_same::<Account>(token!("account"), &key(Role::Operator, 2));
    says_the_same::<Activation>(token!("activation"), &key(Role::Account, 6));
    says_the_same::<User>(token!("user"), &key(Role::Account, 4));
    says_the_same::<User>(token!("user-scoped"), &key(Role::Account, 5));
    says_the_same::<AuthRequest>(token!("auth-request"), &key(Role::Server, 8));
    says_the_same::<AuthResponse>(token!("auth-response"), &key(Role::Account, 3));
}

#[test]
fn an_operator_says_who_signs_for_it() {
    let operator = OperatorClaims::decode(token!("operator")).unwrap();
    assert_eq!(operator.name, "OP");
    assert!(operator.is_self_signed());
    assert_eq!(operator.nats.tags, ["edge"]);
    let (main, signing) = (public(Role::Operator, 1), public(Role::Operator, 2));
    assert!(operator.did_sign(&signing, "A"));
    assert!(!operator.did_sign(&main, "A"), "strict");
    assert!(operator.did_sign(&main, &main));
    assert!(operator.validate(0).issues.is_empty());
}

#[test]
fn an_account_is_read_whole() {
    let account = AccountClaims::decode(token!("account")).unwrap();
    assert_eq!(account.validate(2_000_000_000).issues, []);
    let nats = &account.nats;
    assert_eq!((nats.limits.conn, nats.limits.subs), (10, NO_LIMIT));
    assert!(nats.limits.has_jetstream());
    assert_eq!(nats.limits.tiered_limits["R1"].disk_max_stream_bytes, 8);
    let scope = nats.signing_keys.scope(&public(Role::Account, 5)).unwrap();
    assert_eq!(scope.role, "till");
    assert_eq!(scope.template.subs, NO_LIMIT);
    assert_eq!(
        scope.template.permissions.subscribe.allow,
        ["till.{{name()}}.>"]
    );
    assert!(nats.signing_keys.contains(&public(Role::Account, 4)));
    assert!(account.did_sign(&public(Role::Account, 4), &account.subject));
    assert!(!account.did_sign(&public(Role::Account, 4), ""));
    assert_eq!(
        nats.exports[1].service_latency.as_ref().unwrap().sampling.0,
        0
    );
    assert_eq!(nats.exports[1].kind, ClaimedKind::Service);
    assert_eq!(nats.mappings["from"][1].cluster, "C");
    assert!(nats.authorization.is_enabled());
    let user = public(Role::User, 7);
    assert!(is_revoked(&nats.revocations, &user, 34));
    assert!(!is_revoked(&nats.revocations, &user, 35));
    assert!(is_revoked(&nats.exports[1].revocations, "anyone", 12));
}

#[test]
fn a_user_is_read_whole() {
    let user = UserClaims::decode(token!("user")).unwrap();
    assert_eq!(user.account(), public(Role::Account, 3));
    let may = &user.nats.may;
    assert_eq!(may.src, ["10.0.0.0/8", "::1/128"]);
    assert_eq!(may.times[0].seconds(), Some((8 * 3600, 18 * 3600 + 1800)));
    assert!(may.bearer_token && may.proxy_required);
    assert_eq!((may.subs, may.payload), (NO_LIMIT, 1024));
    let scoped = UserClaims::decode(token!("user-scoped")).unwrap();
    assert!(scoped.nats.may.is_empty());
    assert!(!may.is_empty());
}

#[test]
fn times_hold_to_the_second() {
    let user = UserClaims::decode(token!("user")).unwrap();
    let at = |wall_s| user.validate(wall_s).is_blocking(true);
    assert!(at(999) && !at(1000));
    assert!(!at(4_102_444_800) && at(4_102_444_801));
    assert!(!user.validate(0).is_blocking(false));
}

#[test]
fn version_1_is_understood() {
    let operator = OperatorClaims::decode(token!("operator-v1")).unwrap();
    assert_eq!(operator.nats.kind, "operator");
    assert_eq!(operator.nats.tags, ["a"]);
    let account = AccountClaims::decode(token!("account-v1")).unwrap();
    assert_eq!((account.nats.version, account.nats.limits.conn), (1, 7));
    assert!(
        account
            .nats
            .signing_keys
            .contains(&public(Role::Account, 6))
    );
    assert_eq!(account.nats.exports[0].response_type, "Stream");
    let user = UserClaims::decode(token!("user-v1")).unwrap();
    assert_eq!(user.account(), public(Role::Account, 3));
    assert_eq!(user.nats.may.src, ["10.0.0.0/8", "127.0.0.1/32"]);
    assert_eq!(user.nats.may.payload, NO_LIMIT);
    assert_eq!(user.nats.tags, ["t"]);
    let activation = ActivationClaims::decode(token!("activation-v1")).unwrap();
    assert_eq!(activation.nats.import_kind, ClaimedKind::Service);
    assert_eq!(activation.nats.kind, "activation");
    // spec: nats-io/jwt v2 decoder_test.go, a token of 2018.
    let old = "eyJ0eXAiOiJqd3QiLCJhbGciOiJlZDI1NTE5In0.eyJqdGkiOiJGQ1lZRjJLR0EzQTZHTlZQR0pIVjNUSExYR1VZWkFUREZLV1JTT1czUUo1T0k3QlJST0ZRIiwiaWF0IjoxNTQzOTQzNjc1LCJpc3MiOiJBQ1NKWkhOWlI0QUFUVE1KNzdUV1JONUJHVUZFWFhUS0gzWEtGTldDRkFCVzJRWldOUTRDQkhRRSIsInN1YiI6IkFEVEFHWVZYRkpPRENRM0g0VUZQQU43R1dXWk1BVU9FTTJMMkRWQkFWVFdLM01TU0xUS1JUTzVGIiwidHlwZSI6ImFjdGl2YXRpb24iLCJuYXRzIjp7InN1YmplY3QiOiJmb28iLCJ0eXBlIjoic2VydmljZSJ9fQ.HCZTCF-7wolS3Wjx3swQWMkoDhoo_4gp9EsuM5diJfZrH8s6NTpO0iT7_fKZm7dNDeEoqjwU--3ebp8j-Mm_Aw";
    let old = ActivationClaims::decode(old).unwrap();
    assert_eq!(old.nats.import_subject, "foo");
}

#[test]
fn what_is_no_token_is_refused() {
    let token = token!("user");
    let parts: Vec<&str> = token.split('.').collect();
    let header = |text: &str| {
        let header = BASE64URL_NOPAD.encode(text.as_bytes());
        decode(&format!("{header}.{}.{}", parts[1], parts[2]))
    };
    assert_eq!(decode(""), Err(JwtError::Chunks));
    assert_eq!(decode(&format!("{token}.x")), Err(JwtError::Chunks));
    assert_eq!(
        decode(&format!("{}=.{}.{}", parts[0], parts[1], parts[2])),
        Err(JwtError::Base64)
    );
    assert!(matches!(
        header(r#"{"typ":"x","alg":"ed25519"}"#),
        Err(JwtError::Type(_))
    ));
    assert!(matches!(
        header(r#"{"typ":"jwt","alg":"none"}"#),
        Err(JwtError::Algorithm(_))
    ));
    assert!(matches!(
        decode(&"x".repeat(1024 * 1024 + 1)),
        Err(JwtError::TooLarge(_))
    ));
    assert_eq!(AccountClaims::decode(token), Err(JwtError::Kind("account")));
}

#[test]
fn nobody_signs_for_another() {
    let token = token!("user");
    let other = token!("user-scoped").rsplit_once('.').unwrap().1;
    let stolen = format!("{}.{other}", token.rsplit_once('.').unwrap().0);
    assert_eq!(decode(&stolen), Err(JwtError::Signature(2)));
    let user = UserClaims::decode(token).unwrap();
    let operator = key(Role::Operator, 1);
    assert_eq!(user.encode(&operator), Err(JwtError::Issuer("[account]")));
}

#[test]
fn what_contradicts_itself_blocks() {
    let mut account = AccountClaims::decode(token!("account")).unwrap();
    account.nats.exports.push(ClaimedExport {
        subject: "q.a".to_owned(),
        kind: ClaimedKind::Service,
        ..ClaimedExport::default()
    });
    account.nats.imports[0].local_subject = "a.b".to_owned();
    let found = account.validate(0);
    let texts: Vec<&str> = found
        .issues
        .iter()
        .map(|issue| issue.text.as_str())
        .collect();
    assert!(found.is_blocking(false));
    assert_eq!(
        texts,
        [
            "subject does not contain enough * or reference wildcards $[0-9]",
            "service export subject \"q.*\" already exports \"q.a\"",
        ]
    );
    let user = UserClaims::about("not a key");
    assert!(
        !user.validate(0).is_blocking(true),
        "only encoding looks at it"
    );
    let mut answer = AuthResponseClaims::about(&public(Role::User, 1));
    answer.audience = public(Role::Server, 1);
    assert!(
        answer.validate(0).is_blocking(true),
        "neither token nor error"
    );
}
