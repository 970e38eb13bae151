//! Certificates that were taken back, our own and those of peers; nats-server is held to the same
//! text.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and look at files"
)]

use std::process::Command;
use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;
use interop::{Kind, Pki, Responder, Said, Server, Setup, free_port, http_get, run, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const KINDS: [Kind; 2] = [Kind::Leaf, Kind::Real];
const GOOD: u8 = 7;
const BAD: u8 = 8;
const ACCOUNTS: &str = "accounts { $SYS { users: [ { user: sys, password: sys } ] }\n\
                        A { users: [ { user: a, password: a } ] } }\n";

fn world() -> (Pki, Responder) {
    let pki = Pki::new("ca");
    let responder = Responder::new(&pki);
    for (name, number) in [("good", GOOD), ("bad", BAD)] {
        pki.asked(name, number, responder.url(), false);
    }
    pki.asked("must", 9, responder.url(), true);
    responder.says(BAD, Said::Revoked);
    (pki, responder)
}

fn config(text: &str) -> Setup {
    Setup::config(&format!(
        "listen: \"127.0.0.1:-1\"\nstore_dir: \"$DIR\"\ndebug: true\n{text}\n"
    ))
}

fn says(server: &Server, what: &str) {
    wait_for(
        &format!("{:?} to say {what:?}", server.kind()),
        BOUND,
        || server.log().contains(what).then_some(()),
    );
}

/// What `openssl` tells of the staple it is shown.
fn staple(server: &Server, pki: &Pki) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-status", "-connect", server.addr()]);
    command.arg("-CAfile").arg(pki.file("ca.pem"));
    run(&mut command).text
}

#[test]
fn own_certificates_are_shown_with_an_answer_about_them() {
    let (pki, responder) = world();
    for kind in KINDS {
        for (cert, rules, is_stapled) in [
            ("good", "", false),
            ("good", "ocsp: true", false),
            ("good", "ocsp { mode: must }", false),
            ("good", "ocsp { mode: always }", true),
            ("must", "", true),
            ("must", "ocsp: true", true),
            ("must", "ocsp { mode: Must }", true),
            ("must", "ocsp: false", false),
        ] {
            let block = pki.block(cert);
            let text = format!("tls {{ {block}, handshake_first: true }}\n{rules}");
            let server = Server::start(kind, &config(&text));
            let what = format!("{kind:?} {cert} {rules}");
            let told = staple(&server, &pki);
            assert_eq!(
                told.contains("Cert Status: good"),
                is_stapled,
                "{what}: {told}"
            );
            assert_eq!(
                told.contains("no response sent"),
                !is_stapled,
                "{what}: {told}"
            );
            let kept = std::fs::read_dir(server.dir().join("ocsp"));
            let kept = kept.map_or(0, |dir| dir.flatten().count());
            assert_eq!(kept, usize::from(is_stapled), "{what}");
            if is_stapled {
                says(&server, "OCSP Stapling enabled for Client connections");
                says(&server, "Found OCSP status for Client certificate at '");
            } else if cert == "must" && kind == Kind::Leaf {
                // nats-server says it before it has a log.
                says(&server, "has MustStaple but OCSP is disabled");
            }
        }
    }
    assert!(responder.asked().iter().all(|how| how == "POST"));
}

#[test]
fn a_start_without_a_good_answer_is_refused() {
    let (pki, responder) = world();
    for kind in KINDS {
        let dir = tempfile();
        let told = |cert: &str, rules: &str| {
            let path = dir.path().join("server.conf");
            let block = pki.block(cert);
            let store = dir.path().join("store");
            let _ = std::fs::remove_dir_all(&store);
            let text = format!(
                "listen: \"127.0.0.1:-1\"\nstore_dir: {:?}\ntls {{ {block} }}\n{rules}\n",
                store.display()
            );
            std::fs::write(&path, text).unwrap();
            let ended = run(Command::new(kind.binary()).arg("-c").arg(path));
            assert!(!ended.status.success(), "{kind:?}: {}", ended.text);
            ended.text
        };
        let file = |cert: &str| pki.file(&format!("{cert}.pem")).display().to_string();
        let revoked = told("bad", "ocsp { mode: always }");
        let want = format!(
            "found existing OCSP status for certificate at '{}': revoked",
            file("bad")
        );
        assert!(revoked.contains(&want), "{kind:?}: {revoked}");
        let nobody = format!(
            "ocsp {{ mode: always, url: \"http://127.0.0.1:{}\" }}",
            free_port()
        );
        let unreachable = told("must", &nobody);
        for want in [
            format!(
                "bad OCSP status update for certificate at '{}': ",
                file("must")
            ),
            "exhausted ocsp servers: Post \"http://127.0.0.1:".to_owned(),
            "connect: connection refused".to_owned(),
        ] {
            assert!(unreachable.contains(&want), "{kind:?}: {unreachable}");
        }
        for (said, want) in [
            (
                Said::Refusal,
                "failed to get remote status: ocsp: error from server: unauthorized",
            ),
            (
                Said::Forged,
                "failed to get remote status: bad OCSP signature",
            ),
            (Said::Old, "invalid ocsp NextUpdate, is past time: "),
        ] {
            responder.says(9, said);
            let told = told("must", "");
            assert!(told.contains(want), "{kind:?} {said:?}: {told}");
        }
        responder.says(9, Said::Good);
    }
}

#[test]
fn an_answer_is_renewed_and_who_is_revoked_ends() {
    for kind in KINDS {
        let (pki, responder) = world();
        responder.good_for(Duration::from_secs(4));
        let block = pki.block("good");
        let text = format!("tls {{ {block}, handshake_first: true }}\nocsp {{ mode: always }}");
        let server = Server::start(kind, &config(&text));
        says(&server, "Received OCSP status for Client certificate '");
        assert!(staple(&server, &pki).contains("Cert Status: good"));
        responder.says(GOOD, Said::Revoked);
        says(&server, "': revoked");
        says(&server, "Initiating Shutdown");
    }
}

async fn connect(server: &Server, pki: &Pki, cert: &str) -> Result<Client, String> {
    let file = |end: &str| pki.file(&format!("{cert}.{end}"));
    let options = ConnectOptions::with_user_and_password("a".into(), "a".into())
        .add_root_certificates(pki.file("ca.pem"))
        .add_client_certificate(file("pem"), file("key"))
        .require_tls(true)
        .connect(format!("tls://{}", server.addr()));
    let client = options.await.map_err(|error| error.to_string())?;
    client.flush().await.map_err(|error| error.to_string())?;
    Ok(client)
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_asked_about() {
    let (pki, responder) = world();
    let only = |rule: &str| format!("{{ verify: true, {rule} }}");
    for kind in KINDS {
        for (rules, said, comes_in) in [
            ("true".to_owned(), Said::Good, true),
            ("true".to_owned(), Said::Revoked, false),
            ("true".to_owned(), Said::Unknown, false),
            ("true".to_owned(), Said::Nothing, false),
            ("true".to_owned(), Said::Forged, false),
            ("true".to_owned(), Said::Old, false),
            ("false".to_owned(), Said::Revoked, true),
            (only("warn_only: true"), Said::Revoked, true),
            (only("warn_only: true"), Said::Nothing, true),
            (only("unknown_is_good: true"), Said::Unknown, true),
            (only("unknown_is_good: true"), Said::Revoked, false),
            (only("allow_when_ca_unreachable: true"), Said::Nothing, true),
            (
                only("allow_when_ca_unreachable: true"),
                Said::Revoked,
                false,
            ),
        ] {
            let block = pki.block("server_cert");
            pki.server("server_cert");
            let text = format!(
                "tls {{ {block}, verify: true, ocsp_peer: {rules} }}\n{ACCOUNTS}\
                 ocsp_cache {{ local_store: \"$DIR/rc\" }}"
            );
            let server = Server::start(kind, &config(&text));
            responder.says(GOOD, said);
            let came = connect(&server, &pki, "good").await;
            assert_eq!(
                came.is_ok(),
                comes_in,
                "{kind:?} {rules} {said:?}: {}",
                server.log()
            );
            if !comes_in {
                says(&server, "TLS handshake error: client not OCSP valid");
            }
        }
    }
    assert!(responder.asked().iter().all(|how| how == "GET"));
}

/// What the system account hears: subjects with what they end in, and the bodies' keys.
fn shape(event: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in event.as_object().unwrap() {
        keys.push(key.clone());
        if key == "peer" || key == "link" {
            keys.extend(
                value
                    .as_object()
                    .unwrap()
                    .keys()
                    .map(|inner| format!("{key}.{inner}")),
            );
        }
    }
    keys
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_sent_away_is_told_and_counted() {
    let mut seen = Vec::new();
    for kind in KINDS {
        let (pki, _responder) = world();
        pki.server("server_cert");
        let (block, monitor) = (pki.block("server_cert"), free_port());
        let text = format!(
            "tls {{ {block}, verify: true, ocsp_peer: true }}\n{ACCOUNTS}\
             ocsp_cache {{ local_store: \"$DIR/rc\", save_interval: 1 }}\nhttp: \"127.0.0.1:{monitor}\""
        );
        let server = Server::start(kind, &config(&text));
        let file = |end: &str| pki.file(&format!("good.{end}"));
        let system = ConnectOptions::with_user_and_password("sys".into(), "sys".into())
            .add_root_certificates(pki.file("ca.pem"))
            .add_client_certificate(file("pem"), file("key"))
            .require_tls(true);
        let system = system
            .connect(format!("tls://{}", server.addr()))
            .await
            .unwrap();
        let mut events = system.subscribe("$SYS.SERVER.*.OCSP.>").await.unwrap();
        system.flush().await.unwrap();
        assert!(connect(&server, &pki, "bad").await.is_err());
        let mut told = Vec::new();
        for _ in 0..2 {
            let message = tokio::time::timeout(BOUND, events.next())
                .await
                .unwrap()
                .unwrap();
            let event: Value = serde_json::from_slice(&message.payload).unwrap();
            let end = message.subject.splitn(4, '.').nth(3).unwrap().to_owned();
            let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            assert_eq!(event["peer"]["subject"], "CN=bad");
            assert_eq!(event["peer"]["issuer"], "CN=ca");
            told.push((
                end,
                text("type"),
                text("kind"),
                text("reason"),
                shape(&event),
            ));
        }
        let page = http_get(&format!("127.0.0.1:{monitor}"), "/varz").1;
        let page: Value = serde_json::from_str(&page).unwrap();
        let counts = (
            page["tls_ocsp_peer_verify"].clone(),
            page["ocsp_peer_cache"].clone(),
        );
        let kept = wait_for("the cache's file", BOUND, || {
            let text = std::fs::read_to_string(server.dir().join("rc/cache.json")).ok()?;
            let kept: Value = serde_json::from_str(&text).ok()?;
            (kept.as_object()?.len() == 2).then_some(kept)
        });
        let mut kept: Vec<_> = kept.as_object().unwrap().values().collect();
        kept.sort_by_key(|item| item["subject"].as_str().unwrap().to_owned());
        let kept: Vec<_> = kept
            .iter()
            .map(|item| (item["subject"].clone(), item["resp_status"].clone()))
            .collect();
        seen.push((told, counts, kept));
    }
    let real = seen.pop();
    assert_eq!(seen.pop(), real);
}

#[test]
fn a_hub_that_was_revoked_is_not_dialed_through() {
    let (pki, responder) = world();
    for kind in KINDS {
        for (said, comes_up) in [(Said::Good, true), (Said::Revoked, false)] {
            responder.says(GOOD, said);
            let (link, block) = (free_port(), pki.block("good"));
            let monitor = free_port();
            let hub = format!(
                "leafnodes {{ listen: \"127.0.0.1:{link}\", tls {{ {block} }} }}\n\
                 http: \"127.0.0.1:{monitor}\""
            );
            let above = if kind == Kind::Leaf { Kind::Hub } else { kind };
            let _hub = Server::start(above, &config(&hub));
            let ca = pki.file("ca.pem").display().to_string();
            let leaf = format!(
                "leafnodes {{ remotes: [ {{ url: \"tls://127.0.0.1:{link}\", \
                 tls {{ ca_file: {ca:?}, ocsp_peer: true }} }} ] }}\nocsp_cache: false"
            );
            let leaf = Server::start(kind, &config(&leaf));
            let attached = || {
                let page = http_get(&format!("127.0.0.1:{monitor}"), "/leafz").1;
                let page: Value = serde_json::from_str(&page).unwrap();
                page["leafnodes"].as_u64() == Some(1)
            };
            if comes_up {
                wait_for("the leaf", BOUND, || attached().then_some(()));
            } else {
                says(&leaf, "handshake error: server not OCSP valid");
                assert!(!attached(), "{kind:?}");
            }
        }
    }
}

#[test]
fn peers_are_only_asked_about_when_they_show_a_certificate() {
    let (pki, _responder) = world();
    for kind in KINDS {
        let dir = tempfile();
        let path = dir.path().join("server.conf");
        let block = pki.block("good");
        let text = format!("listen: \"127.0.0.1:-1\"\ntls {{ {block}, ocsp_peer: true }}\n");
        std::fs::write(&path, text).unwrap();
        let ended = run(Command::new(kind.binary()).arg("-c").arg(path));
        let want = "OCSP peer verification for client connections requires TLS verify (mTLS) to \
                    be enabled";
        assert!(ended.text.contains(want), "{kind:?}: {}", ended.text);
    }
}

fn tempfile() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}
