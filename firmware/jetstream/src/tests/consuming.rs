use std::time::Duration;

use frond_wire::{Message, MessageBuf};

use super::world::{Sent, World};

pub(super) fn pull(world: &mut World, consumer: &str, body: &str) -> Vec<Sent> {
    let before = world.sent.len();
    world.listen("_I.1");
    let message = MessageBuf::copy_of(&Message {
        subject: &format!("$JS.API.CONSUMER.MSG.NEXT.{consumer}"),
        reply: Some("_I.1"),
        header: b"",
        payload: body.as_bytes(),
    });
    world.route(message);
    world.drain();
    world.sent.split_off(before)
}

pub(super) fn consumer(world: &mut World, stream: &str, name: &str, config: &str) -> String {
    let body = format!(
        r#"{{"stream_name":"{stream}","config":{{"durable_name":"{name}","ack_policy":"explicit"{config}}}}}"#
    );
    let answer = world.ask(&format!("$JS.API.CONSUMER.CREATE.{stream}.{name}"), &body);
    assert!(!answer.contains("error"), "{answer}");
    answer
}

#[test]
fn messages_are_pulled_acknowledged_and_not_seen_again() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    world.ask("s.a", "1");
    world.ask("s.b", "2");
    let created = consumer(&mut world, "S", "C", "");
    assert!(created.contains(r#""num_pending":2"#), "{created}");
    let got = pull(&mut world, "S.C", "1");
    assert_eq!(got.len(), 1);
    assert_eq!(
        (got[0].to.as_str(), got[0].shown.as_deref()),
        ("_I.1", Some("s.a"))
    );
    let reply = got[0].message.reply().unwrap().to_owned();
    assert!(reply.starts_with("$JS.ACK.S.C.1.1.1."), "{reply}");
    assert_eq!(
        world.ask(&reply, "+ACK"),
        "",
        "a double ack is an empty message"
    );
    world.restart();
    let got = pull(&mut world, "S.C", r#"{"batch":5,"no_wait":true}"#);
    assert_eq!(got[0].shown.as_deref(), Some("s.b"), "{got:?}");
    let info = world.ask("$JS.API.CONSUMER.INFO.S.C", "");
    assert!(
        info.contains(r#""ack_floor":{"consumer_seq":1,"stream_seq":1"#),
        "{info}"
    );
}

#[test]
fn a_double_ack_waits_for_the_disk() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    consumer(&mut world, "S", "C", "");
    world.ask("s.a", "1");
    let got = pull(&mut world, "S.C", "1");
    let reply = got[0].message.reply().unwrap().to_owned();
    world.is_prompt = false;
    let ack = world.send(&reply, &[], b"+ACK");
    world.drain();
    assert_eq!(world.answer(ack), None);
    world.disk_answers(usize::MAX);
    assert_eq!(world.answer(ack).unwrap(), "");
}

#[test]
fn bodies_that_are_not_at_hand_are_fetched() {
    let mut world = World::with(crate::Facts {
        body_cache_bytes: 0,
        ..crate::Facts::default()
    });
    world.create("S", r#""subjects":["s.>"],"allow_direct":true"#);
    for n in 0..20 {
        world.ask(&format!("s.{n}"), &format!("{n}"));
    }
    consumer(&mut world, "S", "C", "");
    let got = pull(&mut world, "S.C", "20");
    let bodies: Vec<_> = got
        .iter()
        .map(|s| s.message.message().payload.to_vec())
        .collect();
    let expected: Vec<_> = (0..20).map(|n| n.to_string().into_bytes()).collect();
    assert_eq!(bodies, expected);
    assert_eq!(world.ask("$JS.API.DIRECT.GET.S.s.7", ""), "7");
    assert!(
        world
            .ask("$JS.API.STREAM.MSG.GET.S", r#"{"seq":8}"#)
            .contains(r#""data":"Nw==""#)
    );
}

#[test]
fn a_work_queue_lets_go_of_what_is_done() {
    let mut world = World::new();
    world.create("W", r#""subjects":["w"],"retention":"workqueue""#);
    consumer(&mut world, "W", "C", "");
    world.ask("w", "1");
    world.ask("w", "2");
    let got = pull(&mut world, "W.C", "2");
    let reply = got[1].message.reply().unwrap().to_owned();
    world.ask(&reply, "+ACK");
    let info = world.ask("$JS.API.STREAM.INFO.W", "");
    assert!(info.contains(r#""messages":1"#), "{info}");
    world.restart();
    let info = world.ask("$JS.API.STREAM.INFO.W", "");
    assert!(
        info.contains(r#""messages":1,"#) && info.contains(r#""last_seq":2"#),
        "{info}"
    );
}

#[test]
fn an_interest_stream_keeps_what_somebody_needs() {
    let mut world = World::new();
    world.create("I", r#""subjects":["i.>"],"retention":"interest""#);
    assert_eq!(world.ask("i.a", "0"), r#"{"stream":"I","seq":1}"#);
    consumer(&mut world, "I", "A", "");
    consumer(&mut world, "I", "B", r#","filter_subject":"i.b""#);
    world.ask("i.a", "1");
    world.ask("i.b", "2");
    let messages = |world: &mut World| {
        let info = world.ask("$JS.API.STREAM.INFO.I", "");
        let rest = info.split_once(r#""messages":"#).unwrap().1;
        rest.split_once(',').unwrap().0.parse::<u64>().unwrap()
    };
    assert_eq!(messages(&mut world), 2);
    for sent in pull(&mut world, "I.A", "2") {
        let reply = sent.message.reply().unwrap().to_owned();
        world.ask(&reply, "+ACK");
    }
    assert_eq!(messages(&mut world), 1, "B has not had its message");
    assert!(
        world
            .ask("$JS.API.CONSUMER.DELETE.I.B", "")
            .contains("success")
    );
    assert_eq!(messages(&mut world), 0);
    world.restart();
    assert_eq!(world.ask("i.a", "3"), r#"{"stream":"I","seq":4}"#);
}

#[test]
fn push_consumers_deliver_to_who_listens() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s"],"storage":"memory""#);
    world.ask("s", "1");
    let body = r#"{"stream_name":"S","config":{"deliver_subject":"d","ack_policy":"none"}}"#;
    assert!(
        world
            .ask("$JS.API.CONSUMER.CREATE.S", body)
            .contains("\"name\"")
    );
    assert!(!world.sent.iter().any(|sent| sent.to == "d"));
    world.listen("d");
    world.ask("s", "2");
    let got: Vec<_> = world.sent.iter().filter(|sent| sent.to == "d").collect();
    assert_eq!(got.len(), 2);
    world.pass(Duration::from_secs(1));
}

#[test]
fn a_pull_for_a_consumer_that_is_not_there_finds_nobody() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s"]"#);
    assert_eq!(world.ask("$JS.API.CONSUMER.MSG.NEXT.S.C", ""), "503");
    assert_eq!(world.ask("$JS.API.DIRECT.GET.S", r#"{"seq":1}"#), "503");
}

#[test]
fn a_domain_has_the_api_under_its_own_name_too() {
    let mut world = World::with(crate::Facts {
        domain: Some("shop-1".into()),
        ..crate::Facts::default()
    });
    let create = r#"{"name":"KV_B","subjects":["$KV.B.>"]}"#;
    let answer = world.ask("$JS.shop-1.API.STREAM.CREATE.KV_B", create);
    assert!(
        answer.contains("did_create") && !answer.contains("domain"),
        "{answer}"
    );
    let info = world.ask("$JS.shop-1.API.STREAM.INFO.KV_B", "");
    assert!(info.contains(r#""domain":"shop-1""#), "{info}");
    assert!(
        world
            .ask("$JS.API.INFO", "")
            .contains(r#""domain":"shop-1""#)
    );
    // What is put by way of the domain is published again under its own subject.
    world.ask("$JS.shop-1.API.$KV.B.k", "v");
    let passed_on = world.sent.pop().unwrap().message;
    assert_eq!(passed_on.subject(), "$KV.B.k");
    let reply = passed_on.reply().unwrap().to_owned();
    world.route(passed_on);
    world.drain();
    let ack = world.sent.iter().find(|sent| sent.to == reply).unwrap();
    assert_eq!(
        ack.message.message().payload,
        br#"{"stream":"KV_B","domain":"shop-1","seq":1}"#
    );
    consumer(&mut world, "KV_B", "C", "");
    let got = pull(&mut world, "KV_B.C", "1");
    assert_eq!(got[0].shown.as_deref(), Some("$KV.B.k"));
    let v1 = got[0].message.reply().unwrap().to_owned();
    let hash = crate::source::origin::hash("$G");
    let v2 = v1.replace("$JS.ACK.", &format!("$JS.ACK.shop-1.{hash}.")) + ".x";
    assert_eq!(world.ask(&v2, "+ACK"), "", "the newer form of ack subject");
    let info = world.ask("$JS.shop-1.API.CONSUMER.INFO.KV_B.C", "");
    assert!(info.contains(r#""num_ack_pending":0"#), "{info}");
}

/// Whoever takes from a stream is told which one it is, whatever call it uses.
#[test]
fn consumers_for_sourcing_are_told_the_streams_identity() {
    for call in ["CREATE", "DURABLE.CREATE"] {
        let mut world = World::new();
        world.create("S", r#""subjects":["s"]"#);
        let body = r#"{"stream_name":"S","config":{"durable_name":"C","name":"C","ack_policy":"flow_control","deliver_subject":"d","flow_control":true,"idle_heartbeat":1000000000,"sourcing":true}}"#;
        let answer = world.ask(&format!("$JS.API.CONSUMER.{call}.S.C"), body);
        assert!(answer.contains(r#""name":"C""#), "{answer}");
        let sent = world.sent.iter().rfind(|sent| sent.to.starts_with("_R."));
        let headers = frond_wire::Headers::new(sent.unwrap().message.header());
        assert!(headers.get("Nats-Stream-Identity").is_some(), "{call}");
    }
}

/// Clients that know only the plain name update it at each start.
#[test]
fn a_durable_consumer_updated_by_its_name_stays() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s"]"#);
    consumer(&mut world, "S", "C", "");
    for more in ["", "", r#","description":"x""#, r#","max_deliver":4"#] {
        let body = format!(
            r#"{{"stream_name":"S","config":{{"name":"C","ack_policy":"explicit"{more}}}}}"#
        );
        let answer = world.ask("$JS.API.CONSUMER.CREATE.S.C", &body);
        assert!(!answer.contains("inactive_threshold"), "{answer}");
        world.pass(Duration::from_secs(10));
    }
    world.restart();
    world.pass(Duration::from_secs(10));
    let names = world.ask("$JS.API.CONSUMER.NAMES.S", "");
    assert!(names.contains(r#"["C"]"#), "{names}");
}

/// What a domain's name does not reach finds nobody; what nobody knows of the API is not answered.
#[test]
fn unknown_calls_through_a_domain_find_nobody() {
    let mut world = World::with(crate::Facts {
        domain: Some("dom".into()),
        ..crate::Facts::default()
    });
    for (call, answer) in [
        ("NOPE", "503"),
        ("STREAM", "503"),
        ("INFO.X", "503"),
        ("stream.info.A", "503"),
        ("DIRECT", "503"),
        ("DIRECT.GET", "503"),
        ("DIRECT.GET.B", "503"),
        ("CONSUMER.MSG.NEXT.A", "503"),
        ("STREAM.NOPE.A", "silence"),
        ("DIRECT.NOPE", "silence"),
        ("CONSUMER.RESET.A.b", "silence"),
    ] {
        let got = world.ask(&format!("$JS.dom.API.{call}"), "");
        assert_eq!(got, answer, "{call}");
    }
}

#[test]
fn an_expired_consumer_is_gone_also_after_a_restart() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s"]"#);
    let body = r#"{"stream_name":"S","config":{"name":"E","ack_policy":"explicit"}}"#;
    assert!(
        world
            .ask("$JS.API.CONSUMER.CREATE.S.E", body)
            .contains("\"name\":\"E\"")
    );
    world.restart();
    assert!(
        world
            .ask("$JS.API.CONSUMER.NAMES.S", "")
            .contains(r#"["E"]"#)
    );
    world.pass(Duration::from_secs(10));
    assert!(
        world
            .ask("$JS.API.CONSUMER.NAMES.S", "")
            .contains(r#""consumers":[]"#)
    );
    world.pass(Duration::from_secs(1));
    world.restart();
    assert!(
        world
            .ask("$JS.API.CONSUMER.NAMES.S", "")
            .contains(r#""consumers":[]"#)
    );
}

/// Who was sent to, in order, when a consumer that delivers to `d` was asked for.
fn sent_after_create(world: &mut World, config: &str) -> Vec<String> {
    let before = world.sent.len();
    let body = format!(r#"{{"stream_name":"S","config":{{"deliver_subject":"d"{config}}}}}"#);
    let asked = world.send("$JS.API.CONSUMER.CREATE.S", &[], body.as_bytes());
    world.drain();
    world.disk_answers(usize::MAX);
    let answer = world.answer(asked).unwrap();
    assert!(!answer.contains("error"), "{answer}");
    let told = [format!("_R.{asked}"), "d".to_owned()];
    let sent = world.sent.split_off(before).into_iter().map(|sent| sent.to);
    sent.filter(|to| told.contains(to)).collect()
}

// spec: nats-server v2.15.1 server/jetstream_api.go jsConsumerCreateRequest
#[test]
fn a_new_consumer_is_told_of_before_it_delivers() {
    for config in [
        r#","ack_policy":"none""#,
        r#","ack_policy":"none","mem_storage":true"#,
    ] {
        let mut world = World::new();
        world.create("S", r#""subjects":["s.>"]"#);
        for _ in 0..10 {
            world.ask("s.a", "1");
        }
        world.listen("d");
        world.is_prompt = false;
        let sent = sent_after_create(&mut world, config);
        assert!(sent[0].starts_with("_R."), "{config}: {sent:?}");
        assert_eq!(sent.len(), 11, "{config}: {sent:?}");
    }
}
