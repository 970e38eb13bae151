use std::time::Duration;

use frond_clock::{Ages, Gap, Trust};

use super::consuming::{consumer, pull};
use super::world::World;

#[test]
fn ids_sequences_and_limits_survive() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"],"max_msgs_per_subject":2"#);
    for n in 0..5 {
        world.ask_with("s.a", &[("Nats-Msg-Id", &n.to_string())], "x");
    }
    // What the limits pushed out had not been written when the power went.
    world.restart();
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(
        info.contains(r#""messages":2"#) && info.contains(r#""first_seq":4"#),
        "{info}"
    );
    let again = world.ask_with("s.a", &[("Nats-Msg-Id", "4")], "x");
    assert_eq!(again, r#"{"stream":"S","seq":5,"duplicate": true}"#);
    assert_eq!(world.ask("s.b", "y"), r#"{"stream":"S","seq":6}"#);
    let got = world.ask("$JS.API.STREAM.MSG.GET.S", r#"{"last_by_subj":"s.a"}"#);
    assert!(
        got.contains(r#""seq":5"#) && got.contains(r#""data":"eA==""#),
        "{got}"
    );
}

/// What is stored in a stream that discards new messages stays, whoever lowers a limit.
#[test]
fn a_lower_limit_takes_nothing_that_may_not_go() {
    let lower = [r#""max_msgs":2"#, r#""max_bytes":100"#];
    for (before, limit) in ["old", "new"].into_iter().zip(lower) {
        for storage in ["file", "memory"] {
            let mut world = World::new();
            let config =
                format!(r#""subjects":["s.>"],"discard":"{before}","storage":"{storage}""#);
            world.create("S", &config);
            for _ in 0..5 {
                world.ask("s.a", "x");
            }
            let config = format!(
                r#"{{"name":"S","subjects":["s.>"],"discard":"new","storage":"{storage}",{limit}}}"#
            );
            let info = world.ask("$JS.API.STREAM.UPDATE.S", &config);
            assert!(info.contains(r#""messages":5,"#), "{info}");
            if storage == "file" {
                world.restart();
            }
            assert!(world.ask("s.a", "x").contains("10077"));
            let info = world.ask("$JS.API.STREAM.INFO.S", "");
            assert!(info.contains(r#""messages":5,"#), "{info}");
            world.ask("$JS.API.STREAM.PURGE.S", "");
            assert!(world.ask("s.a", "x").contains(r#""seq":6"#));
        }
    }
}

#[test]
fn a_purged_stream_goes_on_where_it_was() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    for _ in 0..3 {
        world.ask("s.a", "x");
    }
    assert!(
        world
            .ask("$JS.API.STREAM.PURGE.S", "")
            .contains(r#""purged":3"#)
    );
    world.restart();
    assert_eq!(world.ask("s.a", "x"), r#"{"stream":"S","seq":4}"#);
    assert!(
        world
            .ask("$JS.API.STREAM.PURGE.S", r#"{"seq":50}"#)
            .contains(r#""purged":1"#)
    );
    world.restart();
    assert_eq!(world.ask("s.a", "x"), r#"{"stream":"S","seq":50}"#);
}

#[test]
fn what_was_deleted_stays_deleted() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"],"allow_rollup_hdrs":true"#);
    world.create("T", r#""subjects":["t"]"#);
    world.ask("s.a", "x");
    world.ask("s.b", "x");
    world.ask_with("s.a", &[("Nats-Rollup", "sub")], "y");
    assert!(
        world
            .ask("$JS.API.STREAM.MSG.DELETE.S", r#"{"seq":2}"#)
            .contains("success")
    );
    assert!(world.ask("$JS.API.STREAM.DELETE.T", "").contains("success"));
    world.restart();
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(
        info.contains(r#""messages":1"#) && info.contains(r#""first_seq":3"#),
        "{info}"
    );
    assert!(
        world
            .ask("$JS.API.STREAM.NAMES", "")
            .contains(r#""streams":["S"]"#)
    );
    assert_eq!(world.ask("t", "x"), "silence");
    world.create("T", r#""subjects":["t"]"#);
    assert_eq!(world.ask("t", "x"), r#"{"stream":"T","seq":1}"#);
}

#[test]
fn old_messages_and_ids_go_with_time() {
    let mut world = World::new();
    world.create(
        "S",
        r#""subjects":["s"],"max_age":60000000000,"duplicate_window":10000000000"#,
    );
    world.ask_with("s", &[("Nats-Msg-Id", "1")], "x");
    world.pass(Duration::from_secs(9));
    assert!(
        world
            .ask_with("s", &[("Nats-Msg-Id", "1")], "x")
            .contains("duplicate")
    );
    world.pass(Duration::from_secs(2));
    assert_eq!(
        world.ask_with("s", &[("Nats-Msg-Id", "1")], "x"),
        r#"{"stream":"S","seq":2}"#
    );
    world.pass(Duration::from_secs(50));
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(
        info.contains(r#""messages":1"#) && info.contains(r#""first_seq":2"#),
        "{info}"
    );
    world.restart();
    world.pass(Duration::from_secs(61));
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(
        info.contains(r#""messages":0"#) && info.contains(r#""first_seq":3"#),
        "{info}"
    );
}

/// A box without a clock starts an hour behind and is set right later.
#[test]
fn nothing_gets_old_while_time_is_unknown_nor_by_its_being_set() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s"],"max_age":60000000000"#);
    let has = |world: &mut World, first: u64, count: u64| {
        let info = world.ask("$JS.API.STREAM.INFO.S", "");
        let (first, count) = (
            format!(r#""first_seq":{first}"#),
            format!(r#""messages":{count}"#),
        );
        assert!(info.contains(&first) && info.contains(&count), "{info}");
    };
    world.ask("s", "before");
    let from = world.now.wall;
    let untrusted = Ages {
        trust: Trust::Untrusted,
        gaps: Vec::new(),
    };
    world.judge_ages(untrusted, Duration::ZERO);
    world.pass(Duration::from_secs(100));
    world.ask("s", "while");
    has(&mut world, 1, 2);
    world.pass(Duration::from_secs(20));
    let lag = Duration::from_secs(3600);
    let until = world.now.wall + lag;
    let gaps = vec![Gap { from, until, lag }];
    let set = Ages {
        trust: Trust::Trusted,
        gaps,
    };
    world.judge_ages(set, lag);
    world.pass(Duration::from_secs(1));
    has(&mut world, 2, 1);
    world.ask("s", "after");
    // 39 of the second's 60 are left, whatever its timestamp says, also to the next process.
    world.restart();
    world.pass(Duration::from_secs(38));
    has(&mut world, 2, 2);
    world.pass(Duration::from_secs(2));
    has(&mut world, 3, 1);
    world.pass(Duration::from_secs(21));
    has(&mut world, 4, 0);
}

#[test]
fn numbers_of_streams_are_never_given_twice() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s"]"#);
    assert!(world.ask("$JS.API.STREAM.DELETE.S", "").contains("success"));
    world.restart();
    world.create("T", r#""subjects":["t"]"#);
    assert_eq!(world.disk.recover().streams[0].stream.0, 2);
}

#[test]
fn a_change_is_answered_when_it_is_kept() {
    let mut world = World::new();
    world.is_prompt = false;
    let create = world.send("$JS.API.STREAM.CREATE.S", &[], br#"{"name":"S"}"#);
    let info = world.send("$JS.API.STREAM.INFO.S", &[], b"");
    let names = world.send("$JS.API.STREAM.NAMES", &[], b"");
    world.drain();
    assert_eq!((world.answer(create), world.answer(info)), (None, None));
    assert!(world.answer(names).unwrap().contains(r#""streams":null"#));
    world.disk_answers(1);
    assert!(world.answer(create).unwrap().contains("did_create"));
    assert!(world.answer(info).unwrap().contains(r#""config""#));
}

#[test]
fn a_beginning_told_by_an_update_changes_nothing() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s"]"#);
    world.ask("s", "x");
    let update = r#"{"name":"S","subjects":["s"],"first_seq":9}"#;
    let told = world.ask("$JS.API.STREAM.UPDATE.S", update);
    assert!(told.contains(r#""first_seq":9"#), "{told}");
    world.restart();
    assert_eq!(world.ask("s", "x"), r#"{"stream":"S","seq":2}"#);

    world.create("T", r#""subjects":["t"],"first_seq":5"#);
    world.ask(
        "$JS.API.STREAM.UPDATE.T",
        r#"{"name":"T","subjects":["t"]}"#,
    );
    world.restart();
    assert_eq!(world.ask("t", "x"), r#"{"stream":"T","seq":5}"#);
}

/// What is published while a purge goes to the disk comes after it.
#[test]
fn a_message_behind_a_purge_beyond_the_last_is_kept() {
    for filter in ["", r#""filter":">","#] {
        let mut world = World::new();
        world.create("S", r#""subjects":["s"]"#);
        world.ask("s", "old");
        consumer(&mut world, "S", "C", "");
        world.is_prompt = false;
        let body = format!(r#"{{{filter}"seq":100}}"#);
        let purge = world.send("$JS.API.STREAM.PURGE.S", &[], body.as_bytes());
        let sent = world.send("s", &[], b"new");
        world.drain();
        world.disk_answers(2);
        assert!(world.answer(purge).unwrap().contains(r#""purged":1}"#));
        assert_eq!(world.answer(sent).unwrap(), r#"{"stream":"S","seq":100}"#);
        world.is_prompt = true;
        for _ in 0..2 {
            let info = world.ask("$JS.API.STREAM.INFO.S", "");
            assert!(info.contains(r#""messages":1,"#), "{info}");
            let info = world.ask("$JS.API.CONSUMER.INFO.S.C", "");
            assert!(
                info.contains(r#""stream_seq":99"#) && info.contains(r#""num_pending":1"#),
                "{info}"
            );
            world.pass(Duration::from_secs(1));
            world.restart();
        }
    }
}

#[test]
fn a_purge_beyond_the_last_that_is_refused_uses_no_sequence_up() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s"]"#);
    world.ask("s", "old");
    world.is_prompt = false;
    let purge = world.send("$JS.API.STREAM.PURGE.S", &[], br#"{"seq":100}"#);
    world.drain();
    world.disk_refuses(frond_ledger::DiskFault::Failed("broken".into()));
    assert!(world.answer(purge).unwrap().contains("error"));
    world.is_prompt = true;
    assert_eq!(world.ask("s", "new"), r#"{"stream":"S","seq":2}"#);
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(info.contains(r#""last_seq":2,"#), "{info}");
}

/// An ack of what an earlier consumer of that name was given says nothing of the new one.
#[test]
fn a_late_ack_after_a_restart_takes_nothing_from_a_consumer_made_anew() {
    for policy in ["all", "explicit"] {
        let mut world = World::new();
        world.create("I", r#""subjects":["i"],"retention":"interest""#);
        let config = format!(r#","ack_policy":"{policy}""#);
        consumer(&mut world, "I", "KEEP", "");
        consumer(&mut world, "I", "C", &config);
        for n in 0..10 {
            world.ask("i", &n.to_string());
        }
        let got = pull(&mut world, "I.C", r#"{"batch":10,"no_wait":true}"#);
        let ack = got.iter().filter_map(|sent| sent.message.reply());
        let ack = ack.last().unwrap().to_owned();
        world.ask("$JS.API.CONSUMER.DELETE.I.C", "");
        consumer(&mut world, "I", "C", &config);
        world.pass(Duration::from_secs(2));
        world.restart();
        world.send(&ack, &[], b"+ACK");
        world.drain();
        let got = pull(&mut world, "I.C", r#"{"batch":10,"no_wait":true}"#);
        let given = got.iter().filter(|sent| sent.message.reply().is_some());
        assert_eq!(given.count(), 10, "{policy}");
    }
}

/// What is left of a consumer in memory does not shut a stream for ever.
#[test]
fn a_full_interest_stream_goes_on_after_a_consumer_in_memory_is_gone() {
    let mut world = World::new();
    world.create(
        "I",
        r#""subjects":["i"],"retention":"interest","max_msgs":5,"discard":"new""#,
    );
    consumer(&mut world, "I", "A", r#","ack_policy":"all""#);
    consumer(&mut world, "I", "B", r#","mem_storage":true"#);
    for n in 0..5 {
        world.ask("i", &n.to_string());
    }
    let got = pull(&mut world, "I.A", r#"{"batch":5,"no_wait":true}"#);
    let ack = got.iter().filter_map(|sent| sent.message.reply()).last();
    let ack = ack.unwrap().to_owned();
    world.ask(&ack, "+ACK");
    world.pass(Duration::from_secs(2));
    world.restart();
    let answer = world.ask("i", "new");
    assert!(!answer.contains("error"), "{answer}");
}
