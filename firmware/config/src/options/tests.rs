use crate::value::Map;
use crate::{
    AllowResponses, Config, ConnectionType, Identity, Loaded, Nothing, Permissions, Secret,
    SubjectRule, Sync, load_text,
};
use std::time::Duration;

fn loaded(text: &str) -> Loaded {
    load_text(text, "x.conf", &Nothing).unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

fn config(text: &str) -> Config {
    loaded(text).config
}

fn errors(text: &str) -> Vec<String> {
    match load_text(text, "x.conf", &Nothing) {
        Ok(loaded) => panic!("{text}: {:?}", loaded.config),
        Err(errors) => errors.0.iter().map(ToString::to_string).collect(),
    }
}

fn notes(text: &str) -> Vec<String> {
    loaded(text).notes.iter().map(ToString::to_string).collect()
}

#[test]
fn an_empty_file_has_nats_servers_defaults() {
    let loaded = loaded("");
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.map, Map::default());
    assert_eq!(loaded.warnings.len(), 1);
    let config = loaded.config;
    assert_eq!((config.host.as_str(), config.port), ("0.0.0.0", 4222));
    assert_eq!(config.limits.max_connections, 65_536);
    assert_eq!(config.limits.max_payload, 1 << 20);
    assert_eq!(config.limits.max_control_line, 4096);
    assert_eq!(config.limits.max_pending, 64 << 20);
    assert_eq!(
        (config.ping_interval, config.ping_max),
        (Duration::from_secs(120), 2)
    );
    assert_eq!(config.write_deadline, Duration::from_secs(10));
    assert!(!config.jetstream.enabled && config.monitor.is_none());
}

#[test]
fn zero_means_the_default_except_for_connections() {
    let text = "port: 0, max_payload: 0, max_control_line: 0, ping_max: 0, max_pending: 0\n\
                ping_interval: \"0s\", http_port: 0, authorization { timeout: 0 }";
    let config = config(text);
    assert_eq!(config, Config::default());
    let config = super::tests::config("max_connections: 0");
    assert_eq!(config.limits.max_connections, 0);
}

#[test]
fn numbers_below_zero_start_as_with_nats_server() {
    let plain = Config::default();
    for text in [
        "max_control_line: -1",
        "ping_max: -1",
        "ping_interval: \"-1s\"",
        "ping_interval: -1",
        "authorization { timeout: -1 }",
        "authorization { timeout: \"-2s\" }",
    ] {
        let got = config(text);
        assert_eq!(got.limits, plain.limits, "{text}");
        assert_eq!(
            (got.ping_interval, got.ping_max, got.authorization.timeout),
            (
                plain.ping_interval,
                plain.ping_max,
                plain.authorization.timeout
            ),
            "{text}"
        );
        assert_eq!(notes(text).len(), 1, "{text}");
    }
    for (text, most) in [
        ("max_payload: -1", 67_108_864),
        ("max_payload: -1\nmax_pending: 1000", 1000),
        ("max_pending: 1000\nmax_payload: -5", 1000),
        ("max_payload: -1\nmax_connections_memory: 8000", 1000),
    ] {
        assert_eq!(config(text).limits.max_payload, most, "{text}");
        assert!(config(text).check().is_ok(), "{text}");
    }
    assert_eq!(
        errors("max_pending: -1"),
        [
            "x.conf:1:1: max_payload (1048576) cannot be higher than max_pending (-1) (raise max_pending)"
        ]
    );
    assert!(config("client_advertise: \":5\"").check().is_ok());
}

#[test]
fn slow_writes_have_a_policy() {
    let read = |text: &str| {
        let config = config(text);
        (config.write_timeout, config.leafnodes.write_timeout)
    };
    use crate::WriteTimeout::{Close, Default, Retry};
    assert_eq!(read("port: 1"), (Default, Default));
    let both = "write_timeout: retry\nleafnodes { write_timeout: close }";
    assert_eq!(read(both), (Retry, Close));
    assert_eq!(
        read("write_timeout: default\nleaf { write_timeout: retry }"),
        (Default, Retry)
    );
    let wrong = "write_timeout must be 'default', 'close' or 'retry'";
    for text in ["write_timeout: later", "leaf { write_timeout: later }"] {
        let errors = errors(text);
        assert!(errors.len() == 1 && errors[0].contains(wrong), "{errors:?}");
    }
}

#[test]
fn addresses() {
    let listen = |text: &str| {
        let config = config(text);
        (config.host, config.port)
    };
    assert_eq!(listen("listen: 5"), ("0.0.0.0".to_owned(), 5));
    assert_eq!(listen("listen: \"a:-1\""), ("a".to_owned(), 0));
    assert_eq!(listen("listen: \"[::1]:7\""), ("::1".to_owned(), 7));
    assert_eq!(listen("net: a, port: -1"), ("a".to_owned(), 0));
    let monitor = |text: &str| {
        config(text)
            .monitor
            .map(|l| format!("{} {}", l.host, l.port))
    };
    assert_eq!(monitor("http: 8222").as_deref(), Some("0.0.0.0 8222"));
    assert_eq!(monitor("monitor_port: -1, host: h").as_deref(), Some("h 0"));
    assert_eq!(monitor("http: \"m:1\", host: h").as_deref(), Some("m 1"));
    assert_eq!(monitor("http_port: 0"), None);
    let leaf = |text: &str| {
        config(text)
            .leafnodes
            .listen
            .map(|l| format!("{} {}", l.host, l.port))
    };
    assert_eq!(leaf("leafnodes { port: -1 }").as_deref(), Some("0.0.0.0 0"));
    assert_eq!(
        leaf("leaf { listen: \"h:7422\" }").as_deref(),
        Some("h 7422")
    );
    assert_eq!(leaf("leaf { remotes: [] }"), None);
}

fn rule(subject: &str, queue: Option<&str>) -> SubjectRule {
    SubjectRule {
        subject: subject.to_owned(),
        queue: queue.map(str::to_owned),
    }
}

fn permissions(text: &str) -> Permissions {
    let text = format!("authorization {{ users: [{{ user: a, permissions: {text} }}] }}");
    config(&text).authorization.users[0]
        .permissions
        .clone()
        .unwrap()
}

#[test]
fn permissions_of_a_user() {
    let got = permissions("{ publish: a, subscribe: [\"b.>\", \"c q.*\"] }");
    assert_eq!(got.publish.allow, Some(vec![rule("a", None)]));
    assert_eq!(
        got.subscribe.allow,
        Some(vec![rule("b.>", None), rule("c", Some("q.*"))])
    );
    assert_eq!(got.allow_responses, None);
    let got = permissions("{ pub: { deny: x }, sub: {} }");
    assert_eq!(
        (got.publish.allow, got.publish.deny),
        (None, vec![rule("x", None)])
    );
    assert_eq!(got.subscribe, Permissions::default().subscribe);
    // An empty list is no list.
    for none in [
        "{ pub: [], sub: [] }",
        "{ pub: { allow: [] }, sub: { allow: [] } }",
    ] {
        let got = permissions(none);
        assert_eq!((got.publish.allow, got.subscribe.allow), (None, None));
    }
    // Responses without a publish list: nothing else may be published.
    let got = permissions("{ allow_responses: true }");
    assert_eq!(got.publish.allow, Some(vec![]));
    assert_eq!(got.allow_responses, Some(AllowResponses::default()));
    let got = permissions("{ pub: x, allow_responses: { max: 0, ttl: \"0s\" } }");
    assert_eq!(got.publish.allow, Some(vec![rule("x", None)]));
    assert_eq!(got.allow_responses, Some(AllowResponses::default()));
    let got = permissions("{ allow_responses: { max: -1, expires: \"-1s\" } }");
    assert_eq!(
        got.allow_responses,
        Some(AllowResponses {
            max_msgs: None,
            expires: None
        })
    );
    assert_eq!(
        permissions("{ allow_responses: false }"),
        Permissions::default()
    );
}

#[test]
fn users_and_their_defaults() {
    let key = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
    let text = format!(
        "authorization {{
           users: [
             {{ user: a, password: p, clients: [standard, MQTT_ws] }}
             {{ nkey: {key}, permissions: {{ publish: own }} }}
           ]
           default_permissions: {{ publish: shared }}
         }}"
    );
    let users = config(&text).authorization.users;
    let password = Identity::Password {
        user: "a".to_owned(),
        password: Secret::new("p"),
    };
    assert_eq!(users[0].identity, password);
    assert_eq!(
        users[0].connection_types,
        [ConnectionType::Standard, ConnectionType::MqttWs]
    );
    assert_eq!(users[1].identity, Identity::Nkey(key.to_owned()));
    let published: Vec<_> = users
        .iter()
        .map(|u| u.permissions.clone().unwrap().publish.allow.unwrap())
        .collect();
    assert_eq!(
        published,
        [vec![rule("shared", None)], vec![rule("own", None)]]
    );
}

#[test]
fn accounts() {
    let text = "accounts {
        A { users: [{user: a}], default_permissions { sub: x }, jetstream: enabled
            limits { max_conn: 5, max_payload: -1 } }
        B { jetstream { max_mem: 1mb, max_file: -1, max_streams: 0, max_bytes: true } }
        SYS {}
    }
    system_account: SYS";
    let config = config(text);
    let [a, b, sys] = config.accounts.as_slice() else {
        panic!("{:?}", config.accounts)
    };
    assert_eq!((a.name.as_str(), a.users.len()), ("A", 1));
    assert!(a.users[0].permissions.is_some());
    assert_eq!(a.jetstream, Some(crate::AccountJetStream::default()));
    assert_eq!(
        (a.limits.max_connections, a.limits.max_payload),
        (Some(5), None)
    );
    let limits = b.jetstream.unwrap();
    assert_eq!((limits.max_memory, limits.max_store), (Some(1 << 20), None));
    assert_eq!(
        (limits.max_streams, limits.max_bytes_required),
        (Some(0), true)
    );
    assert_eq!(sys.jetstream, None);
    assert_eq!(config.system_account.as_deref(), Some("SYS"));
}

#[test]
fn jetstream() {
    for (text, enabled) in [
        ("jetstream: true", true),
        ("jetstream: Enabled", true),
        ("jetstream: disabled", false),
        ("jetstream {}", true),
        ("jetstream { enabled: false, domain: d }", false),
    ] {
        assert_eq!(config(text).jetstream.enabled, enabled, "{text}");
    }
    let text = "jetstream { store_dir: \"/d\", max_mem: \"64M\", max_file: 1gb, max_index_memory: 32MB, domain: shop-1
        unique_tag: \" AZ:\", strict: false, sync: always, max_buffered_msgs: 5, request_queue_limit: 7
        limits { max_ack_pending: 3, duplicate_window: \"1m\", batch { max_msgs: 9 } } }";
    let js = config(text).jetstream;
    assert_eq!(js.store_dir.as_deref(), Some("/d"));
    assert_eq!(
        (js.max_memory, js.max_file),
        (Some(64 << 20), Some(1 << 30))
    );
    assert_eq!(js.max_index_memory, Some(32 << 20));
    assert_eq!(
        (js.domain.as_deref(), js.unique_tag.as_deref()),
        (Some("shop-1"), Some("az:"))
    );
    assert_eq!((js.strict, js.sync), (false, Sync::Always));
    assert_eq!((js.request_queue_limit, js.info_queue_limit), (7, 7));
    assert_eq!(js.limits.max_ack_pending, Some(3));
    assert_eq!(js.limits.duplicates, Some(Duration::from_secs(60)));
    assert_eq!(js.limits.batch_max_msgs, 9);
    assert_eq!(
        config("store_dir: \"/e\"").jetstream.store_dir.as_deref(),
        Some("/e")
    );
    let note = "x.conf:1:13: \"sync_interval\" has no effect: an ack always waits for the sync";
    assert_eq!(notes("jetstream { sync_interval: \"2m\" }"), [note]);
    assert!(notes("jetstream { sync: always }").is_empty());
}

#[test]
fn leafnodes() {
    let text = "leafnodes {
        reconnect: \"5s\", min_version: \"2.9.0\"
        authorization { users: [{ user: l, password: p, account: A }] }
        remotes [
          { url: \"nats://u:pw@hub:1\", account: A, deny_imports: a, deny_exports: [b, c.>] }
          { urls: [nats://a, nats-leaf://b:5], credentials: \"~/x.creds\", no_randomize: true, hub: true }
        ]
    }
    accounts { A {} }";
    let leaf = config(text).leafnodes;
    assert_eq!(leaf.reconnect_interval, Duration::from_secs(5));
    assert_eq!(leaf.authorization.users[0].account.as_deref(), Some("A"));
    let [first, second] = leaf.remotes.as_slice() else {
        panic!("{:?}", leaf.remotes)
    };
    assert_eq!(
        first.name(),
        "urls=[\"nats://u:xxxxx@hub:1\"], account=\"A\""
    );
    assert_eq!((first.deny_imports.len(), first.deny_exports.len()), (1, 2));
    let want = "urls=[\"nats://a\" \"nats-leaf://b:5\"], account=\"$G\", credentials=\"~/x.creds\"";
    assert_eq!(second.name(), want);
    assert!(second.no_randomize && second.hub && !second.disabled);
}

#[test]
fn all_errors_are_told_with_place_and_remedy() {
    let text = "prot: 4222\nmax_payload: big\nauthorization {\n  usres: []\n}\nmqtt {}\n";
    assert_eq!(
        errors(text),
        [
            "x.conf:1:1: unknown field \"prot\" (did you mean \"port\"?)",
            "x.conf:2:1: interface conversion: interface {} is string, not int64 \
             (write a whole number such as 100, a size such as 64KB or 1MB, without quotes)",
            "x.conf:4:3: unknown field \"usres\" (did you mean \"users\"?)",
            "x.conf:6:1: not supported yet: \"mqtt\", line 6 (remove it to start)",
        ]
    );
}

#[test]
fn a_place_is_named_once() {
    assert_eq!(
        errors("port: 4222\n\nfoo"),
        ["config is invalid (x.conf:3:1; give \"foo\" a value)"]
    );
}

/// nats-server takes each of them without a word.
#[test]
fn what_is_taken_as_something_else_is_told() {
    let cases = [
        (
            "jetstream { max_file_store: -5 }",
            "x.conf:1:13: \"max_file_store\" has no effect: -5 is no size, the server chooses one",
        ),
        (
            "jetstream { max_mem: -7 }",
            "x.conf:1:13: \"max_mem\" has no effect: -7 is no size, the server chooses one",
        ),
        (
            "leafnodes { remotes [ { url: \"http://u:p@hub\" } ] }",
            "x.conf:1:25: \"http\" in \"http://u:xxxxx@hub\" is dialed as nats-leaf, port 7422",
        ),
    ];
    for (text, note) in cases {
        assert_eq!(notes(text), [note], "{text}");
    }
    for text in [
        "jetstream { max_file_store: -1 }",
        "leafnodes { remotes [ { urls: [ \"nats://a\", \"tls://b\", \"nats-leaf://c\" ] } ] }",
        "leafnodes { remotes [ { urls: [ \"ws://a:1\", \"wss://b:1\" ] } ] }",
    ] {
        assert!(notes(text).is_empty(), "{text}");
    }
}

#[test]
fn secrets_are_never_shown() {
    let text = "authorization { users: [{user: a, password: hush1}], token: hush2, x: hush3 }
        leafnodes { authorization { user: l, password: hush4 }, remotes: [
          {url: \"nats://u:hush5@h\"}
          {url: \"nats://h\", nkey: SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY}
        ] }";
    let bad = [
        "leafnodes { remotes: [{ url: \"nats//u:hush6@h\" }] }",
        "leafnodes { remotes: [{ url: \"nats://u:hush6%zz@h\" }] }",
        "leafnodes { remotes: [{ url: \"nats://a\", nkey: SUhush6 }] }",
        "authorization { token: [hush6] }",
        "authorization { users: hush6 }",
    ];
    let shown = errors(text).join("\n")
        + &format!(
            "{:?}",
            loaded(&text.replace(", token: hush2, x: hush3", ""))
        )
        + &bad.map(|text| errors(text).join("\n")).concat();
    assert!(
        !shown.contains("hush") && !shown.contains("SUACSSL3"),
        "{shown}"
    );
}

#[test]
fn an_option_that_changes_nothing_is_said() {
    let said = notes("prof_port: 6060");
    assert!(
        said.len() == 1 && said.concat().contains("has no effect here"),
        "{said:?}"
    );
    for text in ["debug: true", "no_fast_producer_stall: true"] {
        assert!(notes(text).is_empty());
    }
}
