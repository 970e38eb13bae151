use frond_account::jwt::UserPermissionLimits;
use frond_account::nkey::{KeyPair, Role};

use super::*;

fn key(role: Role, n: u8) -> KeyPair {
    KeyPair::from_random(role, &[n; 32])
}

fn operator(change: impl FnOnce(&mut OperatorClaims)) -> String {
    let key = key(Role::Operator, 1);
    let mut claims = OperatorClaims::about(&key.public_key());
    change(&mut claims);
    claims.encode(&key).unwrap()
}

fn read(text: &str) -> Result<Authority, String> {
    let config = frond_config::load_text(text, "x.conf", &frond_config::Nothing);
    authority(&config.unwrap().config).map_err(|errors| errors.to_string())
}

#[test]
fn one_operator_names_the_system_account_and_the_resolver() {
    let system = key(Role::Account, 2).public_key();
    let jwt = operator(|claims| {
        claims.nats.system_account.clone_from(&system);
        claims.nats.account_server_url = "http://h/jwt/v1".into();
    });
    let found = read(&format!("operator: {jwt}")).unwrap();
    assert_eq!(found.system_account.as_deref(), Some(system.as_str()));
    let url = Resolver::Url("http://h/jwt/v1/accounts".into());
    assert_eq!(found.resolver, Some(url));
    assert!(
        found
            .trust
            .unwrap()
            .issuers
            .contains(&key(Role::Operator, 1).public_key())
    );
    let configured = read(&format!("operator: {jwt}\nresolver: MEM")).unwrap();
    assert_eq!(configured.resolver, Some(Resolver::Memory));
    assert_eq!(read("port: 1"), Ok(Authority::default()));
}

#[test]
fn trusted_keys_need_no_operator() {
    let key = key(Role::Operator, 1).public_key();
    let trust = read(&format!("trusted: {key}")).unwrap().trust.unwrap();
    assert!(trust.issuers.contains(&key));
}

#[test]
fn what_does_not_hold_is_refused_in_nats_servers_words() {
    let system = |n| key(Role::Account, n).public_key();
    let plain = operator(|_| {});
    let user = |bearer: bool| {
        let key = key(Role::Account, 2);
        let mut claims = UserClaims::about(&self::key(Role::User, 3).public_key());
        claims.nats.may = UserPermissionLimits::unlimited();
        claims.nats.may.bearer_token = bearer;
        claims.encode(&key).unwrap()
    };
    let with = |version: &str| {
        operator(|claims| version.clone_into(&mut claims.nats.assert_server_version))
    };
    let mem = |operator: &str| format!("resolver: MEM\noperator: {operator}");
    let cases = [
        (
            format!("operator: {plain}"),
            "x.conf:1:1: operators require an account resolver to be configured",
        ),
        (
            "operator: eyJx".to_owned(),
            "x.conf:1:1: error parsing operator JWT: expected 3 chunks",
        ),
        (
            format!("{}\nresolver_preload {{ A: x }}", mem(&plain)),
            "x.conf:3:1: invalid account JWT",
        ),
        (
            format!("operator: {plain}\nresolver: {{type: full, dir: d}}"),
            "using nats based account resolver - the system account needs to be specified in configuration or the operator jwt",
        ),
        (
            format!(
                "{}\nsystem_account: {}",
                mem(&operator(|claims| claims.nats.system_account = system(4))),
                system(5)
            ),
            "system_account in config and operator JWT must be identical",
        ),
        (
            format!("{}\ndefault_sentinel: {}", mem(&plain), user(false)),
            "default sentinel must be a bearer token",
        ),
        (
            format!("{}\ndefault_sentinel: x", mem(&plain)),
            "default sentinel JWT not valid",
        ),
        (
            mem(&with("3.0.0")),
            "expected major version 3 > server major version 2",
        ),
        (
            mem(&with("2.15.2")),
            "expected update version 2 > server update version 1",
        ),
        (
            mem(&with("2.15")),
            "asserted server version must be of the form <major>.<minor>.<update>",
        ),
    ];
    for (text, want) in cases {
        let said = read(&text).unwrap_err();
        assert!(said.contains(want), "{text}: {said}");
    }
    let good = format!("{}\ndefault_sentinel: {}", mem(&with("2.14.9")), user(true));
    assert!(read(&good).is_ok(), "{:?}", read(&good));
}
