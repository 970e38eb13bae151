use crate::{Cluster, Compression, Config, Nothing, load_text};
use std::time::Duration;

fn config(text: &str) -> Config {
    load_text(text, "x.conf", &Nothing)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .config
}

fn cluster(text: &str) -> Cluster {
    config(&format!("cluster {{ {text} }}")).cluster
}

fn error(text: &str) -> String {
    match load_text(text, "x.conf", &Nothing) {
        Ok(loaded) => loaded.config.check().unwrap_err().to_string(),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn every_option_lands_where_it_belongs() {
    let got = cluster(
        "name: C1, listen: \"127.0.0.1:6333\", authorization { user: r, password: s, timeout: 5 }, \
         routes: [\"nats-route://r:s@b:6222\", \"nats://[::1]:6223\", \"nats://c\"], \
         advertise: \"x:1\", no_advertise: true, connect_retries: 7, connect_backoff: true, \
         permissions { import: \"in.>\", export: { allow: out, deny: [out.x] } }, pool_size: 5, \
         accounts: [A, B], compression: s2_best, ping_interval: \"20s\", ping_max: 4, \
         write_deadline: \"3s\", write_timeout: close",
    );
    let listen = got.listen.clone().unwrap();
    assert_eq!((listen.host.as_str(), listen.port), ("127.0.0.1", 6333));
    assert_eq!(
        (got.name.as_deref(), got.advertise.as_deref()),
        (Some("C1"), Some("x:1"))
    );
    assert!(got.no_advertise && got.connect_backoff);
    let auth = &got.authorization;
    assert_eq!(auth.user.as_deref(), Some("r"));
    assert_eq!(auth.password.as_ref().map(|p| p.expose()), Some("s"));
    assert_eq!(auth.timeout, Duration::from_secs(5));
    let routes: Vec<_> = got
        .routes
        .iter()
        .map(|r| (r.host.as_str(), r.port))
        .collect();
    assert_eq!(routes, [("b", 6222), ("::1", 6223), ("c", 6222)]);
    assert_eq!(got.routes[0].user.as_deref(), Some("r"));
    let permissions = got.permissions.clone().unwrap();
    assert_eq!(permissions.import.allow.unwrap()[0].subject, "in.>");
    assert_eq!(permissions.export.deny[0].subject, "out.x");
    assert_eq!((got.connect_retries, got.pool_size), (7, Some(5)));
    assert_eq!(got.accounts, ["A", "B"]);
    assert_eq!(got.compression, Compression::Best);
    assert_eq!(
        (got.ping_interval, got.ping_max),
        (Some(Duration::from_secs(20)), Some(4))
    );
    assert_eq!(got.write_deadline, Some(Duration::from_secs(3)));
}

#[test]
fn without_a_port_nobody_listens() {
    assert_eq!(cluster("name: C1, host: a").listen, None);
    assert_eq!(cluster("port: 0").listen, None);
    assert_eq!(
        cluster("port: -1").listen.map(|l| (l.host, l.port)),
        Some(("0.0.0.0".to_owned(), 0))
    );
}

#[test]
fn a_server_has_a_second_more_than_its_handshake() {
    let tls = "port: 1, tls { cert_file: a, key_file: b, ca_file: c, timeout: 4 }";
    let got = cluster(tls);
    assert!(
        got.tls
            .as_ref()
            .is_some_and(|tls| tls.verify && !tls.check_known_urls)
    );
    assert_eq!(got.authorization.timeout, Duration::from_secs(5));
    let got = cluster(&format!("{tls}, authorization {{ user: a, timeout: 9 }}"));
    assert_eq!(got.authorization.timeout, Duration::from_secs(9));
    assert_eq!(
        cluster("port: 1").authorization.timeout,
        Duration::from_secs(2)
    );
}

#[test]
fn pings_are_never_further_apart_than_half_a_minute() {
    let server = Duration::from_secs(120);
    assert_eq!(
        cluster("ping_interval: \"5s\"").ping_interval(server),
        Duration::from_secs(5)
    );
    assert_eq!(
        cluster("ping_interval: \"50s\"").ping_interval(server),
        Duration::from_secs(30)
    );
    assert_eq!(
        cluster("port: 1").ping_interval(server),
        Duration::from_secs(30)
    );
    assert_eq!(
        cluster("port: 1").ping_interval(Duration::from_secs(9)),
        Duration::from_secs(9)
    );
}

#[test]
fn the_system_account_is_pinned_where_there_is_a_pool() {
    let of = |text: &str| {
        let config = config(text);
        config.cluster.pinned_accounts(config.system_account_name())
    };
    assert_eq!(of("cluster { accounts: [A] }"), ["A", "$SYS"]);
    assert_eq!(
        of("cluster { accounts: [A] }\nsystem_account: S"),
        ["A", "S"]
    );
    assert_eq!(
        of("cluster { accounts: [S, A] }\nsystem_account: S"),
        ["S", "A"]
    );
    assert_eq!(of("cluster { port: 1 }\nno_system_account: true"), [""; 0]);
    assert_eq!(of("cluster { pool_size: -1 }"), [""; 0]);
}

#[test]
fn permissions_of_the_block_win_over_the_old_ones_in_its_authorization() {
    let old = "authorization { user: a, permissions { import: old, export: old } }";
    let new = "permissions { import: new }";
    let imported = |text: &str| {
        let permissions = cluster(text).permissions.unwrap();
        let import = permissions.import.allow.unwrap();
        (
            import[0].subject.clone(),
            permissions.export.allow.is_some(),
        )
    };
    assert_eq!(imported(old), ("old".to_owned(), true));
    for both in [format!("{old}, {new}"), format!("{new}, {old}")] {
        assert_eq!(imported(&both), ("new".to_owned(), false));
    }
}

#[test]
fn compression_has_many_names() {
    let cases = [
        ("on", "s2_fast"),
        ("\"ON\"", "s2_fast"),
        ("off", "off"),
        ("\"\"", "accept"),
        ("accept", "accept"),
        ("not_supported", "not supported"),
        ("disabled", "off"),
        ("auto", "s2_auto"),
        ("better", "s2_better"),
        ("{ mode: best }", "s2_best"),
    ];
    for (text, want) in cases {
        let got = cluster(&format!("compression: {text}")).compression;
        assert_eq!(got.name(), want, "{text}");
    }
    let millis = |text: &str| {
        let got = cluster(&format!("compression: {text}")).compression;
        let Compression::Auto(times) = got else {
            panic!("{text}: {got:?}");
        };
        times.iter().map(Duration::as_millis).collect::<Vec<_>>()
    };
    assert_eq!(millis("s2_auto"), [10, 50, 100]);
    let times = |list: &str| millis(&format!("{{ mode: s2_auto, rtt_thresholds: [{list}] }}"));
    assert_eq!(times("\"1ms\", \"0s\", \"5ms\", \"0s\""), [1, 0, 5]);
    assert_eq!(times("\"-1ms\", \"5ms\""), [0, 5]);
}

#[test]
fn thresholds_that_make_no_sense_are_refused() {
    let of = |list: &str| {
        error(&format!(
            "cluster {{ compression: {{ mode: s2_auto, rtts: [{list}] }} }}"
        ))
    };
    for (list, want) in [
        (
            "\"5ms\", \"1ms\"",
            "RTT threshold values [5ms 1ms] should be in ascending order",
        ),
        (
            "\"0s\"",
            "compression mode \"s2_auto\" requires at least one RTT threshold",
        ),
        (
            "\"1s\", \"2s\", \"3s\", \"4s\", \"5s\"",
            "compression mode \"s2_auto\" should have no more than 4 RTT thresholds: [1s 2s 3s 4s 5s]",
        ),
    ] {
        let got = of(list);
        assert!(got.contains(want), "{list}: {got}");
    }
    let got = error("cluster {\n compression: s2_foo\n}");
    assert!(
        got.starts_with("x.conf:2:2: unsupported compression mode \"s2_foo\""),
        "{got}"
    );
}

#[test]
fn what_does_not_fit_together_is_refused_where_the_block_stands() {
    for (text, want) in [
        ("cluster { name: _, port: 1 }", "cluster name is reserved"),
        (
            "cluster { advertise: \"a:b\" }",
            "invalid Cluster.Advertise value of a:b",
        ),
        (
            "cluster { pool_size: -1, accounts: A }",
            "pool_size cannot be negative if pinned accounts are specified",
        ),
        (
            "cluster { accounts: [A, B, A] }",
            "found duplicate account name \"A\" in pinned accounts list [\"A\" \"B\" \"A\"]",
        ),
        (
            "jetstream: true\ncluster { name: C, port: 1, routes: [\"nats://a:1\"] }",
            "jetstream cluster requires `server_name` to be set",
        ),
        (
            "server_name: s\njetstream: true\ncluster { port: 1, routes: [\"nats://a:1\"] }",
            "jetstream cluster requires `cluster.name` to be set",
        ),
        (
            "cluster { name: C, port: 1 }\nserver_name: s\njetstream: true",
            "Can't start JetStream: JetStream cluster requires configured routes or solicited \
             leafnode for the system account",
        ),
    ] {
        let got = error(text);
        assert!(
            got.starts_with("x.conf:") && got.contains(want),
            "{text}: {got}"
        );
    }
}

#[test]
fn no_error_shows_a_password() {
    for text in [
        "cluster { routes: [\"nats://u:secret@\"] }",
        "cluster { routes: [\"u:secret@h:1\"] }",
    ] {
        let got = error(text);
        assert!(
            got.contains("error parsing route url") && !got.contains("secret"),
            "{got}"
        );
    }
    let text = "cluster { routes: [\"nats://u:secret@h:1\", \"nats://u:secret@h:1\"] }";
    let loaded = load_text(text, "x.conf", &Nothing).unwrap();
    assert_eq!(loaded.config.cluster.routes.len(), 1);
    assert!(!loaded.warnings[0].to_string().contains("secret"));
}

#[test]
fn a_program_without_routes_refuses_the_block_where_it_stands() {
    let may = |cluster| crate::Abilities {
        appliance: true,
        fleet: true,
        cluster,
        gateway: false,
    };
    let config = config("port: 4222\ncluster {\n port: 6222\n}");
    let refused = config
        .check_abilities("frond", may(false))
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        "x.conf:2:1: \"cluster\": frond joins no cluster, frond-hub does (run frond-hub, or \
         remove the block)"
    );
    assert!(config.check_abilities("frond-hub", may(true)).is_ok());
    assert!(
        Config::default()
            .check_abilities("frond", may(false))
            .is_ok()
    );
}

#[test]
fn a_start_warns_of_a_name_that_is_made_up_and_of_peers_that_nobody_checks() {
    let advice = |text: &str| config(text).advice().join("\n");
    assert!(advice("cluster { port: 1 }").contains("dynamically generated"));
    assert_eq!(advice("cluster { port: 1, name: C }"), "");
    assert_eq!(advice("cluster { host: a }"), "");
    let insecure = "port: 1, name: C, tls { cert_file: a, key_file: b, insecure: true }";
    for (block, kind) in [("cluster", "routes"), ("gateway", "gateways")] {
        let got = advice(&format!("{block} {{ {insecure} }}"));
        let want = format!("hostname of solicited {kind} will not be verified");
        assert!(got.contains(&want), "{got}");
    }
}

#[test]
fn jetstream_finds_its_peers_through_a_leafnode_of_the_system_too() {
    let text = "server_name: s\njetstream: true\ncluster { name: C, port: 1 }\n\
                system_account: S\naccounts { S {} }\n\
                leafnodes { remotes: [ { url: \"nats://a\", account: S } ] }";
    config(text).check().unwrap();
}
