use crate::{Changes, Nothing, Reloadable, changes, load_text};

fn between(old: &str, new: &str) -> Result<Changes, String> {
    let config = |text: &str| {
        let loaded = load_text(text, "x.conf", &Nothing);
        loaded.unwrap_or_else(|e| panic!("{text}: {e}")).config
    };
    changes(&config(old), &config(new)).map_err(|refused| refused.to_string())
}

fn cluster(text: &str) -> String {
    format!("port: 4222\ncluster {{ name: C, port: 6222, {text} }}\naccounts {{ A {{}}, B {{}} }}")
}

#[test]
fn routes_come_and_go() {
    let routes = |list: &str| cluster(&format!("routes: [{list}]"));
    let (a, b, c) = ("\"nats://a:1\"", "\"nats://u:p@b:1\"", "\"nats://c:1\"");
    let old = routes(&format!("{a}, {b}"));
    let got = between(&old, &routes(&format!("{c}, {a}"))).unwrap();
    let shown: Vec<_> = got.options.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["cluster routes"]);
    let change = got.cluster.unwrap();
    assert_eq!(change.routes_added[0].host, "c");
    assert_eq!(
        (change.routes_added.len(), change.routes_removed.len()),
        (1, 1)
    );
    assert_eq!(change.routes_removed[0].to_string(), "nats://u:xxxxx@b:1");
    assert!(between(&old, &old).unwrap().is_empty());
    // In another order they are the same servers, and only the log says something.
    let swapped = between(&old, &routes(&format!("{b}, {a}"))).unwrap();
    assert_eq!((swapped.options.len(), swapped.cluster), (1, None));
}

#[test]
fn each_option_of_the_block_changes_what_it_is_about() {
    for (new, about) in [
        ("permissions { import: a }", "permissions"),
        ("pool_size: 5", "pool"),
        ("accounts: [A]", "+A"),
        ("compression: s2_best", "compression"),
        ("authorization { user: a, password: b }", "authorization"),
        ("no_advertise: true", ""),
        ("ping_interval: \"5s\"", ""),
    ] {
        let got = between(&cluster(""), &cluster(new)).unwrap();
        assert_eq!(got.options[0].option, Reloadable::Cluster, "{new}");
        assert_eq!(got.options.len(), 1, "{new}");
        let change = got.cluster.unwrap_or_default();
        let mut words = Vec::new();
        words.extend(change.permissions.then_some("permissions".to_owned()));
        words.extend(change.pool_size.then_some("pool".to_owned()));
        words.extend(change.compression.then_some("compression".to_owned()));
        words.extend(change.authorization.then_some("authorization".to_owned()));
        words.extend(change.accounts_added.iter().map(|name| format!("+{name}")));
        words.extend(
            change
                .accounts_removed
                .iter()
                .map(|name| format!("-{name}")),
        );
        assert_eq!(words.join(" "), about, "{new}");
    }
}

#[test]
fn without_a_pool_no_account_is_pinned() {
    let got = between(&cluster("accounts: [A, B]"), &cluster("pool_size: -1")).unwrap();
    let change = got.cluster.unwrap();
    assert!(change.pool_size);
    assert_eq!(change.accounts_removed, ["A", "B", "$SYS"]);
}

#[test]
fn files_of_tls_are_read_again_and_pins_are_compared() {
    let pinned = |pin: &str| {
        cluster(&format!(
            "tls {{ cert_file: a, key_file: b, pinned_certs: [\"{}\"] }}",
            pin.repeat(32)
        ))
    };
    let same = between(&pinned("ab"), &pinned("ab")).unwrap();
    assert_eq!(
        (same.options[0].option, same.cluster),
        (Reloadable::Cluster, None)
    );
    let other = between(&pinned("ab"), &pinned("cd")).unwrap();
    assert!(other.cluster.unwrap().pinned_certs);
}

#[test]
fn where_servers_connect_is_kept() {
    let listen = |text: &str| format!("port: 4222\ncluster {{ name: C, {text} }}");
    for (old, new, want) in [
        ("port: 1", "port: 2", "cluster port: old=1, new=2"),
        (
            "listen: \"a:1\"",
            "listen: \"b:1\"",
            "cluster host: old=a, new=b",
        ),
        ("port: 0", "port: 1", "cluster host: old=, new=0.0.0.0"),
    ] {
        let refused = between(&listen(old), &listen(new)).unwrap_err();
        assert_eq!(refused, format!("config reload not supported for {want}"));
    }
    assert!(
        between(&listen("port: 6222"), &listen("port: -1"))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn an_account_that_nobody_knows_gets_no_connection_of_its_own() {
    let refused = between(&cluster(""), &cluster("accounts: [A, X]")).unwrap_err();
    assert_eq!(
        refused,
        "unable to add account \"X\" to the list of dedicated routes: account missing"
    );
}

#[test]
fn a_gateway_changes_its_tls_only() {
    let gateway = |text: &str| format!("gateway {{ name: A, port: 7222, {text} }}");
    let remote = |text: &str| gateway(&format!("gateways: [ {{name: B, {text}}} ]"));
    let refused = "config reload not supported for Gateway";
    for (old, new) in [
        (gateway(""), gateway("connect_retries: 1")),
        (
            gateway(""),
            gateway("authorization { user: a, password: secret }"),
        ),
        (remote("url: \"nats://b:1\""), remote("url: \"nats://c:1\"")),
        (remote("url: \"nats://b:1\""), gateway("")),
    ] {
        assert_eq!(between(&old, &new), Err(refused.to_owned()), "{old} {new}");
    }
    let tls = "tls { cert_file: a, key_file: b }";
    // The time to authenticate would follow the handshake's.
    let timed = |text: &str| gateway(&format!("authorization {{ timeout: 2 }}, {text}"));
    assert!(between(&timed(""), &timed(tls)).is_ok());
    assert!(between(&remote(""), &remote(tls)).is_ok());
    assert!(between(&gateway(""), "gateway { name: A, port: -1 }").is_ok());
}
