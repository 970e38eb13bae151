use super::{Deletion, Resolver, undecorated};
use crate::{Config, Nothing, Source, changes, load_text};
use std::time::Duration;

/// Files with an operator's JWT in its decoration.
struct Files;

impl Source for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        match path {
            "op.jwt" => Ok(
                "-----BEGIN NATS OPERATOR JWT-----\r\neyJa.b.c\r\n------END NATS OPERATOR JWT------\n\n****\n"
                    .to_owned(),
            ),
            _ => Nothing.read(path),
        }
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }
}

fn config(text: &str) -> Config {
    load_text(text, "x.conf", &Files)
        .unwrap_or_else(|errors| panic!("{text}: {errors}"))
        .config
}

/// What a start says: the errors of reading, else those across options.
fn said(text: &str) -> String {
    match load_text(text, "x.conf", &Files) {
        Err(errors) => errors.to_string(),
        Ok(loaded) => loaded
            .config
            .check()
            .map_or_else(|e| e.to_string(), |()| String::new()),
    }
}

#[test]
fn an_operator_is_a_file_or_a_jwt() {
    for text in ["operator: op.jwt", "root: eyJa.b.c", "operators: [op.jwt]"] {
        let mode = config(text).operator_mode;
        assert_eq!(mode.operators, ["eyJa.b.c"], "{text}");
        assert!(mode.is_on());
    }
    assert!(!config("port: 1").operator_mode.is_on());
    assert_eq!(undecorated(" eyJx \n"), "eyJx");
}

#[test]
fn a_resolver_has_nats_servers_defaults() {
    let resolver = |text: &str| config(text).operator_mode.resolver.unwrap();
    assert_eq!(resolver("resolver: MEMORY"), Resolver::Memory);
    assert_eq!(resolver("resolver: {type: mem}"), Resolver::Memory);
    let url = resolver("account_resolver: URL(\"http://a/b/\")");
    assert_eq!(url, Resolver::Url("http://a/b/".to_owned()));
    let full = Resolver::Full {
        dir: "d".to_owned(),
        deletion: Deletion::Refused,
        interval: Duration::from_secs(60),
        limit: None,
        timeout: Duration::from_millis(1900),
    };
    assert_eq!(resolver("resolver: {type: full, dir: d}"), full);
    let cache = Resolver::Cache {
        dir: "d".to_owned(),
        limit: 1000,
        ttl: None,
        timeout: Duration::from_millis(1900),
    };
    assert_eq!(resolver("resolver: {type: CACHE, dir: d}"), cache);
    let deleting = "resolver: {type: full, dir: d, allow_delete: true, hard_delete: true}";
    assert!(matches!(
        resolver(deleting),
        Resolver::Full {
            deletion: Deletion::Removes,
            ..
        }
    ));
}

#[test]
fn mistakes_are_named_in_nats_servers_words() {
    for (text, want) in mistakes() {
        let said = said(&text);
        assert!(said.contains(want), "{text}: {said}");
        assert!(said.starts_with("x.conf:1:"), "{said}");
    }
}

fn mistakes() -> Vec<(String, &'static str)> {
    let dir = "dir: \"d\"";
    vec![
        (
            "operator: no.jwt".to_owned(),
            "error parsing operator JWT: open no.jwt: no such file or directory",
        ),
        (
            "operator: 1".to_owned(),
            "error parsing operators: unsupported type int64",
        ),
        (
            "resolver: FOO".to_owned(),
            "error parsing account resolver, should be MEM or  URL(\"url\") or a map containing dir and type state=[FULL|CACHE])",
        ),
        (
            "resolver: 1".to_owned(),
            "error parsing operator resolver, wrong type int64",
        ),
        (
            "resolver: {type: full}".to_owned(),
            "dir has no value and needs to point to a directory",
        ),
        (
            format!("resolver: {{type: full, {dir}, ttl: \"1m\"}}"),
            "FULL does not accept ttl",
        ),
        (
            format!("resolver: {{type: full, {dir}, hard_delete: true}}"),
            "hard_delete has no effect without delete",
        ),
        (
            format!("resolver: {{type: cache, {dir}, interval: \"1m\"}}"),
            "CACHE does not accept sync",
        ),
        (
            format!("resolver: {{type: cache, {dir}, allow_delete: true}}"),
            "CACHE does not accept allow_delete",
        ),
        (
            format!("resolver: {{type: cache, {dir}, hard_delete: false}}"),
            "CACHE does not accept hard_delete",
        ),
        (
            format!("resolver: {{type: full, {dir}, interval: \"x\"}}"),
            "time: invalid duration \"x\"",
        ),
        (
            format!("resolver: {{type: full, {dir}, timeout: \"0s\"}}"),
            "Fetch timeout 0s is too smal",
        ),
        (
            "resolver_preload: 1".to_owned(),
            "preload should be a map of account_public_key:account_jwt",
        ),
        (
            "resolver_preload {A: 1}".to_owned(),
            "preload map value should be a string JWT",
        ),
        (
            "resolver_pinned_accounts: 1".to_owned(),
            "error parsing resolver_pinned_accounts: unsupported type int64",
        ),
        (
            "trusted: x".to_owned(),
            "trust key \"x\" required to be a valid public operator nkey",
        ),
    ]
}

#[test]
fn operators_exclude_what_is_configured_directly() {
    let operator = "operator: op.jwt\nresolver: MEM\n";
    let cases = [
        (
            "accounts { A {} }",
            "operators do not allow Accounts to be configured directly",
        ),
        (
            "authorization { users: [{user: a}] }",
            "operators do not allow users to be configured directly",
        ),
        (
            "no_auth_user: a",
            "no_auth_user not compatible with Trusted Operator",
        ),
        (
            "trusted: OBRVK7ZS63QZDELBDVPX52RGQAC4LQZPNLYGIBAKKCZZB63A5LDM5XXQ",
            "conflicting options for 'TrustedKeys' and 'TrustedOperators'",
        ),
        (
            "resolver_pinned_accounts: [x]",
            "pinned account key \"x\" is not a valid public account nkey",
        ),
        (
            "leafnodes { remotes: [{url: \"nats://a\"}] }",
            "operator mode requires account nkeys in remotes.",
        ),
        (
            "default_js_domain { A: d }",
            "default_js_domain contains account name \"A\", which is not a valid public account nkey",
        ),
    ];
    for (text, want) in cases {
        let said = said(&format!("{operator}{text}"));
        assert!(said.contains(want), "{text}: {said}");
    }
    assert_eq!(
        said("default_sentinel: x"),
        "x.conf:1:1: default sentinel requires operators and accounts"
    );
    let free = "system_account: ADVZIZGBS7DLUFPLHMJDE47W3JA6BKESAZS3T4CW2N5W7KNSE5ODXA2F\n";
    assert_eq!(said(&format!("{operator}{free}")), "");
}

#[test]
fn a_reload_takes_other_accounts_but_no_other_operator() {
    let with = |text: &str| config(&format!("operator: op.jwt\n{text}"));
    let old = with("resolver: MEM");
    let preloaded = with("resolver: MEM\nresolver_preload { A: b }");
    let changed = changes(&old, &preloaded).unwrap();
    assert_eq!(changed.options.len(), 1);
    assert_eq!(changed.options[0].to_string(), "accounts");
    let refused = |new: &Config| changes(&old, new).unwrap_err().to_string();
    assert_eq!(
        refused(&with("")),
        "config reload does not support moving to or from an account resolver"
    );
    assert_eq!(
        refused(&config("operator: eyJother\nresolver: MEM")),
        "config reload not supported for TrustedOperators"
    );
}
