use std::time::Duration;

use super::pair::{HUB, LEAF, Pair};

const MS: Duration = Duration::from_millis(1);
const FROM_SHOP: &str = r#""sources":[{"name":"ORDERS","external":{"api":"$JS.shop-1.API"}}]"#;

fn linked() -> Pair {
    let mut pair = Pair::new(1);
    pair.create(LEAF, "ORDERS", r#""subjects":["orders.>"]"#);
    pair.heal();
    pair.run(MS);
    pair
}

fn count(info: &str) -> u64 {
    let (_, rest) = info.split_once("\"messages\":").expect("a stream's info");
    let end = rest.find(',').expect("more after the count");
    rest[..end].parse().expect("a count")
}

#[test]
fn a_link_that_returns_is_used_at_once() {
    let mut pair = linked();
    pair.create(HUB, "ALL", FROM_SHOP);
    pair.send(LEAF, "orders.1", b"1");
    pair.run(10 * MS);
    assert_eq!(pair.stored(HUB).len(), 1);
    for away in [300, 1000, 3000, 20_000, 3_600_000] {
        pair.cut();
        pair.send(LEAF, "orders.1", b"x");
        pair.run(Duration::from_millis(away));
        let before = pair.stored(HUB).len();
        pair.heal();
        pair.run(300 * MS);
        assert_eq!(pair.stored(HUB).len(), before + 1, "after {away} ms");
    }
}

#[test]
fn a_cut_that_nobody_sees_shows_with_the_next_heartbeat() {
    let mut pair = linked();
    pair.create(HUB, "ALL", FROM_SHOP);
    pair.run(MS);
    pair.loss = 100;
    pair.send(LEAF, "orders.1", b"x");
    pair.run(MS);
    pair.loss = 0;
    assert_eq!(pair.stored(HUB).len(), 0);
    pair.run(Duration::from_millis(1100));
    assert_eq!(pair.stored(HUB).len(), 1);
}

#[test]
fn info_tells_lag_activity_and_errors() {
    let mut pair = linked();
    pair.create(HUB, "ALL", FROM_SHOP);
    pair.create(HUB, "LOST", r#""sources":[{"name":"NONE"}]"#);
    pair.run(MS);
    let info = pair.info(HUB, "LOST");
    assert!(
        info.contains(r#""sources":[{"name":"NONE","lag":0,"active":-1,"error":{"code":404,"err_code":10059,"description":"stream not found"}}]"#),
        "{info}"
    );
    for _ in 0..3 {
        pair.send(LEAF, "orders.1", b"x");
    }
    pair.run(500 * MS);
    let info = pair.info(HUB, "ALL");
    assert!(
        info.contains(r#""sources":[{"name":"ORDERS","external":{"api":"$JS.shop-1.API","deliver":""},"lag":0,"seq":3,"active":500000000}]"#),
        "{info}"
    );
}

/// A stream's own transform holds for what it takes from others, after theirs.
#[test]
fn what_comes_is_stored_under_the_streams_own_subject() {
    let mut pair = linked();
    let own = r#""subject_transform":{"src":"orders.>","dest":"t.>"}"#;
    let twice = r#""sources":[{"name":"ORDERS","subject_transforms":[{"src":"orders.*","dest":"q.{{wildcard(1)}}"}]}],"subject_transform":{"src":"q.*","dest":"r.{{wildcard(1)}}"}"#;
    let other = r#""subject_transform":{"src":"x.>","dest":"y.>"}"#;
    for (name, config, stored) in [
        (
            "A",
            format!(r#""sources":[{{"name":"ORDERS"}}],{own}"#),
            "t.7",
        ),
        ("B", format!(r#""mirror":{{"name":"ORDERS"}},{own}"#), "t.7"),
        ("C", twice.to_owned(), "r.7"),
        (
            "D",
            format!(r#""sources":[{{"name":"ORDERS"}}],{other}"#),
            "orders.7",
        ),
    ] {
        pair.create(LEAF, name, &config);
        pair.send(LEAF, "orders.7", b"x");
        pair.run(MS);
        let got = pair.ask(
            LEAF,
            &format!("$JS.API.STREAM.MSG.GET.{name}"),
            r#"{"seq":1}"#,
        );
        assert!(
            got.contains(&format!(r#""subject":"{stored}""#)),
            "{name} {got}"
        );
    }
}

#[test]
fn near_origins_are_followed_too() {
    let mut pair = linked();
    let sources = r#""sources":[{"name":"ORDERS","subject_transforms":[{"src":"orders.*","dest":"copy.{{wildcard(1)}}"}]}]"#;
    pair.create(LEAF, "COPY", sources);
    pair.create(LEAF, "MIRROR", r#""mirror":{"name":"ORDERS"}"#);
    for n in 0..700 {
        pair.send(LEAF, &format!("orders.{n}"), b"x");
    }
    pair.run(MS);
    for name in ["COPY", "MIRROR"] {
        let info = pair.info(LEAF, name);
        assert_eq!(count(&info), 700, "{info}");
    }
    let got = pair.ask(LEAF, "$JS.API.STREAM.MSG.GET.COPY", r#"{"seq":7}"#);
    assert!(got.contains(r#""subject":"copy.6""#), "{got}");
}

#[test]
fn sources_come_and_go_and_keep_their_place() {
    let mut pair = linked();
    pair.create(HUB, "ALL", FROM_SHOP);
    pair.send(LEAF, "orders.1", b"1");
    pair.run(MS);
    let update = |pair: &mut Pair, config: &str| {
        let body = format!("{{\"name\":\"ALL\",\"subjects\":[\"own\"]{config}}}");
        let answer = pair.ask(HUB, "$JS.API.STREAM.UPDATE.ALL", &body);
        assert!(!answer.contains("error"), "{answer}");
    };
    update(&mut pair, "");
    pair.send(LEAF, "orders.1", b"2");
    pair.run(Duration::from_secs(20));
    assert_eq!(pair.stored(HUB).len(), 1);
    pair.restart(HUB, |_| {});
    update(&mut pair, &format!(",{FROM_SHOP}"));
    pair.heal();
    pair.run(Duration::from_secs(2));
    let stored = pair.stored(HUB);
    let payloads: Vec<_> = stored.iter().map(|m| m.body.payload()).collect();
    assert_eq!(payloads, [b"1", b"2"]);
}

#[test]
fn a_purged_destination_does_not_begin_again() {
    let mut pair = linked();
    pair.create(HUB, "ALL", FROM_SHOP);
    pair.send(LEAF, "orders.1", b"1");
    pair.run(MS);
    let purged = pair.ask(HUB, "$JS.API.STREAM.PURGE.ALL", "");
    assert!(purged.contains(r#""purged":1"#), "{purged}");
    pair.restart(HUB, |_| {});
    pair.heal();
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.stored(HUB).len(), 0);
}

#[test]
fn a_promoted_mirror_goes_on_by_itself() {
    let mut pair = linked();
    let mirror = r#""mirror":{"name":"ORDERS","external":{"api":"$JS.shop-1.API"}}"#;
    pair.create(HUB, "ALL", mirror);
    pair.send(LEAF, "orders.1", b"1");
    pair.run(MS);
    let body = r#"{"name":"ALL","subjects":["orders.>"]}"#;
    let answer = pair.ask(HUB, "$JS.API.STREAM.UPDATE.ALL", body);
    assert!(!answer.contains("error"), "{answer}");
    assert_eq!(
        pair.ask(HUB, "orders.9", "2"),
        r#"{"stream":"ALL","domain":"hub","seq":2}"#
    );
    pair.run(Duration::from_secs(20));
    assert_eq!(pair.stored(HUB).len(), 2);
}

#[test]
fn a_mirror_asks_again_for_what_its_disk_may_have_lost() {
    let mut pair = linked();
    let mirror = r#""mirror":{"name":"ORDERS","external":{"api":"$JS.shop-1.API"}}"#;
    pair.create(HUB, "ALL", mirror);
    for restarts in 1..=2 {
        pair.send(LEAF, "orders.1", b"before");
        pair.run(MS);
        pair.nodes[HUB].disk.leave_out(1 << 20);
        pair.restart(HUB, |_| {});
        pair.heal();
        pair.send(LEAF, "orders.1", b"after");
        pair.run(Duration::from_secs(20));
        let came: Vec<u64> = pair.stored(HUB).iter().map(|m| m.seq).collect();
        assert_eq!(came, (1..=2 * restarts).collect::<Vec<_>>());
    }
}

#[test]
fn an_origin_that_lost_messages_loses_no_new_ones() {
    let mut pair = linked();
    pair.create(HUB, "ALL", FROM_SHOP);
    for n in 0..20 {
        pair.send(LEAF, "orders.1", format!("old {n}").as_bytes());
        pair.run(MS);
    }
    // More new messages than were lost, and fewer.
    for (round, new) in [(1, 15), (2, 3)] {
        pair.cut();
        let last = pair.stored(LEAF).last().map_or(0, |m| m.seq);
        pair.nodes[LEAF].disk.roll_back(last - 10);
        pair.restart(LEAF, |_| {});
        for n in 0..new {
            pair.run(MS);
            pair.send(LEAF, "orders.1", format!("round {round} {n}").as_bytes());
        }
        pair.run(Duration::from_secs(10));
        let before = pair.stored(HUB).len();
        pair.heal();
        pair.run(Duration::from_secs(2));
        let stored = pair.stored(HUB);
        let payload =
            |m: &frond_ledger::Stored| String::from_utf8_lossy(m.body.payload()).into_owned();
        let came: Vec<String> = stored[before..].iter().map(payload).collect();
        let wanted: Vec<String> = (0..new).map(|n| format!("round {round} {n}")).collect();
        assert_eq!(came, wanted);
        assert!(
            pair.nodes[HUB]
                .logs
                .iter()
                .any(|line| line.contains("lost messages"))
        );
    }
}

#[test]
fn an_origin_created_anew_is_taken_from_its_beginning() {
    let mut pair = linked();
    pair.create(HUB, "ALL", FROM_SHOP);
    for _ in 0..5 {
        pair.send(LEAF, "orders.1", b"old");
    }
    pair.run(MS);
    pair.ask(LEAF, "$JS.API.STREAM.DELETE.ORDERS", "");
    pair.run(Duration::from_secs(1));
    pair.create(LEAF, "ORDERS", r#""subjects":["orders.>"]"#);
    pair.send(LEAF, "orders.1", b"new");
    pair.run(Duration::from_secs(20));
    let stored = pair.stored(HUB);
    let payloads: Vec<_> = stored.iter().map(|m| m.body.payload().to_vec()).collect();
    assert_eq!(payloads[5..], [b"new".to_vec()]);
    let told = |line: &String| line.contains("created anew");
    assert!(pair.nodes[HUB].logs.iter().any(told));
}

#[test]
fn a_consumer_made_beforehand_can_be_used() {
    let mut pair = linked();
    let consumer = r#"{"stream_name":"ORDERS","config":{"durable_name":"TO_HUB","deliver_subject":"to.hub","ack_policy":"flow_control","flow_control":true,"idle_heartbeat":1000000000,"max_ack_pending":100}}"#;
    let made = pair.ask(
        LEAF,
        "$JS.API.CONSUMER.DURABLE.CREATE.ORDERS.TO_HUB",
        consumer,
    );
    assert!(!made.contains("\"error\""), "{made}");
    let sources = r#""sources":[{"name":"ORDERS","external":{"api":"$JS.shop-1.API"},"consumer":{"name":"TO_HUB","deliver_subject":"to.hub"}}]"#;
    pair.create(HUB, "ALL", sources);
    for away in [0, 300, 5000] {
        pair.cut();
        for n in 0..300 {
            pair.send(LEAF, "orders.1", format!("{away} {n}").as_bytes());
        }
        pair.run(Duration::from_millis(away));
        pair.heal();
        pair.run(Duration::from_secs(5));
    }
    let payloads = |pair: &Pair, side: usize| {
        let stored = pair.stored(side);
        let bytes = stored.iter().map(|m| m.body.payload().to_vec());
        bytes.collect::<Vec<_>>()
    };
    assert_eq!(payloads(&pair, HUB), payloads(&pair, LEAF));
}

#[test]
fn a_full_destination_goes_on_where_it_stopped() {
    let mut pair = linked();
    let bounds = r#""max_msgs":5,"discard":"new","max_msg_size":100"#;
    pair.create(HUB, "ALL", &format!("{bounds},{FROM_SHOP}"));
    for n in 0..4 {
        pair.send(LEAF, "orders.1", &[n]);
    }
    pair.send(LEAF, "orders.1", &[9; 200]);
    for n in 4..8 {
        pair.send(LEAF, "orders.1", &[n]);
    }
    pair.run(Duration::from_secs(5));
    let info = pair.info(HUB, "ALL");
    assert!(
        info.contains("maximum messages exceeded") && info.contains(r#""lag":3"#),
        "{info}"
    );
    let mut came = pair.stored(HUB);
    pair.ask(HUB, "$JS.API.STREAM.PURGE.ALL", "");
    pair.run(Duration::from_secs(20));
    came.extend(pair.stored(HUB));
    let payloads: Vec<_> = came.iter().map(|m| m.body.payload()[0]).collect();
    assert_eq!(payloads, [0, 1, 2, 3, 4, 5, 6, 7]);
}
