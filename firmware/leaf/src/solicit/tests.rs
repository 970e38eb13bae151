use core::time::Duration;

use frond_broker::{Link, LinkId, Sent, Source, Via};
use frond_clock::Rng;
use frond_wire::Message;

use super::*;
use crate::remote::{RemoteUrl, Secret};
use crate::testing::{CLIENT, Mock, OwnedInterest, at, feed, wake};

mod compression;
mod credentials;
mod endings;

/// Captured from nats-server 2.15.1.
const INFO: &str = r#"INFO {"server_id":"NDHX","server_name":"hub1","version":"2.15.1","proto":3,"git_commit":"b2fd3ef","go":"go1.27.2","host":"127.0.0.1","port":17422,"headers":true,"auth_required":true,"max_payload":1048576,"ip":"127.0.0.1:17422","client_id":6,"nonce":"8XkoCVl0tJTsh0o","compression":"off","api_lvl":5,"info_on_connect":true,"leafnode_urls":["127.0.0.1:17422"]} "#;
const ANSWER: &str = r#"INFO {"server_id":"NDHX","server_name":"hub1","headers":true,"max_payload":1048576,"client_id":6,"connect_info":true,"remote_account":"A","info_on_connect":true,"leafnode_urls":["127.0.0.1:17422"]} "#;
const CONNECT: &str = r#"CONNECT {"version":"2.15.1","user":"leaf","pass":"leaf","server_id":"NLEAF1","name":"leaf1","cluster":"leaf1","headers":true,"compress_mode":"off","remote_account":"A","protocol":3}"#;

fn remote() -> Remote {
    let mut url = RemoteUrl::new("127.0.0.1", 17422);
    url.user = Some("leaf".into());
    url.pass = Some(Secret("leaf".into()));
    Remote::new("A", vec![url])
}

fn dialed(remote: Remote) -> (Solicit, Mock) {
    let (mut link, mut up) = (Solicit::new(remote), Mock::new("leaf1"));
    wake(&mut link, &mut up);
    link.opened(at(0), &mut up);
    (link, up)
}

fn attached(remote: Remote, interest: Vec<OwnedInterest>) -> (Solicit, Mock) {
    let (mut link, mut up) = dialed(remote);
    up.interest = interest;
    feed(
        &mut link,
        &mut up,
        at(1),
        &format!("{INFO}\r\n{ANSWER}\r\n"),
    );
    up.asked();
    (link, up)
}

fn own_loop() -> String {
    crate::loops::loop_subject("NLEAF1", "A")
}

#[test]
fn the_handshake_is_the_captured_one() {
    let (mut link, mut up) = dialed(remote());
    assert_eq!(up.asked(), ["dial 127.0.0.1:17422"]);
    assert_eq!(up.said(), "");
    feed(&mut link, &mut up, at(1), &format!("{INFO}\r\n"));
    assert_eq!(up.said(), format!("{CONNECT}\r\n"));
    assert_eq!(up.asked(), [""; 0]);
    feed(
        &mut link,
        &mut up,
        at(2),
        &format!("{ANSWER}\r\nLS+ $LDS.other\r\nLS+ foo\r\nPING\r\n"),
    );
    assert_eq!(up.said(), format!("LS+ {}\r\nPONG\r\n", own_loop()));
    assert_eq!(up.asked(), ["bind 0 hub1 ", "sub $LDS.other", "sub foo"]);
    assert_eq!(link.status().state, "up");
    assert_eq!(link.status().name, "hub1");
}

#[test]
fn a_nonce_is_signed_and_a_lone_user_is_a_token() {
    let key = frond_account::nkey::KeyPair::from_random(frond_account::nkey::Role::User, &[7; 32]);
    let mut remote = remote();
    remote.nkey_seed = Some(Secret(key.seed()));
    remote.urls[0].pass = None;
    let (mut link, mut up) = dialed(remote);
    feed(&mut link, &mut up, at(1), &format!("{INFO}\r\n"));
    let said = up.said();
    let json = said.strip_prefix("CONNECT ").unwrap();
    let connect = frond_wire::LeafConnect::parse(json.as_bytes()).unwrap();
    assert_eq!(
        (connect.user.as_str(), connect.auth_token.as_str()),
        ("leaf", "leaf")
    );
    assert_eq!(connect.nkey, key.public_key());
    let role = frond_account::nkey::Role::User;
    assert!(frond_account::nkey::verify(
        role,
        &connect.nkey,
        b"8XkoCVl0tJTsh0o",
        &connect.sig
    ));
}

#[test]
fn a_hub_that_does_not_answer_connect_is_attached_at_once() {
    let (mut link, mut up) = dialed(remote());
    let old = INFO.replace(r#""info_on_connect":true,"#, "");
    feed(&mut link, &mut up, at(1), &format!("{old}\r\n"));
    assert_eq!(up.said(), format!("{CONNECT}\r\nLS+ {}\r\n", own_loop()));
    assert_eq!(link.status().state, "up");
}

#[test]
fn other_listeners_are_recognised() {
    let silent = INFO.replace(r#","leafnode_urls":["127.0.0.1:17422"]"#, "");
    let (mut link, mut up) = dialed(remote());
    feed(&mut link, &mut up, at(1), &format!("{silent}\r\n"));
    assert_eq!(up.said(), format!("{CONNECT}\r\n"));
    for wrong in [
        INFO.replace(
            r#""info_on_connect":true,"leafnode_urls":["127.0.0.1:17422"]"#,
            r#""x":1"#,
        ),
        INFO.replace(r#""client_id":6,"#, ""),
        INFO.replace(r#""client_id":6,"#, r#""client_id":6,"gateway":"g","#),
    ] {
        let (mut link, mut up) = dialed(remote());
        up.asked();
        feed(&mut link, &mut up, at(1), &format!("{wrong}\r\n"));
        assert_eq!(up.asked(), ["close Incorrect Port"]);
        assert!(
            up.logs[0].contains("attempted to connect to wrong port"),
            "{:?}",
            up.logs
        );
    }
}

/// A hub that is away, then back: attached within two seconds, however long it was away.
#[test]
fn a_hub_that_returns_is_dialed_within_two_seconds() {
    let (mut link, mut up) = (Solicit::new(remote()), Mock::new("leaf1"));
    for _ in 0..500 {
        let now = wake(&mut link, &mut up);
        link.closed(now, "connection refused", &mut up);
        let pause = link.deadline().unwrap().since(now.mono);
        assert!(
            pause >= Duration::from_secs(1) && pause <= Duration::from_secs(2),
            "{pause:?}"
        );
    }
    assert_eq!(up.logs.len(), 1, "one cause, one line: {:?}", up.logs);
    assert!(up.logs[0].contains("connection refused") && up.logs[0].contains("127.0.0.1:17422"));
    let now = wake(&mut link, &mut up);
    link.closed(now, "no route to host", &mut up);
    assert_eq!(up.logs.len(), 2, "another cause, another line");
}

#[test]
fn refusals_are_named_and_slow_down() {
    let (mut link, mut up) = (Solicit::new(remote()), Mock::new("leaf1"));
    let mut pauses = Vec::new();
    for _ in 0..8 {
        let now = wake(&mut link, &mut up);
        link.opened(now, &mut up);
        feed(
            &mut link,
            &mut up,
            now,
            &format!("{INFO}\r\n-ERR 'Authorization Violation'\r\n"),
        );
        link.closed(now, "EOF", &mut up);
        pauses.push(link.deadline().unwrap().since(now.mono).as_secs());
    }
    assert!(
        pauses[0] <= 2 && pauses[7] >= 10 && pauses[7] <= 11,
        "{pauses:?}"
    );
    assert_eq!(up.logs.len(), 1);
    assert!(
        up.logs[0].contains("Authorization Violation"),
        "{:?}",
        up.logs
    );
    assert!(
        link.status()
            .last_error
            .unwrap()
            .contains("Authorization Violation")
    );
}

#[test]
fn loops_and_equal_clusters_wait_thirty_seconds() {
    for (bytes, closes) in [
        (format!("LS+ {}\r\n", own_loop()), true),
        (
            "-ERR 'Loop detected for leafnode account=\"A\". Delaying'\r\n".into(),
            true,
        ),
        (
            "-ERR 'remote leafnode has same cluster name'\r\n".into(),
            false,
        ),
    ] {
        let (mut link, mut up) = attached(remote(), Vec::new());
        up.said();
        feed(&mut link, &mut up, at(10), &bytes);
        assert_eq!(
            up.asked() == ["close Protocol Violation"],
            closes,
            "{bytes}"
        );
        if bytes.starts_with("LS+") {
            let text =
                "Loop detected for leafnode account=\"A\". Delaying attempt to reconnect for 30s";
            assert_eq!(up.said(), format!("-ERR '{text}'\r\n"));
        }
        link.closed(at(10), "EOF", &mut up);
        let pause = link.deadline().unwrap().since(at(10).mono);
        assert!(pause >= Duration::from_secs(30) && pause <= Duration::from_secs(31));
    }
}

#[test]
fn a_silent_hub_is_left_within_thirty_seconds() {
    let (mut link, mut up) = attached(remote(), Vec::new());
    up.said();
    loop {
        let now = wake(&mut link, &mut up);
        if up.asked() == ["close Stale Connection"] {
            assert!(now.mono <= at(30_000).mono);
            break;
        }
    }
    assert!(up.said().ends_with("PING\r\n-ERR 'Stale Connection'\r\n"));
    assert_eq!(link.status().state, "waiting");
}

#[test]
fn every_step_of_the_handshake_has_an_end() {
    for greeting in ["", INFO] {
        let (mut link, mut up) = dialed(remote());
        if !greeting.is_empty() {
            feed(&mut link, &mut up, at(1), &format!("{greeting}\r\n"));
        }
        up.asked();
        let now = wake(&mut link, &mut up);
        assert!(now.mono <= at(6_000).mono);
        assert_eq!(up.asked(), ["close Stale Connection"]);
        wake(&mut link, &mut up);
        assert_eq!(up.asked(), ["dial 127.0.0.1:17422"]);
    }
}

/// Whatever happens in whatever order, the link dials again.
#[test]
fn no_state_is_without_a_next_step() {
    for seed in 0..300 {
        let mut rng = Rng::seeded(seed);
        let (mut link, mut up) = (Solicit::new(remote()), Mock::new("leaf1"));
        let mut now = at(0);
        for _ in 0..60 {
            now.mono = now.mono + Duration::from_millis(rng.below(3_000));
            match rng.below(9) {
                0 => link.opened(now, &mut up),
                1 => link.closed(now, "EOF", &mut up),
                2 => feed(&mut link, &mut up, now, &format!("{INFO}\r\n")),
                3 => feed(&mut link, &mut up, now, &format!("{ANSWER}\r\n")),
                4 => feed(
                    &mut link,
                    &mut up,
                    now,
                    "-ERR 'Authorization Violation'\r\n",
                ),
                5 => feed(
                    &mut link,
                    &mut up,
                    now,
                    &format!("LS+ a\r\nLS+ {}\r\n", own_loop()),
                ),
                6 => feed(&mut link, &mut up, now, "LMSG a 1\r\nx\r\nPING\r\n"),
                7 => link.on_garbage(now, None, "garbage", &mut up),
                _ => link.on_time(now, &mut up),
            }
            up.asked();
            let wait = link.deadline().expect("stuck").since(now.mono);
            assert!(wait <= Duration::from_secs(31), "{link:?}");
        }
        for _ in 0..40 {
            wake(&mut link, &mut up);
        }
        assert!(
            up.asked().iter().any(|call| call.starts_with("dial")),
            "{link:?}"
        );
    }
}

#[test]
fn a_spoke_tells_what_is_its_own() {
    let hub = Source::Link {
        link: LinkId(1),
        kind: frond_broker::LinkKind::Leaf,
        is_hub: true,
    };
    let leaf = Source::Link {
        link: LinkId(2),
        kind: frond_broker::LinkKind::Leaf,
        is_hub: false,
    };
    let own = Source::Link {
        link: LinkId(7),
        kind: frond_broker::LinkKind::Leaf,
        is_hub: true,
    };
    let mut same_cluster = OwnedInterest::plain("sibling", leaf);
    same_cluster.cluster = Some("hubs".into());
    let interest = vec![
        OwnedInterest::plain("client", CLIENT),
        OwnedInterest::plain("internal", Source::Internal),
        OwnedInterest::plain("hub", hub),
        OwnedInterest::plain("leaf", leaf),
        OwnedInterest::plain("mine", own),
        OwnedInterest::plain("$LDS.foreign", hub),
        OwnedInterest::plain("$JS.API.INFO", Source::Internal),
        OwnedInterest::plain("$KV.>", CLIENT),
        OwnedInterest::plain("$JS.leaf.API.>", Source::Internal),
        OwnedInterest::plain("imports.no", CLIENT),
        same_cluster,
    ];
    let mut remote = remote();
    remote.deny_imports = vec!["imports.>".into()];
    let (mut link, mut up) = dialed(remote);
    up.interest = interest.clone();
    let info = INFO.replace(r#""compression""#, r#""cluster":"hubs","compression""#);
    feed(
        &mut link,
        &mut up,
        at(1),
        &format!("{info}\r\n{ANSWER}\r\n"),
    );
    let said = up.said();
    assert!(said.contains(r#""deny_pub":["imports.\u003e"]"#), "{said}");
    let told: Vec<_> = said
        .lines()
        .filter_map(|line| line.strip_prefix("LS+ "))
        .collect();
    let own = own_loop();
    let mut expected = vec![
        "$JS.leaf.API.>",
        "$LDS.foreign",
        own.as_str(),
        "client",
        "internal",
        "leaf",
    ];
    expected.sort_unstable();
    assert_eq!(told, expected);
    for mut change in interest {
        change.delta = -1;
        link.interest(at(2), &change.change(), &mut up);
    }
    let gone = up.said();
    assert_eq!(gone.lines().count(), expected.len() - 1, "{gone}");
    assert!(gone.lines().all(|line| line.starts_with("LS- ")));
}

#[test]
fn permissions_that_the_hub_told_are_kept_here() {
    let (mut link, mut up) = dialed(remote());
    up.interest = ["a.x", "a.no", "b.x", ">"]
        .map(|subject| OwnedInterest::plain(subject, CLIENT))
        .into();
    let answer = ANSWER.replace(
        r#""info_on_connect""#,
        r#""import":{"allow":["a.\u003e"],"deny":["a.no"]},"export":{"deny":["no.pub"]},"info_on_connect""#,
    );
    feed(
        &mut link,
        &mut up,
        at(1),
        &format!("{INFO}\r\n{answer}\r\n"),
    );
    assert!(
        up.said()
            .ends_with(&format!("LS+ {}\r\nLS+ >\r\nLS+ a.x\r\n", own_loop()))
    );
    let mut out = Vec::new();
    for subject in ["no.pub", "$JS.API.INFO"] {
        assert_eq!(deliver(&mut link, subject, &mut out), Sent::Withheld);
    }
    assert_eq!(deliver(&mut link, "yes.pub", &mut out), Sent::Sent);
    up.asked();
    feed(
        &mut link,
        &mut up,
        at(2),
        "LMSG b.x 0\r\n\r\nLMSG a.x 0\r\n\r\n",
    );
    assert_eq!(up.asked(), ["pub a.x None [] h0 p0"]);
    feed(
        &mut link,
        &mut up,
        at(3),
        &format!("{}\r\n", answer.replace(r#""a.no""#, r#""a.x""#)),
    );
    assert_eq!(up.said(), "LS- a.x\r\nLS+ a.no\r\n");
}

const VIA: Via<'static> = Via {
    account: crate::testing::A,
    source: CLIENT,
    origin_cluster: None,
    is_answer: false,
    has_crossed: false,
    plain: true,
    queues: &[],
};

fn deliver(link: &mut Solicit, subject: &str, out: &mut Vec<u8>) -> Sent {
    let message = Message {
        subject,
        reply: None,
        header: b"",
        payload: b"",
    };
    link.deliver(at(5), &message, &VIA, out)
}

#[test]
fn nothing_goes_back_where_it_came_from() {
    let (mut link, _) = attached(remote(), Vec::new());
    let message = Message {
        subject: "a",
        reply: Some("r"),
        header: b"",
        payload: b"xx",
    };
    let from = |link: u32, cluster| Via {
        account: crate::testing::A,
        source: Source::Link {
            link: LinkId(link),
            kind: frond_broker::LinkKind::Leaf,
            is_hub: true,
        },
        origin_cluster: cluster,
        is_answer: false,
        has_crossed: false,
        plain: true,
        queues: &["q", "p"],
    };
    let mut out = Vec::new();
    assert_eq!(
        link.deliver(at(5), &message, &from(7, None), &mut out),
        Sent::Withheld
    );
    assert_eq!(out, b"");
    assert_eq!(
        link.deliver(at(5), &message, &from(8, Some("x")), &mut out),
        Sent::Sent
    );
    assert_eq!(out, b"LMSG a + r q p 2\r\nxx\r\n");
}

#[test]
fn a_message_too_large_for_the_hub_does_not_cost_the_link() {
    let (mut link, mut up) = dialed(remote());
    let info = INFO.replace("1048576", "8");
    feed(
        &mut link,
        &mut up,
        at(1),
        &format!("{info}\r\n{ANSWER}\r\n"),
    );
    let mut out = Vec::new();
    for (payload, sent) in [
        (&b"12345678"[..], Sent::Sent),
        (b"123456789", Sent::Withheld),
    ] {
        let message = Message {
            subject: "a",
            reply: None,
            header: b"",
            payload,
        };
        assert_eq!(link.deliver(at(2), &message, &VIA, &mut out), sent);
    }
    wake(&mut link, &mut up);
    assert!(
        up.logs
            .iter()
            .any(|line| line.contains("1 messages were too large"))
    );
}

#[test]
fn a_disabled_remote_rests() {
    let mut remote = remote();
    remote.disabled = true;
    let link = Solicit::new(remote);
    assert_eq!((link.deadline(), link.status().state), (None, "disabled"));
}
