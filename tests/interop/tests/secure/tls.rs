//! TLS with real clients and real servers at the other end; nats-server is held to the same text.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::process::Command;
use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;
use interop::{Kind, Pki, Server, Setup, free_port, http_get, wait_for, wait_for_async};
use rcgen::{DnType, SanType};
use rustix::process::Signal;

const BOUND: Duration = Duration::from_secs(20);
const KINDS: [Kind; 2] = [Kind::Leaf, Kind::Real];

fn server(kind: Kind, config: &str) -> Server {
    Server::start(
        kind,
        &Setup::config(&format!("listen: \"127.0.0.1:-1\"\n{config}")),
    )
}

fn trusting(pki: &Pki) -> ConnectOptions {
    ConnectOptions::new()
        .add_root_certificates(pki.file("ca.pem"))
        .require_tls(true)
}

fn showing(pki: &Pki, name: &str) -> ConnectOptions {
    trusting(pki).add_client_certificate(
        pki.file(&format!("{name}.pem")),
        pki.file(&format!("{name}.key")),
    )
}

async fn connect(server: &Server, options: ConnectOptions) -> Result<Client, String> {
    let address = format!("tls://{}", server.addr());
    options
        .connect(address)
        .await
        .map_err(|error| error.to_string())
}

/// A message comes back through the server, small and large.
async fn works(client: &Client) {
    let mut sub = client.subscribe("echo").await.unwrap();
    for size in [1, 100_000] {
        client
            .publish("echo", vec![b'x'; size].into())
            .await
            .unwrap();
        let message = tokio::time::timeout(BOUND, sub.next()).await.unwrap();
        assert_eq!(message.unwrap().payload.len(), size);
    }
}

#[tokio::test]
async fn clients_speak_tls_whenever_it_comes() {
    let (pki, other) = (Pki::new("ca"), Pki::new("other"));
    pki.server("server");
    for kind in KINDS {
        for (rules, first, plain) in [
            ("", false, false),
            (", handshake_first: true", true, false),
            (", handshake_first: auto", true, false),
            (", handshake_first: auto", false, false),
            (", handshake_first: \"200ms\"", false, false),
            (", min_version: \"1.3\"", false, false),
            (
                ", cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]",
                false,
                false,
            ),
            ("}\nallow_non_tls: true\nno_sys_acc: false #", false, true),
        ] {
            let block = pki.block("server");
            let end = if rules.starts_with('}') { "" } else { "}" };
            let at = server(kind, &format!("tls {{ {block}{rules}\n{end}\n"));
            let options = trusting(&pki);
            let options = if first { options.tls_first() } else { options };
            // With `auto`, who comes 50 ms late is greeted in the clear.
            let what = format!("{kind:?} {rules} {first}");
            let client = wait_for_async(&what, BOUND, async || {
                connect(&at, options.clone()).await.ok()
            });
            works(&client.await).await;
            assert!(connect(&at, trusting(&other)).await.is_err(), "{rules}");
            let clear = async_nats::connect(format!("nats://{}", at.addr())).await;
            assert_eq!(clear.is_ok(), plain, "{kind:?} {rules}");
            if let Ok(clear) = clear {
                works(&clear).await;
            }
        }
    }
}

/// The rows of `/connz` with what TLS shows, and who they are.
fn rows(monitor: u16) -> Vec<(String, String, String, String)> {
    let (_, body) = http_get(&format!("127.0.0.1:{monitor}"), "/connz?auth=1");
    let page: serde_json::Value = serde_json::from_str(&body).unwrap();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or("").to_owned();
    let mut rows: Vec<_> = page["connections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                text(row, "authorized_user"),
                text(row, "tls_version"),
                text(&row["tls_peer_certs"][0], "subject"),
                text(&row["tls_peer_certs"][0], "cert_sha256"),
            )
        })
        .collect();
    rows.sort();
    rows
}

#[tokio::test]
async fn certificates_say_who_a_client_is() {
    let (pki, other) = (Pki::new("ca"), Pki::new("other"));
    pki.server("server");
    let name = |text: &str| text.try_into().unwrap();
    let common = [(DnType::CommonName, "nobody")];
    pki.client(
        "email",
        &common,
        vec![SanType::Rfc822Name(name("a@shop.example"))],
    );
    pki.client(
        "dns",
        &common,
        vec![SanType::DnsName(name("till.shop.example"))],
    );
    let dn = [
        (DnType::OrganizationName, "Shop, Inc"),
        (DnType::OrganizationalUnitName, "tills"),
        (DnType::CommonName, "till 7"),
    ];
    pki.client("dn", &dn, Vec::new());
    pki.client("unknown", &[(DnType::CommonName, "x")], Vec::new());
    other.client(
        "foreign",
        &common,
        vec![SanType::Rfc822Name(name("a@shop.example"))],
    );
    let mut shown = Vec::new();
    for kind in KINDS {
        let monitor = free_port();
        let at = server(
            kind,
            &format!(
                "http: \"127.0.0.1:{monitor}\"\ntls {{ {}, verify_and_map: true }}\n\
                 authorization {{ users: [ {{ user: \"a@shop.example\" }}, {{ user: \"till.shop.example\" }}\n\
                 {{ user: \"OU=tills,CN=till 7,O=Shop\\\\, Inc\", permissions: {{ publish: \"x\" }} }} ] }}\n",
                pki.block("server")
            ),
        );
        let mut clients = Vec::new();
        for known in ["email", "dns", "dn"] {
            let client = connect(&at, showing(&pki, known)).await;
            clients.push(client.unwrap_or_else(|e| panic!("{kind:?} {known}: {e}\n{}", at.log())));
        }
        works(clients.first().unwrap()).await;
        assert!(connect(&at, showing(&pki, "unknown")).await.is_err());
        let foreign = showing(&other, "foreign").add_root_certificates(pki.file("ca.pem"));
        assert!(connect(&at, foreign).await.is_err());
        assert!(connect(&at, trusting(&pki)).await.is_err());
        let seen = wait_for("three rows", BOUND, || {
            Some(rows(monitor)).filter(|rows| rows.len() == 3)
        });
        shown.push(seen);
    }
    assert_eq!(shown.first(), shown.last());
}

/// Why a server sends a client away, as the client hears it and as the server writes it.
async fn sent_away(kind: Kind, options: ConnectOptions, block: &str, words: &str) -> String {
    let at = server(
        kind,
        &format!("debug: true\ntls {{ {block}, verify: true }}\n"),
    );
    let heard = connect(&at, options).await.unwrap_err();
    wait_for(&format!("{words:?} of {kind:?}"), BOUND, || {
        at.log().contains(words).then_some(())
    });
    heard
}

/// Of two authorities with one name the other is as unknown as any.
///
/// spec: Go crypto/tls handshake_server.go `processCertsFromClient`
#[tokio::test]
async fn strangers_hear_that_nobody_knows_their_authority() {
    let (pki, namesake, other) = (Pki::new("ca"), Pki::new("ca"), Pki::new("other"));
    pki.server("server");
    let block = pki.block("server");
    let unknown = "TLS handshake error: tls: failed to verify certificate: \
                   x509: certificate signed by unknown authority";
    let nothing = "TLS handshake error: tls: client didn't provide a certificate";
    for kind in KINDS {
        for stranger in [&namesake, &other] {
            stranger.client("x", &[(DnType::CommonName, "x")], Vec::new());
            let options = showing(stranger, "x").add_root_certificates(pki.file("ca.pem"));
            let heard = sent_away(kind, options, &block, unknown).await;
            assert!(heard.contains("UnknownCA"), "{kind:?}: {heard}");
        }
        let heard = sent_away(kind, trusting(&pki), &block, nothing).await;
        assert!(heard.contains("CertificateRequired"), "{kind:?}: {heard}");
    }
}

#[tokio::test]
async fn only_pinned_certificates_come_in() {
    let pki = Pki::new("ca");
    pki.server("server");
    for client in ["good", "bad"] {
        pki.client(client, &[(DnType::CommonName, client)], Vec::new());
    }
    // The pin is what connz shows: learned from a server without pins.
    let monitor = free_port();
    let http = format!("http: \"127.0.0.1:{monitor}\"\n");
    let open = server(
        Kind::Real,
        &format!("{http}tls {{ {}, verify: true }}\n", pki.block("server")),
    );
    let _client = connect(&open, showing(&pki, "good")).await.unwrap();
    let (_, body) = http_get(&format!("127.0.0.1:{monitor}"), "/connz?auth=1");
    let page: serde_json::Value = serde_json::from_str(&body).unwrap();
    let pin = page["connections"][0]["tls_peer_certs"][0]["spki_sha256"].clone();
    let pin = pin.as_str().unwrap().to_uppercase();
    for kind in KINDS {
        let rules = format!("verify: true, pinned_certs: [\"{pin}\"]");
        let at = server(
            kind,
            &format!("tls {{ {}, {rules} }}\n", pki.block("server")),
        );
        works(&connect(&at, showing(&pki, "good")).await.unwrap()).await;
        assert!(
            connect(&at, showing(&pki, "bad")).await.is_err(),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn changed_files_serve_new_handshakes_and_bad_ones_do_not() {
    let (pki, other) = (Pki::new("ca"), Pki::new("other"));
    pki.server("server");
    pki.server("kept");
    other.server("next");
    let at = server(Kind::Leaf, &format!("tls {{ {} }}\n", pki.block("server")));
    let first = connect(&at, trusting(&pki)).await.unwrap();
    // A key that doesn't belong to its certificate.
    std::fs::copy(other.file("next.key"), pki.file("server.key")).unwrap();
    wait_for("the alarm", BOUND, || {
        let log = at.log();
        log.contains("private key does not match public key")
            .then_some(())
    });
    works(&connect(&at, trusting(&pki)).await.unwrap()).await;
    // Both of another authority: used without a signal.
    pki.take(&other, "next", "server");
    wait_for_async("the new certificate", BOUND, async || {
        connect(&at, trusting(&other)).await.ok()
    })
    .await;
    assert!(connect(&at, trusting(&pki)).await.is_err());
    works(&first).await;
    // And at once with one.
    pki.take(&pki, "kept", "server");
    at.signal(Signal::HUP);
    wait_for_async("the former authority", BOUND, async || {
        connect(&at, trusting(&pki)).await.ok()
    })
    .await;
}

#[tokio::test]
async fn leafnodes_attach_over_tls() {
    let pki = Pki::new("ca");
    pki.server("hub");
    pki.server("leaf");
    for (leaf, hub) in [
        (Kind::Leaf, Kind::Real),
        (Kind::Real, Kind::Hub),
        (Kind::Leaf, Kind::Hub),
    ] {
        for (rules, own) in [
            ("", ""),
            (", handshake_first: true", ", handshake_first: true"),
        ] {
            let port = free_port();
            let hub = server(
                hub,
                &format!(
                    "server_name: hub\nleafnodes {{ listen: \"127.0.0.1:{port}\"\ntls {{ {}, verify: true{rules} }} }}\n",
                    pki.block("hub")
                ),
            );
            let leaf = server(
                leaf,
                &format!(
                    "server_name: leaf\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"tls://localhost:{port}\", tls {{ {}{own} }} }} ] }}\n",
                    pki.block("leaf")
                ),
            );
            let (here, there) = (
                async_nats::connect(leaf.url()).await.unwrap(),
                async_nats::connect(hub.url()).await.unwrap(),
            );
            let mut sub = there.subscribe("up").await.unwrap();
            there.flush().await.unwrap();
            let what = format!("a message over {rules:?}\n{}\n{}", leaf.log(), hub.log());
            wait_for_async(&what, BOUND, async || {
                here.publish("up", "x".into()).await.unwrap();
                here.flush().await.unwrap();
                let next = tokio::time::timeout(Duration::from_millis(200), sub.next());
                next.await.ok().flatten()
            })
            .await;
        }
    }
}

/// A configuration, and whether both servers say the same of it.
#[test]
fn bad_blocks_are_refused_in_the_same_words() {
    let pki = Pki::new("ca");
    pki.server("server");
    pki.server("second");
    std::fs::write(pki.file("rubbish.pem"), "rubbish").unwrap();
    let path = |name: &str| format!("{:?}", pki.file(name).display().to_string());
    let (cert, key) = (path("server.pem"), path("server.key"));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.conf");
    for block in [
        format!("cert_file: {}, key_file: {key}", path("none.pem")),
        format!("cert_file: {cert}, key_file: {}", path("second.key")),
        format!("cert_file: {}, key_file: {key}", path("rubbish.pem")),
        format!("cert_file: {cert}"),
        format!(
            "cert_file: {cert}, key_file: {key}, ca_file: {}, verify: true",
            path("rubbish.pem")
        ),
        format!(
            "cert_file: {cert}, key_file: {key}, ca_file: {}",
            path("none.pem")
        ),
        format!("cert_file: {cert}, key_file: {key}, cipher_suites: [\"X\"]"),
        format!("cert_file: {cert}, key_file: {key}, curve_preferences: []"),
        format!("cert_file: {cert}, key_file: {key}, min_version: \"1.1\""),
        format!("cert_file: {cert}, key_file: {key}, pinned_certs: [\"xx\"]"),
        format!("cert_file: {cert}, key_file: {key}, handshake_first: 3"),
        format!("cert_file: {cert}, key_file: {key}, timeout: true"),
        format!("cert_file: {cert}, key_file: {key}, zz: true"),
        format!("cert_file: {cert}, key_file: {key}, cert_store: \"WindowsCurrentUser\""),
        format!(
            "cert_file: {cert}, key_file: {key}, certs: [{{cert_file: {cert}, key_file: {key}}}]"
        ),
    ] {
        for place in ["tls", "leafnodes { listen: \"127.0.0.1:-1\", tls"] {
            let end = if place == "tls" { "" } else { "}" };
            std::fs::write(&file, format!("port: -1\n{place} {{ {block} }}{end}\n")).unwrap();
            let said = |kind: Kind| {
                let mut command = Command::new(kind.binary());
                let output = command.arg("-t").arg("-c").arg(&file).output().unwrap();
                assert!(!output.status.success(), "{kind:?} takes {block}");
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                let text = text.lines().next().unwrap_or_default().to_owned();
                // The column of an element of a list is another one.
                let (_, placed) = text.split_once(": ").unwrap();
                let (place, words) = placed.split_once(": ").unwrap();
                let (line, _) = place.rsplit_once(':').unwrap();
                format!("{line}: {}", words.trim())
            };
            let (ours, theirs) = (said(Kind::Hub), said(Kind::Real));
            assert!(ours.starts_with(&theirs), "{ours}\n{theirs}");
        }
    }
}
