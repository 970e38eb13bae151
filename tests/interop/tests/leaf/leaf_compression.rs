//! Leafnode links in S2's frames: what the ends agree on, and that every message comes through unchanged.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use async_nats::Client;
use futures_util::StreamExt as _;
use interop::link::{Link, PAIRS, connect, echo, reaches};
use interop::{Kind, Pki, Random, Server, http_get, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);

fn link(pair: (Kind, Kind), hub: &str, leaf: &str) -> Link {
    Link::new(
        pair,
        &format!("leafnodes {{ listen: \"127.0.0.1:$LINK\"\n{hub} }}\n"),
        &format!(
            "leafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://127.0.0.1:$LINK\"\n{leaf} }} ] }}\n"
        ),
    )
}

/// As `/leafz` calls it.
fn compression(http: &str) -> Option<String> {
    let (_, body) = http_get(http, "/leafz");
    let leafz: Value = serde_json::from_str(&body).unwrap();
    Some(leafz["leafs"][0]["compression"].as_str()?.to_owned())
}

/// Text that repeats itself, and bytes that don't.
fn payloads() -> Vec<Vec<u8>> {
    let text = |size: usize| {
        b"order 17 of till 3 in shop 4; "
            .iter()
            .copied()
            .cycle()
            .take(size)
            .collect()
    };
    let mut random = Random::new(7);
    let mut noise = |size: usize| (0..size).map(|_| random.below(256) as u8).collect();
    let mut all = vec![
        Vec::new(),
        text(1),
        text(100),
        noise(100),
        text(70_000),
        noise(70_000),
    ];
    all.extend([text(1_000_000), noise(900_000), vec![0; 1_000_000]]);
    all
}

/// Everything published at one client comes to the other, in order and unchanged.
async fn passes(from: &Client, to: &Client, subject: &'static str) {
    let mut sub = to.subscribe(subject).await.unwrap();
    echo(to, "ready").await;
    reaches(from, "ready").await;
    let sent = payloads();
    for payload in &sent {
        from.publish(subject, payload.clone().into()).await.unwrap();
    }
    for payload in &sent {
        let next = tokio::time::timeout(BOUND, sub.next()).await;
        let got = next.expect("in time").unwrap().payload;
        assert!(
            got == payload,
            "{} bytes came as {}",
            payload.len(),
            got.len()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ends_agree_and_messages_pass() {
    for (hub, leaf, at_hub, at_leaf) in [
        // How much depends on how quick the machine is.
        ("", "", "s2_", "s2_"),
        (
            "compression: s2_fast",
            "compression: s2_best",
            "s2_fast",
            "s2_best",
        ),
        (
            "compression: accept",
            "compression: s2_better",
            "s2_better",
            "s2_better",
        ),
        ("compression: accept", "compression: accept", "off", "off"),
        ("compression: off", "", "off", "off"),
        ("", "compression: off", "off", "off"),
        (
            "compression: \"not supported\"",
            "",
            "not supported",
            "not supported",
        ),
        (
            "compression: { mode: auto, rtt_thresholds: [\"0s\", \"0s\", \"10s\"] }",
            "compression: { mode: auto, rtt_thresholds: [\"0s\", \"10s\"] }",
            "s2_better",
            "s2_fast",
        ),
    ] {
        for pair in PAIRS {
            let link = link(*pair, hub, leaf);
            let (below, above) = (connect(&link.leaf).await, connect(&link.hub).await);
            passes(&below, &above, "up").await;
            passes(&above, &below, "down").await;
            let seen = [&link.http[1], &link.http[0]].map(|http| compression(http));
            for (seen, expected) in seen.iter().zip([at_hub, at_leaf]) {
                let fits = seen.as_ref().is_some_and(|seen| match expected {
                    "s2_" => seen.starts_with(expected),
                    _ => seen == expected,
                });
                assert!(fits, "{pair:?} {hub:?} {leaf:?}: {seen:?}, not {expected}");
            }
        }
    }
}

/// Leafs that are connected get what is configured now.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_equals_a_restart() {
    for pair in PAIRS {
        let link = link(*pair, "compression: s2_fast", "");
        let shows = |word: &str| {
            wait_for(&format!("{pair:?} to show {word}"), BOUND, || {
                (compression(&link.http[1]).as_deref() == Some(word)).then_some(())
            });
        };
        for (before, after) in [
            ("s2_fast", "s2_best"),
            ("s2_best", "off"),
            ("off", "s2_better"),
        ] {
            shows(before);
            let config = std::fs::read_to_string(link.hub.dir().join("server.conf")).unwrap();
            let [former, new] = [before, after].map(|word| format!("compression: {word}"));
            link.hub.reload(&config.replace(&former, &new));
            shows(after);
            let said = format!("Reloaded: LeafNode Compression value is: {{{after} []}}");
            wait_for(&said, BOUND, || {
                link.hub.log().contains(&said).then_some(())
            });
        }
        let (below, above) = (connect(&link.leaf).await, connect(&link.hub).await);
        passes(&below, &above, "up").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_go_through_tls() {
    let pki = Pki::new("ca");
    pki.server("server");
    for pair in PAIRS {
        let hub = format!("compression: s2_fast\ntls {{ {} }}", pki.block("server"));
        let leaf = format!(
            "compression: s2_fast\ntls {{ ca_file: {:?} }}",
            pki.file("ca.pem")
        );
        let link = link(*pair, &hub, &leaf);
        let (below, above) = (connect(&link.leaf).await, connect(&link.hub).await);
        passes(&below, &above, "up").await;
        passes(&above, &below, "down").await;
    }
}

/// Packed are the frames of a WebSocket, unless it compresses itself.
///
/// spec: nats-server v2.15.1 server/leafnode.go `negotiateLeafCompression`; the real pair shows the right values
#[tokio::test(flavor = "multi_thread")]
async fn websockets_are_packed_unless_they_deflate() {
    for (leaf, at_hub, at_leaf) in [
        ("compression: s2_best", "s2_fast", "s2_best"),
        (
            "compression: s2_better, ws_no_masking: true",
            "s2_fast",
            "s2_better",
        ),
        ("compression: s2_better, ws_compression: true", "off", "off"),
        (
            "compression: off, ws_compression: true",
            "not supported",
            "not supported",
        ),
    ] {
        for pair in PAIRS.iter().chain(&[(Kind::Real, Kind::Real)]) {
            let link = Link::new(
                *pair,
                "leafnodes { listen: \"127.0.0.1:-1\", compression: s2_fast }\n\
                 websocket { listen: \"127.0.0.1:$LINK\", no_tls: true, compression: true }\n",
                &format!(
                    "leafnodes {{ reconnect: 1, remotes: [ {{ url: \"ws://127.0.0.1:$LINK\", {leaf} }} ] }}\n"
                ),
            );
            // Two real ones break a deflated line with more than `max_payload` at a time.
            if *pair != (Kind::Real, Kind::Real) {
                let (below, above) = (connect(&link.leaf).await, connect(&link.hub).await);
                passes(&below, &above, "up").await;
                passes(&above, &below, "down").await;
            }
            for (http, expected) in [(&link.http[1], at_hub), (&link.http[0], at_leaf)] {
                wait_for(
                    &format!("{pair:?} {leaf:?} {http}: {expected}"),
                    BOUND,
                    || (compression(http)? == expected).then_some(()),
                );
            }
        }
    }
}

#[test]
fn an_unknown_word_ends_the_connection() {
    use std::io::{BufRead as _, BufReader, Write as _};
    for kind in [Kind::Real, Kind::Hub] {
        let link = interop::free_port();
        let config =
            format!("listen: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{link}\" }}\n");
        let _server = Server::start(kind, &interop::Setup::config(&config));
        let stream = wait_for("the leafnode port", BOUND, || {
            std::net::TcpStream::connect(("127.0.0.1", link)).ok()
        });
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        assert!(
            lines
                .next()
                .unwrap()
                .unwrap()
                .contains("\"compression\":\"s2_auto\"")
        );
        (&stream)
            .write_all(b"INFO {\"compression\":\"zip\"}\r\n")
            .unwrap();
        let told = lines.next().unwrap().unwrap();
        assert_eq!(
            told, "-ERR 'unsupported route compression mode \"zip\"'",
            "{kind:?}"
        );
        assert!(lines.next().is_none(), "{kind:?} goes on");
    }
}
