use frond_ledger::DiskFault;

use super::world::World;
use crate::Input;

#[test]
fn nothing_is_acknowledged_before_the_receipt() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    world.is_prompt = false;
    let first = world.send("s.a", &[("Nats-Msg-Id", "1")], b"x");
    let again = world.send("s.a", &[("Nats-Msg-Id", "1")], b"x");
    world.drain();
    assert_eq!((world.answer(first), world.answer(again)), (None, None));
    let info = world.send("$JS.API.STREAM.INFO.S", &[], b"");
    world.drain();
    assert_eq!(world.answer(info), None, "what is not kept does not show");
    world.disk_answers(1);
    let info = world.answer(info).unwrap();
    assert!(info.contains(r#""messages":1"#), "{info}");
    assert_eq!(world.answer(first).unwrap(), r#"{"stream":"S","seq":1}"#);
    assert_eq!(
        world.answer(again).unwrap(),
        r#"{"stream":"S","seq":1,"duplicate": true}"#
    );
}

#[test]
fn a_burst_shares_one_batch() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    world.is_prompt = false;
    let numbers: Vec<u64> = (0..100)
        .map(|n| world.send(&format!("s.{n}"), &[], b"x"))
        .collect();
    world.drain();
    assert_eq!(world.queue.len(), 1);
    world.disk_answers(1);
    for (index, number) in numbers.iter().enumerate() {
        let expected = format!(r#"{{"stream":"S","seq":{}}}"#, index + 1);
        assert_eq!(world.answer(*number).unwrap(), expected);
    }
}

#[test]
fn volatile_streams_do_not_wait() {
    for config in [r#""storage":"memory""#, r#""persist_mode":"async""#] {
        let mut world = World::new();
        world.create("S", config);
        world.is_prompt = false;
        assert_eq!(world.ask("S", "x"), r#"{"stream":"S","seq":1}"#);
        let got = world.ask("$JS.API.STREAM.MSG.GET.S", r#"{"seq":1}"#);
        assert!(got.contains(r#""data":"eA==""#), "{got}");
    }
}

#[test]
fn a_full_disk_is_an_error_until_there_is_space() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    world.is_prompt = false;
    let refused = world.send("s.a", &[("Nats-Msg-Id", "1")], b"x");
    world.drain();
    world.disk_refuses(DiskFault::Full);
    let error = r#"{"error":{"code":503,"err_code":10023,"description":"insufficient resources"},"stream":"S","seq":0}"#;
    assert_eq!(world.answer(refused).unwrap(), error);
    assert_eq!(world.ask("s.a", "x"), error);
    assert_eq!(world.streams.view().faults().count(), 1);
    world.input(Input::DiskFree(1 << 20));
    world.is_prompt = true;
    let again = world.ask_with("s.a", &[("Nats-Msg-Id", "1")], "x");
    assert_eq!(again, r#"{"stream":"S","seq":1}"#, "the refused id is free");
    assert_eq!(world.streams.view().faults().count(), 0);
}

#[test]
fn a_failed_disk_ends_acks_until_restart() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    world.is_prompt = false;
    let refused = world.send("s.a", &[], b"x");
    world.drain();
    world.disk_refuses(DiskFault::Failed("sync: input/output error".into()));
    assert!(world.answer(refused).unwrap().contains("10077"));
    world.input(Input::DiskFree(1 << 20));
    world.is_prompt = true;
    assert!(world.ask("s.a", "x").contains("input/output error"));
    assert_eq!(
        world.streams.view().faults().collect::<Vec<_>>(),
        [("S", "sync: input/output error")]
    );
    world.restart();
    assert_eq!(world.ask("s.a", "x"), r#"{"stream":"S","seq":1}"#);
}

#[test]
fn expectations_see_what_is_on_its_way() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    world.is_prompt = false;
    let last_of = "Nats-Expected-Last-Subject-Sequence";
    let first = world.send("s.a", &[(last_of, "0")], b"x");
    let race = world.send("s.a", &[(last_of, "0")], b"y");
    let named = "Nats-Expected-Last-Subject-Sequence-Subject";
    let wide = world.send("s.d", &[(last_of, "0"), (named, "s.*")], b"y");
    let guess = world.send("s.a", &[(last_of, "1")], b"y");
    let other = world.send("s.b", &[(last_of, "0")], b"y");
    let chain = world.send("s.c", &[("Nats-Expected-Last-Sequence", "2")], b"y");
    let stale = world.send("s.c", &[("Nats-Expected-Last-Sequence", "2")], b"y");
    world.drain();
    // spec: nats-server v2.15.1 server/stream.go, one server
    let lost = r#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"},"stream":"S","seq":0}"#;
    assert_eq!(world.answer(race).unwrap(), lost);
    assert_eq!(world.answer(wide).unwrap(), lost);
    let conflict = r#"{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"stream":"S","seq":0}"#;
    assert_eq!(world.answer(guess).unwrap(), conflict);
    assert!(
        world
            .answer(stale)
            .unwrap()
            .contains("wrong last sequence: 3")
    );
    world.disk_answers(1);
    for (number, seq) in [(first, 1), (other, 2), (chain, 3)] {
        let expected = format!(r#"{{"stream":"S","seq":{seq}}}"#);
        assert_eq!(world.answer(number).unwrap(), expected);
    }
    world.is_prompt = true;
    assert!(
        world
            .ask_with("s.a", &[(last_of, "0")], "z")
            .contains("wrong last sequence: 1")
    );
    assert_eq!(
        world.ask_with("s.a", &[(last_of, "1")], "z"),
        r#"{"stream":"S","seq":4}"#
    );
}

#[test]
fn headers_are_judged_as_nats_server_does() {
    let mut world = World::new();
    world.create(
        "S",
        r#""subjects":["s.>"],"allow_rollup_hdrs":true,"max_msg_size":100"#,
    );
    world.ask_with("s.a", &[("Nats-Msg-Id", "1")], "x");
    for (key, value, error) in [
        (
            "Nats-Expected-Stream",
            "9",
            r#"10060,"description":"expected stream does not match""#,
        ),
        (
            "Nats-Expected-Last-Sequence",
            "abc",
            "wrong last sequence: 1",
        ),
        ("Nats-Expected-Last-Msg-Id", "zz", "wrong last msg ID: 1"),
        (
            "Nats-Rollup",
            "zz",
            r#"10111,"description":"rollup value invalid: \"zz\""#,
        ),
        ("Nats-TTL", "5", "10166"),
        ("Nats-Incr", "5", "10168"),
        ("Nats-Batch-Id", "5", "10174"),
        ("Nats-Schedule", "5", "10188"),
        ("Nats-Stream-Source", "S 1", "10227"),
        (
            "Nats-Expected-Last-Subject-Sequence-Subject",
            "s.a",
            "10193",
        ),
        (
            "X",
            "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
            "10054",
        ),
    ] {
        let answer = world.ask_with("s.a", &[(key, value)], "x");
        assert!(answer.contains(error), "{key}: {answer}");
        assert!(answer.ends_with(r#""stream":"S","seq":0}"#), "{answer}");
    }
}

#[test]
fn a_rollup_takes_every_message_its_subject_names() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"],"allow_rollup_hdrs":true"#);
    world.ask("s.a.1", "x");
    world.ask("s.b", "x");
    world.is_prompt = false;
    world.send("s.a.2", &[], b"on its way");
    world.send("s.a.*", &[("Nats-Rollup", "sub")], b"y");
    world.drain();
    world.disk_answers(2);
    world.is_prompt = true;
    for _ in 0..2 {
        let info = world.ask("$JS.API.STREAM.INFO.S", r#"{"subjects_filter":">"}"#);
        assert!(info.contains(r#""s.a.*":1,"s.b":1"#), "{info}");
        assert!(info.contains(r#""messages":2"#), "{info}");
        world.restart();
    }
}

#[test]
fn what_is_not_there_to_delete_is_named_by_where_it_would_be() {
    for (storage, below, above) in [
        ("file", "no message found", "stream store EOF"),
        ("memory", "sequence 1 not found", "sequence 9 not found"),
    ] {
        let mut world = World::new();
        world.create("S", &format!(r#""storage":"{storage}""#));
        for _ in 0..4 {
            world.ask("S", "x");
        }
        let mut delete = |seq: u64| {
            let body = format!(r#"{{"seq":{seq}}}"#);
            world.ask("$JS.API.STREAM.MSG.DELETE.S", &body)
        };
        assert!(delete(1).contains("success") && delete(3).contains("success"));
        assert!(delete(3).contains("sequence 3 not found"));
        assert!(delete(1).contains(below));
        assert!(delete(9).contains(above));
    }
}
