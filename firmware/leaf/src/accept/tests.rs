mod compression;
mod told;
mod traces;

use core::time::Duration;

use frond_account::{AccountId, AllowResponses, SubjectRules};
use frond_broker::{Link, LinkId, LinkKind, LinkVerdict, Sent, Source, Via};
use frond_wire::Message;

use super::*;
use crate::testing::{CLIENT, Mock, OwnedInterest, accepted, at, feed, wake};

const CONNECT: &str = r#"CONNECT {"version":"2.15.1","user":"leaf","pass":"leaf","server_id":"NAKV","name":"leaf1","cluster":"leaf1","headers":true,"compress_mode":"off","remote_account":"A","protocol":3}"#;

fn greeted(listener: Listener) -> (Accept, Mock, String) {
    let mut up = Mock::new("hub1");
    up.facts.cluster.clear();
    let mut link = Accept::new(listener, 6);
    link.opened(at(0), &mut up);
    let greeting = up.said();
    (link, up, greeting)
}

fn listener() -> Listener {
    Listener::new("127.0.0.1", 17422)
}

fn attached(connect: &str, permissions: Option<Permissions>, interest: &[&str]) -> (Accept, Mock) {
    let (mut link, mut up, _) = greeted(listener());
    up.interest = interest
        .iter()
        .map(|subject| OwnedInterest::plain(subject, CLIENT))
        .collect();
    feed(&mut link, &mut up, at(1), &format!("{connect}\r\n"));
    assert_eq!(up.asked(), ["authenticate leaf 15"]);
    link.authenticated(at(1), accepted(permissions), &mut up);
    (link, up)
}

fn permissions() -> Permissions {
    let boxed = |list: &[&str]| list.iter().map(|s| (*s).into()).collect();
    Permissions {
        publish: SubjectRules {
            allow: vec![],
            deny: boxed(&["no.pub"]),
        },
        subscribe: SubjectRules {
            allow: boxed(&["a.>", "$SYS.>"]),
            deny: boxed(&["a.no"]),
        },
        allow_responses: None,
    }
}

#[test]
fn the_greeting_is_a_leafnode_listeners() {
    let (_, _, greeting) = greeted(listener());
    let json = greeting.strip_prefix("INFO ").unwrap();
    let info = ServerInfo::parse(json.as_bytes()).unwrap();
    assert_eq!((info.client_id, info.nonce.len(), info.proto), (6, 15, 3));
    assert_eq!(info.leafnode_urls, ["127.0.0.1:17422"]);
    assert!(info.auth_required && info.info_on_connect && info.headers && !info.connect_info);
    assert_eq!(
        (info.compression.as_str(), info.ip.as_str()),
        ("off", "127.0.0.1:17422")
    );
}

#[test]
fn the_answer_comes_before_the_snapshot() {
    let (link, mut up) = attached(CONNECT, None, &["b", "a"]);
    assert_eq!(up.asked(), ["bind 0 leaf1 leaf1"]);
    let said = up.said();
    let (answer, snapshot) = said.split_once("\r\n").unwrap();
    let info = ServerInfo::parse(answer.strip_prefix("INFO ").unwrap().as_bytes()).unwrap();
    assert!(info.connect_info && info.nonce.is_empty() && info.compression.is_empty());
    assert_eq!((info.remote_account.as_str(), info.client_id), ("A", 6));
    let own = crate::loops::loop_subject("NHUB1", "A");
    assert_eq!(snapshot, format!("LS+ {own}\r\nLS+ a\r\nLS+ b\r\n"));
    assert_eq!((link.status().state, link.status().is_spoke), ("up", false));
}

/// Its own url first, then those of the others; of this connection nothing is said.
#[test]
fn a_leaf_is_told_when_other_servers_come_and_go() {
    let (mut link, mut up) = attached(CONNECT, None, &[]);
    up.said();
    for (others, told) in [(vec!["b:1", "127.0.0.1:17422"], 2), (vec![], 1)] {
        up.others.leafnode = others.into_iter().map(String::from).collect();
        link.offered(&mut up);
        let said = up.said();
        let info = ServerInfo::parse(said.strip_prefix("INFO ").unwrap().as_bytes()).unwrap();
        assert_eq!(info.leafnode_urls, ["127.0.0.1:17422", "b:1"][..told]);
        assert!(info.client_id == 0 && info.nonce.is_empty() && !info.connect_info);
    }
    let (mut new, mut up, _) = greeted(listener());
    new.offered(&mut up);
    assert_eq!(up.said(), "", "the answer to its CONNECT will say it");
}

#[test]
fn permissions_are_told_as_captured() {
    let (_, mut up) = attached(CONNECT, Some(permissions()), &["no.pub", "c"]);
    let said = up.said();
    let expected = r#""import":{"allow":["a.\u003e","$SYS.\u003e"],"deny":["a.no"]},"export":{"deny":["no.pub"]}"#;
    assert!(said.contains(expected), "{said}");
    assert!(said.ends_with("LS+ c\r\n"), "{said}");
}

#[test]
fn going_beyond_permissions_ends_the_connection() {
    for (bytes, err) in [
        (
            "LS+ b.x\r\n",
            "Permissions Violation for Subscription to \"b.x\"",
        ),
        (
            "LS+ a.no\r\n",
            "Permissions Violation for Subscription to \"a.no\"",
        ),
        (
            "LMSG no.pub 0\r\n\r\n",
            "Permissions Violation for Publish to \"no.pub\"",
        ),
    ] {
        let (mut link, mut up) = attached(CONNECT, Some(permissions()), &[]);
        up.said();
        up.asked();
        feed(&mut link, &mut up, at(2), bytes);
        assert_eq!(up.said(), format!("-ERR '{err}'\r\n"));
        assert_eq!(up.asked(), ["close Protocol Violation"]);
    }
    let (mut link, mut up) = attached(CONNECT, Some(permissions()), &[]);
    up.said();
    up.asked();
    feed(
        &mut link,
        &mut up,
        at(2),
        "LS+ b.*\r\nLS+ >\r\nLMSG yes.pub 0\r\n\r\nLS+ a..b\r\n",
    );
    assert_eq!(up.said(), "-ERR 'Invalid Subscription'\r\n");
    assert_eq!(
        up.asked(),
        ["sub b.*", "sub >", "pub yes.pub None [] h0 p0"]
    );
}

#[test]
fn answers_to_requests_are_let_through() {
    let mut limited = permissions();
    limited.publish.allow = vec!["only".into()];
    limited.allow_responses = Some(AllowResponses {
        max_msgs: Some(1),
        expires: Some(Duration::from_secs(60)),
    });
    let (mut link, mut up) = attached(CONNECT, Some(limited), &[]);
    let message = Message {
        subject: "a.req",
        reply: Some("_INBOX.1"),
        header: b"",
        payload: b"",
    };
    let mut out = Vec::new();
    assert_eq!(
        link.deliver(at(2), &message, &client(), &mut out),
        Sent::Sent
    );
    up.said();
    up.asked();
    feed(
        &mut link,
        &mut up,
        at(3),
        "LMSG _INBOX.1 0\r\n\r\nLMSG _INBOX.1 0\r\n\r\n",
    );
    assert_eq!(
        up.asked(),
        ["pub _INBOX.1 None [] h0 p0", "close Protocol Violation"]
    );
}

const fn client() -> Via<'static> {
    Via {
        account: crate::testing::A,
        source: CLIENT,
        origin_cluster: None,
        is_answer: false,
        has_crossed: false,
        plain: true,
        queues: &[],
    }
}

/// spec: nats-server v2.15.1 server/client.go `checkLeafEcho`
#[test]
fn what_an_import_made_a_message_of_this_account_is_new_to_the_leaf() {
    let (mut link, _) = attached(CONNECT, None, &[]);
    let message = Message {
        subject: "a",
        reply: None,
        header: b"",
        payload: b"x",
    };
    for (has_crossed, sent) in [(false, Sent::Withheld), (true, Sent::Sent)] {
        let via = Via {
            source: Source::Link {
                link: LinkId(8),
                kind: LinkKind::Leaf,
                is_hub: false,
            },
            origin_cluster: Some("leaf1"),
            has_crossed,
            ..client()
        };
        let mut out = Vec::new();
        assert_eq!(link.deliver(at(2), &message, &via, &mut out), sent);
    }
}

#[test]
fn impostors_are_told_what_is_wrong() {
    let with = |key: &str| CONNECT.replace(r#""name""#, &format!("{key},\"name\""));
    for (connect, err, cause) in [
        (
            with(r#""lang":"go""#),
            "attempted to connect to leaf node port",
            "Incorrect Port",
        ),
        (
            with(r#""gateway":"g""#),
            "Rejecting connection from gateway \"g\" on the leafnode port",
            "Wrong Gateway",
        ),
        (
            "LS+ a".into(),
            "Authorization Violation",
            "Authentication Failure",
        ),
        (
            "PING".into(),
            "Authorization Violation",
            "Authentication Failure",
        ),
        (
            "GET / HTTP/1.1".into(),
            "Authorization Violation",
            "Authentication Failure",
        ),
    ] {
        let (mut link, mut up, _) = greeted(listener());
        feed(&mut link, &mut up, at(1), &format!("{connect}\r\n"));
        assert_eq!(up.said(), format!("-ERR '{err}'\r\n"), "{connect}");
        assert_eq!(up.asked(), [format!("close {cause}")]);
        let logged = match err {
            "Authorization Violation" => "authentication error",
            text => text,
        };
        let logged = [
            "Info Leafnode connection created",
            &format!("Error {logged}"),
        ];
        assert_eq!(up.peer_logs, logged);
    }
}

#[test]
fn cluster_names_and_versions_are_checked() {
    let mut strict = listener();
    strict.min_version = Some("2.16.0".into());
    for (listener, cluster, err) in [
        (listener(), "a b", "cluster name cannot contain spaces"),
        (listener(), "_", "cluster name is reserved"),
        (listener(), "hubs", "remote leafnode has same cluster name"),
        (
            strict,
            "leaf1",
            "connection rejected since minimum version required is \"2.16.0\"",
        ),
    ] {
        let (mut link, mut up, _) = greeted(listener);
        up.facts.cluster = "hubs".into();
        let connect = CONNECT.replace(
            r#""cluster":"leaf1""#,
            &format!("\"cluster\":\"{cluster}\""),
        );
        feed(&mut link, &mut up, at(1), &format!("{connect}\r\n"));
        up.asked();
        link.authenticated(at(1), accepted(None), &mut up);
        assert!(up.said().ends_with(&format!("-ERR '{err}'\r\n")), "{err}");
        assert_eq!(up.asked().len(), 1, "only the close");
        assert_eq!(link.deadline(), None);
    }
}

#[test]
fn a_refused_or_silent_leaf_is_closed() {
    let (mut link, mut up, _) = greeted(listener());
    let now = wake(&mut link, &mut up);
    assert_eq!(now.mono, at(2_000).mono);
    assert_eq!(up.said(), "-ERR 'Authentication Timeout'\r\n");
    assert_eq!(up.asked(), ["close Authentication Timeout"]);

    let (mut link, mut up, _) = greeted(listener());
    feed(&mut link, &mut up, at(1), &format!("{CONNECT}\r\n"));
    up.asked();
    let refused = LinkVerdict::Refused {
        cause: "Authentication Failure",
    };
    link.authenticated(at(1), refused, &mut up);
    assert_eq!(up.said(), "-ERR 'Authorization Violation'\r\n");
    assert_eq!(up.asked(), ["close Authentication Failure"]);

    let (mut link, mut up) = attached(CONNECT, None, &[]);
    up.asked();
    while up.asked() != ["close Stale Connection"] {
        let now = wake(&mut link, &mut up);
        assert!(now.mono <= at(30_000).mono);
    }
    assert!(up.said().ends_with("-ERR 'Stale Connection'\r\n"));
}

#[test]
fn the_same_server_replaces_its_older_connection() {
    let old = |name: &str, account: u32, is_hub| {
        let peer = LinkPeer {
            name: name.into(),
            server_id: "NAKV".into(),
            cluster: "leaf1".into(),
            remote_account: "A".into(),
            is_hub,
        };
        (AccountId(account), peer)
    };
    for ((account, peer), evicted) in [
        (old("leaf1", 0, false), true),
        (old("leaf2", 0, false), false),
        (old("leaf1", 1, false), false),
        (old("leaf1", 0, true), false),
    ] {
        let (mut link, mut up, _) = greeted(listener());
        up.peers = vec![(LinkId(3), account, peer)];
        feed(&mut link, &mut up, at(1), &format!("{CONNECT}\r\n"));
        link.authenticated(at(1), accepted(None), &mut up);
        let asked = up.asked();
        let expected = "evict 3 Duplicate Remote LeafNode Connection";
        assert_eq!(
            asked.iter().any(|call| call == expected),
            evicted,
            "{asked:?}"
        );
    }
}

#[test]
fn of_two_servers_of_one_name_the_first_stays() {
    let (mut link, mut up, _) = greeted(listener());
    let first = LinkPeer {
        name: "leaf1".into(),
        server_id: "NOTHER".into(),
        cluster: "leaf1".into(),
        remote_account: "A".into(),
        is_hub: false,
    };
    up.peers = vec![(LinkId(3), AccountId(0), first)];
    feed(&mut link, &mut up, at(1), &format!("{CONNECT}\r\n"));
    up.asked();
    link.authenticated(at(1), accepted(None), &mut up);
    assert_eq!(up.said(), "-ERR 'Duplicate Remote LeafNode Connection'\r\n");
    let asked = up.asked();
    // The first has to show that it lives.
    assert!(asked[0].contains("PING"), "{asked:?}");
    assert_eq!(asked[1..], ["close Duplicate Remote LeafNode Connection"]);
    let told = up.logs.join("\n");
    for part in [
        "NOTHER at 127.0.0.1:3",
        "NAKV at 127.0.0.1:7",
        "server_name",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn an_isolated_leaf_hears_nothing_of_others() {
    let from = |kind| Source::Link {
        link: LinkId(2),
        kind,
        is_hub: false,
    };
    for isolate in [false, true] {
        let (mut link, mut up, _) = greeted(listener());
        up.interest = vec![
            OwnedInterest::plain("other", from(LinkKind::Leaf)),
            OwnedInterest::plain("near", from(LinkKind::Route)),
            OwnedInterest::plain("c", CLIENT),
        ];
        let connect = CONNECT.replace(r#""name""#, &format!("\"isolate\":{isolate},\"name\""));
        feed(&mut link, &mut up, at(1), &format!("{connect}\r\n"));
        link.authenticated(at(1), accepted(None), &mut up);
        let said = up.said();
        assert_eq!(said.contains("LS+ other\r\n"), !isolate);
        assert!(said.contains("LS+ near\r\n") && link.hears_of(from(LinkKind::Route)));
        assert_eq!(link.hears_of(from(LinkKind::Leaf)), !isolate);
    }
}

#[test]
fn messages_are_shaped_for_the_peer() {
    let shaped = |connect: &str, queues: &'static [&'static str]| {
        let (mut link, _) = attached(connect, None, &[]);
        let message = Message {
            subject: "hh",
            reply: Some("rep.9"),
            header: b"NATS/1.0\r\n\r\n",
            payload: b"hi",
        };
        let mut out = Vec::new();
        link.deliver(at(2), &message, &Via { queues, ..client() }, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        shaped(CONNECT, &["grp", "grp2"]),
        "HMSG hh + rep.9 grp grp2 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
    );
    let without = CONNECT.replace(r#""headers":true,"#, "");
    assert_eq!(shaped(&without, &[]), "LMSG hh rep.9 2\r\nhi\r\n");
}

#[test]
fn what_the_leaf_denies_is_not_sent() {
    let connect = CONNECT.replace(
        r#""name""#,
        r#""domain":"edge1","deny_pub":["di.>"],"name""#,
    );
    let (mut link, mut up) = attached(&connect, None, &[]);
    up.said();
    up.asked();
    feed(
        &mut link,
        &mut up,
        at(2),
        "LS+ di.x\r\nLS+ >\r\nLS+ $JS.API.>\r\nLMSG $JS.API.INFO 0\r\n\r\n",
    );
    assert_eq!(up.asked().len(), 4, "asking is no offence");
    for (subject, sent) in [
        ("di.x", Sent::Withheld),
        ("$JS.API.INFO", Sent::Withheld),
        ("$KV.b.k", Sent::Withheld),
        ("$JS.edge1.API.INFO", Sent::Sent),
        ("x", Sent::Sent),
    ] {
        let message = Message {
            subject,
            reply: None,
            header: b"",
            payload: b"",
        };
        assert_eq!(
            link.deliver(at(2), &message, &client(), &mut Vec::new()),
            sent,
            "{subject}"
        );
    }
}

#[test]
fn weights_and_repetitions_reach_the_broker_as_changes() {
    let (mut link, mut up) = attached(CONNECT, None, &[]);
    up.asked();
    let bytes = "LS+ a\r\nLS+ a\r\nLS+ q g 2\r\nLS+ q g 2\r\nLS+ q g 5\r\nLS- q g\r\nLS- q g\r\nLS- a\r\nLS- never\r\n";
    feed(&mut link, &mut up, at(2), bytes);
    assert_eq!(
        up.asked(),
        ["sub a", "sub q g 2", "sub q g 5", "unsub q g", "unsub a"]
    );
}

#[test]
fn an_account_without_room_is_not_attached() {
    let (mut link, mut up, _) = greeted(listener());
    up.full = true;
    feed(&mut link, &mut up, at(1), &format!("{CONNECT}\r\n"));
    link.authenticated(at(1), accepted(None), &mut up);
    assert_eq!((up.said().as_str(), link.status().state), ("", "closed"));
}
