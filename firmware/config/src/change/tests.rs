use crate::{Change, Changes, Config, Nothing, Reloadable, RemoteChange, changes, load_text};

fn config(text: &str) -> Config {
    load_text(text, "x.conf", &Nothing)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .config
}

fn between(old: &str, new: &str) -> Result<Changes, String> {
    changes(&config(old), &config(new)).map_err(|refused| refused.to_string())
}

#[test]
fn what_runs_on_is_applied_and_named_as_nats_server_logs_it() {
    let cases = [
        ("debug: true", "debug = true"),
        ("trace_verbose: true", "trace = true, trace_verbose = true"),
        ("log_file: \"/tmp/x\"", "log_file = /tmp/x"),
        ("max_connections: 5", "max_connections = 5"),
        ("max_payload: 5", "max_payload = 5"),
        ("max_control_line: 5", "max_control_line = 5"),
        ("ping_interval: \"30s\"", "ping_interval = 30s"),
        ("ping_max: 5", "ping_max = 5"),
        ("write_deadline: \"3s\"", "write_deadline = 3s"),
        (
            "max_connections_memory: 64mb",
            "max_connections_memory = 67108864",
        ),
        (
            "no_fast_producer_stall: true",
            "fast producers will not be stalled",
        ),
        ("client_advertise: \"a:1\"", "client_advertise = a:1"),
        ("server_tags: [a]", "tags"),
        (
            "authorization { user: a, password: secret }",
            "authorization username, authorization password",
        ),
        ("authorization { token: secret }", "authorization token"),
        ("authorization { timeout: 3 }", "authorization timeout = 3"),
        (
            "authorization { users: [{user: a}] }",
            "authorization users",
        ),
        ("accounts { A {} }", "accounts"),
        (
            "tls { cert_file: a, key_file: b }",
            "authorization timeout = 3, tls = enabled",
        ),
        (
            "jetstream { enabled: no, limits { max_ack_pending: 5 } }",
            "JetStream limits",
        ),
    ];
    for (new, want) in cases {
        let got = between("port: 4222", new).unwrap();
        let shown: Vec<_> = got.options.iter().map(ToString::to_string).collect();
        assert_eq!(shown.join(", "), want, "{new}");
        // As nats-server says it with each reload.
        for always in ["authorization users", "accounts"] {
            let named = got.lines().iter().filter(|line| *line == always).count();
            assert_eq!(named, 1, "{new}");
        }
        let again = between(new, new).unwrap();
        // The files of TLS may have changed.
        let files = |change: &&Change| change.option == Reloadable::Tls;
        let rest = again.options.iter().filter(|change| !files(change));
        assert_eq!((rest.count(), again.remotes.len()), (0, 0), "{new}");
    }
}

#[test]
fn tls_goes_and_its_pins_are_counted() {
    let tls = |more: &str| format!("tls {{ cert_file: a, key_file: b, timeout: 2, {more} }}");
    let pin = "ab".repeat(32);
    let pinned = tls(&format!(
        "verify: true, ca_file: c, pinned_certs: [{pin:?}]"
    ));
    for (old, new, want) in [
        (
            tls(""),
            "port: 4222".to_owned(),
            "authorization timeout = 2, tls = disabled",
        ),
        (tls(""), pinned.clone(), "tls = enabled, 1 pinned_certs"),
        (pinned, tls(""), "tls = enabled, 0 pinned_certs"),
    ] {
        let got = between(&old, &new).unwrap();
        let shown: Vec<_> = got.options.iter().map(ToString::to_string).collect();
        assert_eq!(shown.join(", "), want, "{old} -> {new}");
    }
}

#[test]
fn the_compression_of_accepted_leaves_is_shown_as_go_shows_it() {
    let leafs = |mode: &str| format!("leafnodes {{ port: 7422, compression: {mode} }}");
    for (old, new, want) in [
        ("off", "s2_best", "{s2_best []}"),
        ("off", "s2_auto", "{s2_auto [10ms 50ms 100ms]}"),
    ] {
        let got = between(&leafs(old), &leafs(new)).unwrap();
        let shown: Vec<_> = got.options.iter().map(ToString::to_string).collect();
        assert_eq!(shown, [format!("LeafNode Compression value is: {want}")]);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_cannot_change_refuses_the_reload_in_nats_servers_words() {
    let cases = [
        ("port: 4222", "port: 4223", "Port: old=4222, new=4223"),
        ("host: a", "host: b", "Host: old=a, new=b"),
        (
            "server_name: a",
            "server_name: b",
            "ServerName: old=a, new=b",
        ),
        (
            "host: a",
            "host: a, http: 8222",
            "HTTPPort: old=0, new=8222",
        ),
        (
            "max_pending: 2mb",
            "max_pending: 1mb",
            "MaxPending: old=2097152, new=1048576",
        ),
        ("max_subs: 1", "max_subs: 2", "MaxSubs: old=1, new=2"),
        (
            "lame_duck_duration: \"31s\"",
            "lame_duck_duration: \"2m\"",
            "LameDuckDuration: old=31s, new=2m0s",
        ),
        (
            "jetstream { store_dir: a }",
            "jetstream: true",
            "jetstream storage dir",
        ),
        (
            "jetstream { store_dir: a }",
            "jetstream { enabled: false, store_dir: b }",
            "jetstream storage directory",
        ),
        (
            "jetstream { store_dir: a }",
            "jetstream { store_dir: b }",
            "jetstream storage directory",
        ),
        (
            "jetstream { domain: a }",
            "jetstream { domain: b }",
            "JetStreamDomain: old=a, new=b",
        ),
        (
            "jetstream { max_mem: 2 }",
            "jetstream { max_mem: 1 }",
            "decreasing jetstream max memory and store",
        ),
        (
            "jetstream: true",
            "jetstream { max_mem: 1 }",
            "jetstream dynamic max memory and store",
        ),
        (
            "jetstream { max_file: 1 }",
            "jetstream: true",
            "jetstream max memory and max store",
        ),
        (
            "leafnodes { port: 7422 }",
            "leafnodes { port: 7423 }",
            "LeafNode: field \"Port\": old=7422, new=7423",
        ),
        (
            "host: a",
            "host: a, system_account: S, accounts { S {} }",
            "SystemAccount: old=, new=S",
        ),
    ];
    for (old, new, want) in cases {
        let want = format!("config reload not supported for {want}");
        assert_eq!(between(old, new), Err(want), "{old} -> {new}");
    }
}

#[test]
fn what_happens_to_slow_writes_is_kept() {
    for (block, name) in [
        ("", "WriteTimeout"),
        ("leaf", "LeafNode: field \"WriteTimeout\""),
    ] {
        let text = |policy: &str| match block {
            "" => format!("write_timeout: {policy}"),
            block => format!("{block} {{ write_timeout: {policy} }}"),
        };
        let want = format!("config reload not supported for {name}: old=close, new=retry");
        assert_eq!(between(&text("close"), &text("retry")), Err(want));
    }
}

#[test]
fn a_refusal_shows_no_password() {
    let old = "leafnodes { port: -1, authorization { user: a, password: one } }";
    let new = "leafnodes { port: -1, authorization { user: a, password: two } }";
    let refused = between(old, new).unwrap_err();
    assert!(refused.contains("Password"), "{refused}");
    assert!(
        !refused.contains("one") && !refused.contains("two"),
        "{refused}"
    );
}

#[test]
fn any_port_keeps_the_bound_one() {
    assert!(between("port: 4222", "port: -1").unwrap().is_empty());
}

#[test]
fn sizes_may_grow() {
    let grown = between("jetstream { max_mem: 1MB }", "jetstream { max_mem: 3GB }").unwrap();
    let shown: Vec<_> = grown.options.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["JetStream max_mem_store = 3.00 GB"]);
    let got = between("jetstream { max_file: 1 }", "jetstream { max_file: 2 }").unwrap();
    assert_eq!(got.options.len(), 1);
    assert_eq!(got.options[0].to_string(), "JetStream max_file_store = 2 B");
}

#[test]
fn no_auth_user_may_go_with_its_user() {
    let users = "authorization { users: [{user: a}, {user: b}] }\n";
    let old = format!("{users}no_auth_user: a");
    let kept = between(&old, users).unwrap_err();
    assert_eq!(
        kept,
        "config reload not supported for NoAuthUser: old=a, new="
    );
    assert!(between(&old, "authorization { users: [{user: b}] }").is_ok());
}

#[test]
fn remotes_come_and_go() {
    let remotes = |list: &str| format!("leafnodes {{ remotes: [{list}] }}");
    let got = between(
        &remotes(
            "{url: \"nats://a\"}, {url: \"nats://b\"}, {url: \"nats://c\"}, {url: \"nats://d\"}",
        ),
        &remotes(
            "{url: \"nats://b\"}, {url: \"nats://c\", disabled: true}, \
             {url: \"nats://d\", deny_imports: x}, {url: \"nats://e\"}",
        ),
    )
    .unwrap();
    let shown: Vec<_> = got
        .remotes
        .iter()
        .map(|change| match change {
            RemoteChange::Added(r) => format!("+{}", r.urls[0]),
            RemoteChange::Removed(r) => format!("-{}", r.urls[0]),
            RemoteChange::Redialled(r) => format!("~{}", r.urls[0]),
            RemoteChange::Disabled(r) => format!("!{}", r.urls[0]),
        })
        .collect();
    assert_eq!(shown, ["-nats://a", "!nats://c", "~nats://d", "+nats://e"]);
}

/// spec: nats-server v2.15.1 server/reload.go `leafNodeOption.Apply`
#[test]
fn the_log_names_what_is_different_of_a_remote() {
    let remotes = |list: &str| format!("leafnodes {{ remotes: [{list}] }}");
    let got = between(
        &remotes(
            "{url: \"nats://u:pw@a:1\"}, {url: \"nats://b:1\"}, {url: \"nats://c:1\", disabled: true}",
        ),
        &remotes(
            "{url: \"nats://b:1\", compression: s2_best, disabled: true}, {url: \"nats://c:1\"}, \
             {url: \"nats://d:1\"}",
        ),
    )
    .unwrap();
    let lines = got.lines();
    let told: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("Remote"))
        .collect();
    let of = |url: &str, what: &str| {
        format!("LeafNode Remote urls=[\"nats://{url}:1\"], account=\"$G\" {what}")
    };
    assert_eq!(
        told,
        [
            &of("u:xxxxx@a", "removed"),
            &of("b", "Compression value is: {s2_best []}"),
            &of("b", "Disabled value is: true"),
            &of("c", "Disabled value is: false"),
        ]
    );
}

#[test]
fn how_the_store_is_encrypted_cannot_change_and_no_key_is_shown() {
    let refused = |old, new| between(old, new).unwrap_err();
    let keys = refused(
        "jetstream { key: s3cr3t }",
        "jetstream { key: n3w, prev_key: s3cr3t }",
    );
    assert!(keys.contains("JetStreamKey") && !keys.contains("s3cr3t") && !keys.contains("n3w"));
    let cipher = refused("jetstream { cipher: aes }", "jetstream { cipher: chacha }");
    let shown = "JetStreamCipher: old=AES-GCM, new=ChaCha20-Poly1305";
    assert!(cipher.contains(shown), "{cipher}");
}

/// spec: nats-server v2.15.1, measured
#[test]
fn jetstream_is_switched_on_and_off() {
    let cases = [
        ("jetstream: false", "jetstream: true"),
        ("", "jetstream { store_dir: a, max_mem: 1MB }"),
        ("jetstream { store_dir: a, max_mem: 1MB }", ""),
        (
            "jetstream { enabled: false, store_dir: a }",
            "jetstream { store_dir: b, max_file: 1GB }",
        ),
    ];
    for (old, new) in cases {
        let got = between(old, new).unwrap();
        let shown: Vec<_> = got.options.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["JetStream"], "{old} -> {new}");
    }
    let silent = between(
        "jetstream { enabled: false, store_dir: a, max_file: 2 }",
        "jetstream { enabled: false, store_dir: b, max_file: 1 }",
    );
    assert!(silent.unwrap().options.is_empty());
}
