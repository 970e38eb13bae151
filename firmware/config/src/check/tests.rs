use crate::{Loaded, Nothing, load_text};

fn loaded(text: &str) -> Loaded {
    load_text(text, "x.conf", &Nothing).unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

/// What a start says of `text`: the errors of reading, else those across options.
fn errors(text: &str) -> String {
    match load_text(text, "x.conf", &Nothing) {
        Err(errors) => errors.to_string(),
        Ok(loaded) => loaded
            .config
            .check()
            .map_or_else(|e| e.to_string(), |()| String::new()),
    }
}

#[test]
fn options_that_do_not_fit_are_refused_where_they_stand() {
    let cases = [
        (
            "max_payload: 2mb\nmax_pending: 1mb\n",
            "x.conf:1:1: max_payload (2097152) cannot be higher than max_pending (1048576) (raise max_pending)",
        ),
        (
            "max_payload: 2mb\nmax_connections_memory: 8mb\n",
            "x.conf:2:1: max_connections_memory (8388608) has no room for 8 times max_payload (2097152) (raise it, or lower max_payload)",
        ),
        (
            "lame_duck_duration: \"31s\"\nlame_duck_grace_period: \"40s\"\n",
            "x.conf:2:1: lame duck grace period (40s) should be strictly lower than lame duck duration (31s)",
        ),
        (
            "no_auth_user: a\n",
            "x.conf:1:1: no_auth_user: \"a\" present, but users/nkeys are not defined",
        ),
        (
            "authorization { users: [{user: b}] }\nno_auth_user: a\n",
            "x.conf:2:1: no_auth_user: \"a\" not present as user or nkey in authorization block or account configuration",
        ),
        (
            "authorization { token: t }\naccounts { A { users: [{user: a}] } }\n",
            "x.conf:1:1: Can not have a token and accounts",
        ),
        (
            "system_account: SYS\n",
            "x.conf:1:1: error resolving system account: account missing (add \"SYS\" to accounts)",
        ),
        (
            "leafnodes { remotes: [\n{ url: \"nats://a\", account: Z }] }\n",
            "x.conf:2:1: cannot find local account \"Z\" specified in leafnode remote (add it to accounts)",
        ),
        (
            "leafnodes { remotes: [\n{ urls: [\"ws://a\", \"nats://b\"] }] }\n",
            "x.conf:2:1: remote leaf node configuration cannot have a mix of websocket and non-websocket urls: [\"ws://a\" \"nats://b\"] (make them two remotes)",
        ),
        (
            "leafnodes { port: -1, authorization { account: Z } }\n",
            "x.conf:1:1: cannot find local account \"Z\" specified in leafnode authorization (add it to accounts)",
        ),
    ];
    refused(&cases);
}

#[test]
fn listeners_and_domains_that_do_not_fit_are_refused() {
    let cases = [
        (
            "websocket { port: -1 }\n",
            "x.conf:1:1: websocket requires TLS configuration (add tls { ... }, or no_tls: true)",
        ),
        (
            "ws { port: -1, no_tls: true, origin: \"ftp://a\" }\n",
            "x.conf:1:1: unable to parse allowed origin \"ftp://a\": allowed origins must be absolute URLs with http or https scheme (write https://host or https://host:port)",
        ),
        (
            "ws { port: -1, no_tls: true, origin: \"a\" }\n",
            "x.conf:1:1: unable to parse allowed origin: parse \"a\": invalid URI for request (write https://host or https://host:port)",
        ),
        (
            "ws { port: -1, no_tls: true, no_auth_user: a }\n",
            "x.conf:1:1: no_auth_user: \"a\" present, but users/nkeys are not defined",
        ),
        (
            "authorization { users: [{user: b}] }\nws { port: -1, no_tls: true, authorization { user: a } }\n",
            "x.conf:2:1: websocket authentication username not compatible with presence of users/nkeys",
        ),
        (
            "accounts { A { users: [{user: b}] } }\nws { port: -1, no_tls: true, authorization { token: a } }\n",
            "x.conf:2:1: websocket authentication token not compatible with presence of users/nkeys",
        ),
        (
            "ws { port: -1, no_tls: true, jwt_cookie: x }\n",
            "x.conf:1:1: trusted operators or trusted keys configuration is required for JWT authentication via cookie \"x\"",
        ),
        (
            "ws { port: -1, no_tls: true, headers { Upgrade: x } }\n",
            "x.conf:1:1: websocket: invalid header \"Upgrade\" not allowed (remove it)",
        ),
        (
            "ws { port: -1, no_tls: true, headers { Sec-WebSocket-Key: x } }\n",
            "x.conf:1:1: websocket: invalid header \"Sec-WebSocket-Key\", \"Sec-WebSocket-\" prefix not allowed (remove it)",
        ),
        (
            "jetstream { domain: \"a.b\" }\n",
            "x.conf:1:1: invalid domain name: may not contain ., * or >",
        ),
        (
            "jetstream { domain: \"a b\" }\n",
            "x.conf:1:1: invalid domain name: derived \"$JS.a b.API.>\" is not a valid subject",
        ),
        (
            "default_js_domain { A: hub }\n",
            "x.conf:1:1: in non operator mode, `default_js_domain` references non existing account \"A\" (add it to accounts)",
        ),
        (
            "client_advertise: \"a:b\"\n",
            "x.conf:1:1: invalid ClientAdvertise value of a:b (write host:port)",
        ),
    ];
    refused(&cases);
}

fn refused(cases: &[(&str, &str)]) {
    for (text, want) in cases {
        assert_eq!(errors(text), *want, "{text}");
    }
}

#[test]
fn what_fits_passes() {
    let cases = [
        "port: 4222\n",
        "authorization { users: [{user: a}] }\nno_auth_user: a\n",
        "accounts { A { users: [{user: a}] } }\nno_auth_user: a\n",
        "accounts { SYS {} }\nsystem_account: SYS\n",
        "leafnodes { remotes: [{ url: \"nats://a\", account: \"$SYS\" }] }\n",
        "default_js_domain { \"$G\": hub }\n",
        "jetstream { domain: shop-1 }\n",
    ];
    for text in cases {
        assert_eq!(errors(text), "", "{text}");
    }
}

#[test]
fn errors_of_flags_have_no_place() {
    let mut config = loaded("port: 4222").config;
    config.no_auth_user = Some("a".to_owned());
    let errors = config.check().unwrap_err();
    assert_eq!(
        errors.to_string(),
        "no_auth_user: \"a\" present, but users/nkeys are not defined"
    );
}

#[test]
fn plain_passwords_are_advised_against() {
    let plain = "authorization { users: [{user: a, password: b}] }";
    assert_eq!(
        loaded(plain).config.advice(),
        ["Plaintext passwords detected, use nkeys or bcrypt"]
    );
    let bcrypt = "authorization { users: [{user: a, password: $2a$11$abcdef}] }";
    assert!(loaded(bcrypt).config.advice().is_empty());
}
