//! What hurt people who run brokers, each report as a test: the numbers are those of `field_reports.md`
//! beside this crate, which says where every other one is shown.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and touch files"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use interop::{Kind, Server, Setup, free_port, http_get, run, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const BOTH: [Kind; 2] = [Kind::Leaf, Kind::Real];

/// A client that sees every byte.
struct Raw(BufReader<TcpStream>);

impl Raw {
    fn connect(addr: &str, options: &str) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let mut raw = Self(BufReader::new(stream));
        assert!(raw.line().starts_with("INFO "));
        raw.say(&format!("CONNECT {options}\r\n"));
        raw.done();
        raw
    }

    fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    /// Everything until the answer to a ping, every frame checked for its length.
    fn done(&mut self) -> Vec<String> {
        self.say("PING\r\n");
        let mut frames = Vec::new();
        loop {
            let mut line = self.line();
            match line.split_whitespace().next() {
                Some("PONG") => return frames,
                Some("MSG" | "HMSG") => {
                    let length: usize = line.split_whitespace().last().unwrap().parse().unwrap();
                    let mut payload = vec![0; length + 2];
                    self.0.read_exact(&mut payload).unwrap();
                    assert!(payload.ends_with(b"\r\n"), "{line}");
                    line.push_str(&String::from_utf8(payload).unwrap());
                    frames.push(line);
                }
                Some("PING") => self.say("PONG\r\n"),
                Some("INFO" | "+OK") => {}
                _ => panic!("no frame of the protocol: {line:?}"),
            }
        }
    }

    /// The first frame for `sid`, asked for until it comes.
    fn frame(&mut self, sid: &str) -> String {
        wait_for(&format!("a message for {sid}"), BOUND, || {
            let frames = self.done();
            frames
                .into_iter()
                .find(|frame| frame.split(' ').nth(2) == Some(sid))
        })
    }
}

/// Reloads, and waits for the `nth` time that this is told.
fn reload(server: &Server, config: &str, nth: usize) {
    server.reload(config);
    wait_for("the reload", BOUND, || {
        let log = server.log();
        assert!(!log.contains("Failed to reload"), "{log}");
        let told = log.matches("Reloaded server configuration").count();
        (told >= nth).then_some(())
    });
}

fn document(http: &str, path: &str) -> Value {
    let (code, body) = http_get(http, path);
    assert_eq!(code, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// F1: arguments beat the file, after a reload too.
#[test]
fn f1_arguments_outlive_a_reload() {
    for kind in BOTH {
        let http = format!("127.0.0.1:{}", free_port());
        let config = format!("listen: \"127.0.0.1:-1\"\nhttp: \"{http}\"\n");
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display().to_string();
        let server = Server::start(kind, &Setup::config(&config).args(["-js", "-sd", &at]));
        let before = document(&http, "/jsz")["config"]["store_dir"].clone();
        reload(&server, &format!("{config}max_payload: 2000\n"), 1);
        assert_eq!(document(&http, "/varz")["max_payload"], 2000);
        let after = document(&http, "/jsz");
        assert_eq!(after["config"]["store_dir"], before, "{}", kind.name());
        assert_eq!(after["disabled"], Value::Null, "{}", kind.name());
    }
}

/// F3: a file that did not change is never refused.
#[test]
fn f3_an_unchanged_file_is_reloaded() {
    let config = "listen: \"127.0.0.1:-1\"\nserver_name: edge\njetstream { store_dir: \"$DIR/js\" }\n\
        leafnodes { remotes [ { urls: [\"nats://127.0.0.1:1\", \"nats://127.0.0.1:2\"], account: A } ] }\n\
        accounts { A { jetstream: enabled, users: [{ user: a, password: a }] } }\n";
    for kind in BOTH {
        let server = Server::start(kind, &Setup::config(config));
        reload(&server, config, 1);
        reload(&server, config, 2);
    }
}

/// F5: remotes come, go and rest by reload; a client that is in stays in.
#[test]
fn f5_remotes_follow_the_file() {
    for kind in BOTH {
        let port = free_port();
        let hub_config =
            format!("listen: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}\n");
        let _hub = Server::start(Kind::Real, &Setup::config(&hub_config));
        let http = format!("127.0.0.1:{}", free_port());
        let alone = format!("server_name: edge\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\n");
        let linked = |more: &str| {
            format!(
                "{alone}leafnodes {{ remotes [ {{ url: \"nats://127.0.0.1:{port}\"{more} }} ] }}\n"
            )
        };
        let server = Server::start(kind, &Setup::config(&alone));
        let mut client = Raw::connect(server.addr(), "{}");
        let steps = [
            (linked(""), 1),
            (linked(", disabled: true"), 0),
            (linked(""), 1),
            (alone.clone(), 0),
        ];
        for (nth, (config, links)) in (1..).zip(steps) {
            reload(&server, &config, nth);
            wait_for("the link to follow", BOUND, || {
                (document(&http, "/leafz")["leafnodes"] == links).then_some(())
            });
            assert_eq!(client.done(), Vec::<String>::new(), "{}", kind.name());
        }
    }
}

/// F7, and pain 18: after a reload everything is told as after a restart with the same file.
#[test]
fn f7_a_reload_equals_a_restart() {
    let http = format!("127.0.0.1:{}", free_port());
    let config = |more: &str| {
        format!(
            "server_name: edge\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ store_dir: \"$DIR/js\", max_file: 1GB }}\n{more}\n"
        )
    };
    // Until accounts are named, everybody's account has JetStream.
    let mut server = Server::start(Kind::Leaf, &Setup::config(&config("")));
    let changes = "accounts { A { jetstream: enabled, users: [{ user: a, password: a }] } }\nmax_payload: 3000\nmax_connections: 7\nping_interval: \"9s\"\nping_max: 4\nwrite_deadline: \"3s\"\n\
        max_control_line: 2048\nserver_tags: [a, b]\nauthorization { timeout: 3 }\n\
        leafnodes { remotes [ { url: \"nats://127.0.0.1:1\", account: A, deny_imports: \"x\" } ] }";
    reload(&server, &config(changes), 1);
    let told = || {
        let mut varz = document(&http, "/varz");
        for changing in [
            "server_id",
            "port",
            "start",
            "now",
            "uptime",
            "mem",
            "cpu",
            "config_load_time",
            "http_req_stats",
            "frond",
            "subscriptions",
        ] {
            varz.as_object_mut().unwrap().remove(changing);
        }
        let accounts = document(&http, "/accountz")["accounts"].clone();
        (varz, accounts)
    };
    let reloaded = told();
    server.terminate();
    server.restart();
    assert_eq!(reloaded, told());
    assert_eq!(reloaded.0["max_payload"], 3000);
}

/// What a mere check of a configuration says, and whether it is content.
fn checked(kind: Kind, config: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.conf");
    std::fs::write(&path, config).unwrap();
    let ended = run(Command::new(kind.binary()).arg("-t").arg("-c").arg(&path));
    (ended.status.success(), ended.text)
}

/// F9, F11 and F17: files that hold nothing, names with spaces, and imports in a circle.
#[test]
fn f9_f11_f17_bad_files_are_refused_alike() {
    let circle = "accounts {
        A { exports: [{ service: help }], imports: [{ service: { account: C, subject: help } }] }
        B { exports: [{ service: help }], imports: [{ service: { account: A, subject: help } }] }
        C { exports: [{ service: help }], imports: [{ service: { account: B, subject: help } }] }
    }";
    for (config, words) in [
        ("", ""),
        ("# nothing\n// here\n", ""),
        ("{}", ""),
        ("# with\n{\n}\n", ""),
        ("server_name: \"my server\"", "spaces"),
        ("server_name: myserver", ""),
        (circle, "cycle"),
    ] {
        let (ours, theirs) = (checked(Kind::Leaf, config), checked(Kind::Real, config));
        assert_eq!(ours.0, theirs.0, "{config:?}:\n{}\n{}", ours.1, theirs.1);
        for (of, said) in [("ours", &ours.1), ("theirs", &theirs.1)] {
            assert!(said.contains(words), "{of}: {config:?}: {said}");
        }
    }
}

/// C5: whoever asks nobody is told which subject that was.
#[test]
fn c5_no_responders_name_the_subject() {
    for kind in BOTH {
        let server = Server::start(kind, &Setup::core());
        let mut client = Raw::connect(server.addr(), r#"{"headers":true,"no_responders":true}"#);
        client.say("SUB r 1\r\nPUB nobody.here r 0\r\n\r\n");
        let frame = client.frame("1");
        assert_eq!(
            frame,
            "HMSG r 1 43 43\r\nNATS/1.0 503\r\nNats-Subject: nobody.here\r\n\r\n\r\n",
            "{}",
            kind.name()
        );
    }
}

/// C9 and O1: one answer to who one is, and the system account counts everybody of an account.
#[test]
fn c9_o1_the_system_account_answers_once_and_counts_all() {
    let config = "listen: \"127.0.0.1:-1\"\naccounts {
        A { users: [{ user: a, password: a }] }
        SYS { users: [{ user: s, password: s }] }
    }\nsystem_account: SYS";
    for kind in BOTH {
        let server = Server::start(kind, &Setup::config(config));
        let user = r#"{"user":"a","pass":"a"}"#;
        let mut clients: Vec<_> = (0..3).map(|_| Raw::connect(server.addr(), user)).collect();
        let first = &mut clients[0];
        first.say("SUB r 1\r\nPUB $SYS.REQ.USER.INFO r 0\r\n\r\n");
        assert!(
            first.frame("1").contains("\"user\":\"a\""),
            "{}",
            kind.name()
        );
        assert!(first.done().is_empty(), "{}", kind.name());
        let mut system = Raw::connect(server.addr(), r#"{"user":"s","pass":"s"}"#);
        system.say("SUB r 1\r\nPUB $SYS.REQ.ACCOUNT.A.CONNZ r 0\r\n\r\n");
        let counted = system.frame("1");
        assert!(
            counted.contains("\"num_connections\":3"),
            "{}: {counted}",
            kind.name()
        );
    }
}

/// O3: a hub lists its leafnodes among the connections.
#[test]
fn o3_leafnodes_are_connections() {
    for hub in [Kind::Hub, Kind::Real] {
        let (port, http) = (free_port(), format!("127.0.0.1:{}", free_port()));
        let config = format!(
            "server_name: hub\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}\n"
        );
        let _hub = Server::start(hub, &Setup::config(&config));
        let config = format!(
            "server_name: edge\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ remotes [ {{ url: \"nats://127.0.0.1:{port}\" }} ] }}\n"
        );
        let _leaf = Server::start(Kind::Real, &Setup::config(&config));
        let row = wait_for("the leafnode to be listed", BOUND, || {
            let connz = document(&http, "/connz");
            let rows = connz["connections"].as_array().unwrap().clone();
            rows.into_iter().find(|row| row["kind"] == "Leafnode")
        });
        assert_eq!(row["name"], "edge", "{}", hub.name());
    }
}

/// O11: asking how things are changes nothing, while the server comes back too.
#[test]
fn o11_health_only_reports() {
    let http = format!("127.0.0.1:{}", free_port());
    let config = format!(
        "server_name: edge\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n"
    );
    let mut server = Server::start(Kind::Leaf, &Setup::config(&config));
    let mut client = Raw::connect(server.addr(), "{}");
    let stream = r#"{"name":"S","subjects":["s.>"],"storage":"file"}"#;
    client.say(&format!(
        "SUB r 1\r\nPUB $JS.API.STREAM.CREATE.S r {}\r\n{stream}\r\n",
        stream.len()
    ));
    assert!(client.frame("1").contains("\"did_create\""));
    client.say("PUB s.1 r 1\r\nx\r\n");
    assert!(client.frame("1").contains("\"seq\":1"));
    let told = || {
        let jsz = document(&http, "/jsz?consumers=1&config=1");
        (
            jsz["account_details"][0]["stream_detail"].clone(),
            jsz["messages"].clone(),
            jsz["bytes"].clone(),
        )
    };
    let before = told();
    server.kill();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                // Nobody listens for most of the time.
                if TcpStream::connect(&http).is_ok() {
                    let (code, body) = http_get(&http, "/healthz?details=1");
                    assert!([200, 500, 503].contains(&code), "{code} {body}");
                }
            }
        });
        server.restart();
        for _ in 0..200 {
            assert_eq!(http_get(&http, "/healthz").0, 200);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        asking.join().unwrap();
    });
    assert_eq!(told(), before);
}

/// C3: what a consumer pushes comes whole to another account that imports its deliver subject.
#[test]
fn c3_a_pushed_message_crosses_an_import_whole() {
    let config = "listen: \"127.0.0.1:-1\"\njetstream { store_dir: \"$DIR/js\" }\naccounts {
        A { jetstream: enabled, users: [{ user: a, password: a }], exports: [{ stream: \"push.>\" }] }
        B { users: [{ user: b, password: b }], imports: [{ stream: { account: A, subject: \"push.>\" } }] }
    }\n";
    for kind in BOTH {
        let server = Server::start(kind, &Setup::config(config));
        let mut a = Raw::connect(server.addr(), r#"{"user":"a","pass":"a","headers":true}"#);
        let mut b = Raw::connect(server.addr(), r#"{"user":"b","pass":"b","headers":true}"#);
        b.say("SUB push.b 7\r\n");
        b.done();
        let stream = r#"{"name":"S","subjects":["s.*"]}"#;
        let consumer = r#"{"stream_name":"S","config":{"durable_name":"D","deliver_subject":"push.b","ack_policy":"explicit"}}"#;
        a.say("SUB r 1\r\n");
        for (subject, body) in [
            ("$JS.API.STREAM.CREATE.S", stream),
            ("$JS.API.CONSUMER.DURABLE.CREATE.S.D", consumer),
        ] {
            a.say(&format!("PUB {subject} r {}\r\n{body}\r\n", body.len()));
            let answer = a.frame("1");
            assert!(!answer.contains("\"error\""), "{kind:?}: {answer}");
        }
        a.say("HPUB s.1 22 25\r\nNATS/1.0\r\nKey: val\r\n\r\nabc\r\n");
        let frame = b.frame("7");
        assert!(frame.contains("$JS.ACK.S.D.1.1.1."), "{kind:?}: {frame}");
        assert!(
            frame.contains("Key: val") && frame.ends_with("abc\r\n"),
            "{kind:?}: {frame}"
        );
    }
}

/// F13: a resolver's folder that cannot be had ends the start with words.
#[test]
fn f13_a_resolver_without_its_folder_is_a_clean_error() {
    let operator =
        frond_account::nkey::KeyPair::from_random(frond_account::nkey::Role::Operator, &[1; 32]);
    let system =
        frond_account::nkey::KeyPair::from_random(frond_account::nkey::Role::Account, &[2; 32]);
    let mut claims = frond_account::jwt::OperatorClaims::about(&operator.public_key());
    claims.nats.system_account = system.public_key();
    let jwt = claims.encode(&operator).unwrap();
    let config = format!(
        "listen: \"127.0.0.1:-1\"\noperator: {jwt}\nresolver: {{ type: full, dir: \"/proc/none/jwt\" }}\n"
    );
    for kind in BOTH {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.conf");
        std::fs::write(&path, &config).unwrap();
        let mut command = Command::new(kind.binary());
        let ended = run(command.arg("-c").arg(&path));
        assert!(!ended.status.success(), "{kind:?}");
        assert!(
            ended.text.contains("/proc/none"),
            "{kind:?}: {}",
            ended.text
        );
        assert!(!ended.text.contains("panic"), "{kind:?}: {}", ended.text);
    }
}

/// F15: the log says that TLS is required, or that some may do without.
#[test]
fn f15_the_log_says_who_needs_tls() {
    let pki = interop::Pki::new("ca");
    pki.server("server");
    for (more, words) in [
        ("", "TLS required for client connections"),
        (
            "allow_non_tls: true\n",
            "TLS available for client connections",
        ),
    ] {
        for kind in BOTH {
            let block = pki.block("server");
            let config = format!("listen: \"127.0.0.1:-1\"\n{more}tls {{ {block} }}\n");
            let server = Server::start(kind, &Setup::config(&config));
            assert!(server.log().contains(words), "{kind:?}: {}", server.log());
        }
    }
}
