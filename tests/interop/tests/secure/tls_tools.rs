//! TLS as operators meet it: flags, reload, monitoring, tools, and a box whose clock is wrong.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;
use interop::{
    Kind, Pki, Server, Setup, at_home, free_port, http_get, nats_cli, python, run, wait_for,
    wait_for_async,
};
use rcgen::DnType;
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const KINDS: [Kind; 2] = [Kind::Leaf, Kind::Real];
const NATS_PY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/py/tls.py");

fn config(text: &str) -> Setup {
    Setup::config(&format!("listen: \"127.0.0.1:-1\"\n{text}"))
}

/// Writes another configuration and has it read.
fn reload(server: &Server, text: &str) {
    server.reload(&format!("listen: \"127.0.0.1:-1\"\n{text}"));
}

fn says(server: &Server, what: &str) {
    wait_for(&format!("{what:?}"), BOUND, || {
        server.log().contains(what).then_some(())
    });
}

async fn connect(server: &Server, pki: &Pki, cert: &str) -> Client {
    let file = |end: &str| pki.file(&format!("{cert}.{end}"));
    ConnectOptions::new()
        .add_root_certificates(pki.file("ca.pem"))
        .add_client_certificate(file("pem"), file("key"))
        .require_tls(true)
        .connect(format!("tls://{}", server.addr()))
        .await
        .unwrap_or_else(|error| panic!("{error}\n{}", server.log()))
}

fn page(monitor: u16, path: &str) -> Value {
    let (_, body) = http_get(&format!("127.0.0.1:{monitor}"), path);
    serde_json::from_str(&body).unwrap()
}

/// What comes after INFO to whom says this in the clear.
fn told_in_the_clear(server: &Server, says: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        heard.extend(byte);
    }
    stream.write_all(says).unwrap();
    heard.clear();
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut heard);
    heard
}

/// Of nats-server's timer and its deadline for reads either may be first, and the other finds what
/// that one left: each has words of its own.
fn is_late_there(words: &str) -> bool {
    words.ends_with("timeout") || words.ends_with("use of closed network connection")
}

#[test]
fn whoever_fails_the_handshake_is_cut_and_shown() {
    let pki = Pki::new("ca");
    pki.server("server");
    for kind in KINDS {
        let monitor = free_port();
        let block = pki.block("server");
        let at = Server::start(
            kind,
            &config(&format!(
                "debug: true\nhttp: \"127.0.0.1:{monitor}\"\ntls {{ {block}, timeout: 1 }}\n"
            )),
        );
        let no_tls = "error: tls: first record does not look like a TLS handshake";
        let late: &[&str] = &["error: i/o timeout"];
        for (bytes, whys) in [
            (&b"CONNECT {}\r\nPING\r\n"[..], &[no_tls][..]),
            (&b""[..], late),
        ] {
            assert_eq!(told_in_the_clear(&at, bytes), b"", "{kind:?} {whys:?}");
            wait_for(&format!("one of {whys:?} from {kind:?}"), BOUND, || {
                let log = at.log();
                let mut lines = log.lines();
                let said = |line: &str| {
                    let words = line.split_once("TLS handshake ");
                    let is_told = |words: &str| match kind {
                        Kind::Real => whys.contains(&words) || is_late_there(words),
                        Kind::Leaf | Kind::Hub => line.contains("[DBG]") && whys.contains(&words),
                    };
                    words.is_some_and(|(_, words)| is_told(words))
                };
                lines.any(said).then_some(())
            });
        }
        let reasons = wait_for("both to be closed", BOUND, || {
            let page = page(monitor, "/connz?state=closed");
            let rows = page["connections"].as_array()?.clone();
            (rows.len() == 2).then_some(rows)
        });
        for row in reasons {
            assert_eq!(row["reason"], "TLS Handshake Failure", "{kind:?}");
        }
    }
}

#[test]
fn varz_says_whether_tls_is_needed() {
    let pki = Pki::new("ca");
    pki.server("server");
    for more in ["", "allow_non_tls: true\n"] {
        let seen = KINDS.map(|kind| {
            let monitor = free_port();
            let block = pki.block("server");
            let _at = Server::start(
                kind,
                &config(&format!(
                    "http: \"127.0.0.1:{monitor}\"\ntls {{ {block}, verify: true, timeout: 3 }}\n{more}"
                )),
            );
            let page = page(monitor, "/varz");
            ["tls_required", "tls_verify", "tls_timeout", "auth_timeout"]
                .map(|key| page[key].to_string())
        });
        assert_eq!(seen[0], seen[1], "{more}");
    }
}

#[tokio::test]
async fn a_reload_says_what_became_of_tls_and_unpinned_clients_go() {
    let pki = Pki::new("ca");
    pki.server("server");
    pki.client("till", &[(DnType::CommonName, "till")], Vec::new());
    let mut said = Vec::new();
    for kind in KINDS {
        let block = pki.block("server");
        let with = |more: &str| format!("tls {{ {block}, verify: true{more} }}\n");
        let at = Server::start(kind, &config(&with("")));
        let client = connect(&at, &pki, "till").await;
        client.flush().await.unwrap();
        let pin = "ab".repeat(32);
        reload(
            &at,
            &with(&format!(", timeout: 4, pinned_certs: [{pin:?}]")),
        );
        says(&at, "Disconnect 1 clients due to pinned certs reload");
        reload(&at, "");
        says(&at, "Reloaded: tls = disabled");
        wait_for("the second reload", BOUND, || {
            let done = at.log().matches("Reloaded server configuration").count();
            (done == 2).then_some(())
        });
        let clear = async_nats::connect(at.url()).await.unwrap();
        clear.flush().await.unwrap();
        let lines: Vec<String> = at
            .log()
            .lines()
            .filter_map(|line| Some(line.split_once("Reloaded: ")?.1.to_owned()))
            .filter(|line| line.contains("tls") || line.contains("pinned"))
            .collect();
        said.push(lines);
    }
    assert_eq!(said.first(), said.last());
}

#[test]
fn the_websocket_port_takes_changed_files() {
    let (pki, other) = (Pki::new("ca"), Pki::new("other"));
    pki.server("server");
    other.server("next");
    let port = free_port();
    let block = pki.block("server");
    let at = Server::start(
        Kind::Leaf,
        &config(&format!(
            "websocket {{ listen: \"127.0.0.1:{port}\", tls {{ {block} }} }}\n"
        )),
    );
    let script =
        "import ssl, sys\nprint(ssl.get_server_certificate(('127.0.0.1', int(sys.argv[1]))))";
    let shown = || {
        let port = port.to_string();
        run(Command::new(python()).args(["-c", script, &port])).text
    };
    let is = |pki: &Pki, name: &str| {
        let file = std::fs::read_to_string(pki.file(name)).unwrap();
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        plain(&shown()) == plain(&file)
    };
    assert!(is(&pki, "server.pem"), "{}\n{}", shown(), at.log());
    pki.take(&other, "next", "server");
    wait_for("the new certificate", BOUND, || {
        is(&other, "next.pem").then_some(())
    });
}

#[test]
fn monitoring_answers_in_https() {
    let pki = Pki::new("ca");
    pki.server("server");
    let script = "import json, ssl, sys, urllib.request as web\n\
        context = ssl.create_default_context(cafile=sys.argv[2])\n\
        url = f'https://localhost:{sys.argv[1]}/varz'\n\
        page = json.load(web.urlopen(url, context=context, timeout=10))\n\
        print(page['https_port'] == int(sys.argv[1]), page.get('http_port', 0), page['tls_verify'])";
    for kind in KINDS {
        let port = free_port();
        let block = pki.block("server");
        // Clients must show a certificate, whoever asks here need not.
        let at = Server::start(
            kind,
            &config(&format!(
                "https: \"127.0.0.1:{port}\"\ntls {{ {block}, verify: true }}\n"
            )),
        );
        let ca = pki.file("ca.pem").display().to_string();
        let port = port.to_string();
        let ended = run(Command::new(python()).args(["-c", script, &port, &ca]));
        assert_eq!(ended.text.trim(), "True 0 True", "{kind:?}\n{}", at.log());
    }
}

#[tokio::test]
async fn flags_turn_tls_on() {
    let pki = Pki::new("ca");
    pki.server("server");
    pki.client("till", &[(DnType::CommonName, "till")], Vec::new());
    let path = |name: &str| pki.file(name).display().to_string();
    let (cert, key, ca) = (path("server.pem"), path("server.key"), path("ca.pem"));
    for kind in KINDS {
        for flag in ["--tls", "--tlsverify"] {
            let flags = [
                flag,
                "--tlscert",
                &cert,
                "--tlskey",
                &key,
                "--tlscacert",
                &ca,
            ];
            let at = Server::start(kind, &Setup::core().args(flags));
            connect(&at, &pki, "till").await.flush().await.unwrap();
            let bare = ConnectOptions::new()
                .add_root_certificates(pki.file("ca.pem"))
                .require_tls(true)
                .connect(format!("tls://{}", at.addr()))
                .await;
            assert_eq!(bare.is_ok(), flag == "--tls", "{kind:?} {flag}");
        }
    }
    let refused = KINDS.map(|kind| {
        let ended = run(Command::new(kind.binary()).args(["--tls", "-p", "-1"]));
        assert!(!ended.status.success());
        let said = "TLS Server certificate must be present and valid";
        ended.text.contains(said)
    });
    assert_eq!(refused, [true, true]);
}

#[test]
fn tools_speak_tls() {
    let pki = Pki::new("ca");
    pki.server("server");
    pki.client("till", &[(DnType::CommonName, "till")], Vec::new());
    let path = |name: &str| pki.file(name).display().to_string();
    let (ca, cert, key) = (path("ca.pem"), path("till.pem"), path("till.key"));
    for first in [false, true] {
        let block = pki.block("server");
        let at = Server::start(
            Kind::Leaf,
            &config(&format!(
                "tls {{ {block}, verify: true, handshake_first: {first} }}\n"
            )),
        );
        let url = format!("tls://{}", at.addr());
        let how = if first { "first" } else { "later" };
        let ended = run(Command::new(python()).args([NATS_PY, &url, &ca, &cert, &key, how]));
        assert!(
            ended.status.success(),
            "nats-py {how}: {}\n{}",
            ended.text,
            at.log()
        );
        let mut cli = at_home(&at, nats_cli());
        cli.args([
            "--server",
            &url,
            "--tlsca",
            &ca,
            "--tlscert",
            &cert,
            "--tlskey",
            &key,
        ]);
        if first {
            cli.arg("--tlsfirst");
        }
        cli.args(["pub", "x", "hello"]);
        let ended = run(&mut cli);
        assert!(
            ended.status.success(),
            "nats {how}: {}\n{}",
            ended.text,
            at.log()
        );
    }
}

/// A leaf that last knew 2100, so that the clock here is in its past.
#[tokio::test]
async fn a_leaf_with_a_wrong_clock_reaches_its_hub() {
    let pki = Pki::new("ca");
    pki.server_from("soon", (2040, 2, 1));
    pki.server_from("never", (2042, 1, 1));
    for (cert, knows, reaches) in [
        ("soon", true, true),
        ("never", true, false),
        ("soon", false, false),
    ] {
        let port = free_port();
        let hub = Server::start(
            Kind::Real,
            &config(&format!(
                "leafnodes {{ listen: \"127.0.0.1:{port}\"\ntls {{ {} }} }}\n",
                pki.block(cert)
            )),
        );
        let store = tempfile::tempdir().unwrap();
        if knows {
            std::fs::write(store.path().join("known-time"), "2040-01-01T00:00:00Z\n").unwrap();
        }
        let ca = pki.file("ca.pem").display().to_string();
        let leaf = Server::start(
            Kind::Leaf,
            &config(&format!(
                "jetstream {{ store_dir: {:?} }}\nleafnodes {{ reconnect: 1, remotes: [\n\
                 {{ url: \"tls://localhost:{port}\", tls {{ ca_file: {ca:?} }} }} ] }}\n",
                store.path().display().to_string()
            )),
        );
        let what = format!("{cert} {knows}\n{}\n{}", leaf.log(), hub.log());
        if !reaches {
            says(&leaf, "TLS leafnode handshake error");
            assert!(!hub.log().contains("JetStream using domains"), "{what}");
            continue;
        }
        says(&leaf, "it is not believed until it is set");
        let here = async_nats::connect(leaf.url()).await.unwrap();
        let there = async_nats::connect(hub.url()).await.unwrap();
        let mut sub = there.subscribe("up").await.unwrap();
        there.flush().await.unwrap();
        wait_for_async(&what, BOUND, async || {
            here.publish("up", "x".into()).await.unwrap();
            here.flush().await.unwrap();
            let next = tokio::time::timeout(Duration::from_millis(200), sub.next());
            next.await.ok().flatten()
        })
        .await;
        stores_by_what_it_knows(here).await;
    }
}

/// Timestamps count on from the time that was known.
async fn stores_by_what_it_knows(client: Client) {
    let streams = async_nats::jetstream::new(client);
    let config = async_nats::jetstream::stream::Config {
        name: "S".to_owned(),
        max_age: Duration::from_secs(1),
        ..Default::default()
    };
    let stream = streams.create_stream(config).await.unwrap();
    streams
        .publish("S", "x".into())
        .await
        .unwrap()
        .await
        .unwrap();
    let stored = stream.get_raw_message(1).await.unwrap();
    assert_eq!(stored.time.year(), 2040);
}
