//! Fast batches, with a disk that answers when it is told to.

use std::time::Duration;

use frond_ledger::DiskFault;
use frond_wire::{Message, MessageBuf, headers};

use super::world::World;

fn world(more: &str) -> World {
    let mut world = World::new();
    world.create(
        "S",
        &format!(r#""subjects":["s.*"],"allow_batched":true{more}"#),
    );
    world
}

/// With a disk that answers when it is told to.
fn slow_world() -> World {
    let mut world = world("");
    world.is_prompt = false;
    world
}

/// Sends one part; `place` is `<batch>.<every>.<gaps>.<seq>.<op>`.
fn send(world: &mut World, place: &str, header: &[(&str, &str)]) {
    hand_in(world, place, header);
    world.drain();
}

/// Sends one part, and leaves the machine no time for it.
fn hand_in(world: &mut World, place: &str, header: &[(&str, &str)]) {
    let mut block = Vec::new();
    for (key, value) in header {
        headers::append(&mut block, key, value);
    }
    let message = MessageBuf::copy_of(&Message {
        subject: "s.a",
        reply: Some(&format!("r.{place}.$FI")),
        header: &block,
        payload: b"",
    });
    world.route(message);
}

/// What was said since the last time, each with the number of the part that it answers.
fn told(world: &mut World) -> Vec<String> {
    let sent: Vec<_> = world.sent.drain(..).collect();
    let answers = sent.iter().filter(|sent| sent.to.ends_with(".$FI"));
    let text = |sent: &super::world::Sent| {
        let seq = sent.to.split('.').nth(4).unwrap_or_default().to_owned();
        let payload = sent.message.message().payload;
        format!("{seq}: {}", String::from_utf8_lossy(payload))
    };
    answers.map(text).collect()
}

fn part(world: &mut World, place: &str, header: &[(&str, &str)]) -> Vec<String> {
    send(world, place, header);
    told(world)
}

const START: &str = r#"1: {"type":"ack","seq":0,"msgs":2}"#;

#[test]
fn nothing_is_told_to_be_kept_before_the_disk_has_it() {
    let mut world = slow_world();
    send(&mut world, "b.2.fail.1.0", &[]);
    assert_eq!(told(&mut world), [START]);
    send(&mut world, "b.2.fail.2.1", &[]);
    send(&mut world, "b.2.fail.2.4", &[]);
    assert_eq!(told(&mut world), [r#"2: {"type":"ack","seq":0,"msgs":2}"#]);
    world.disk_answers(usize::MAX);
    assert_eq!(told(&mut world), [r#"2: {"type":"ack","seq":2,"msgs":2}"#]);
    send(&mut world, "b.2.fail.3.1", &[]);
    send(&mut world, "b.2.fail.4.3", &[]);
    assert!(told(&mut world).is_empty(), "the third is not kept");
    world.disk_answers(usize::MAX);
    let done = r#"4: {"stream":"S","seq":3,"batch":"b","count":3}"#;
    assert_eq!(told(&mut world), [done]);
}

#[test]
fn a_duplicate_on_its_way_is_waited_for() {
    let mut world = slow_world();
    let id = [("Nats-Msg-Id", "m")];
    world.send("s.b", &id, b"");
    world.drain();
    send(&mut world, "b.1.fail.1.0", &id);
    send(&mut world, "b.1.fail.2.3", &[]);
    assert_eq!(told(&mut world), [r#"1: {"type":"ack","seq":0,"msgs":1}"#]);
    world.disk_answers(usize::MAX);
    let done = r#"2: {"stream":"S","seq":1,"batch":"b","count":1}"#;
    assert_eq!(told(&mut world), [done]);
}

#[test]
fn what_the_disk_refuses_ends_the_batch_before_it() {
    let mut world = world("");
    part(&mut world, "b.2.fail.1.0", &[]);
    world.is_prompt = false;
    send(&mut world, "b.2.fail.2.1", &[]);
    send(&mut world, "b.2.fail.3.1", &[]);
    world.disk_refuses(DiskFault::Full);
    let heard = told(&mut world);
    assert!(
        heard[0].starts_with(r#"2: {"type":"err","seq":2,"#),
        "{heard:?}"
    );
    assert_eq!(
        heard[1],
        r#"2: {"stream":"S","seq":1,"batch":"b","count":1}"#
    );

    let mut world = slow_world();
    send(&mut world, "b.2.fail.1.0", &[]);
    world.disk_refuses(DiskFault::Full);
    let heard = told(&mut world);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[1].contains("10023"), "{heard:?}");
}

#[test]
fn where_gaps_pass_a_refused_message_is_one() {
    let mut world = world("");
    part(&mut world, "b.9.ok.1.0", &[]);
    world.is_prompt = false;
    send(&mut world, "b.9.ok.2.1", &[]);
    world.disk_refuses(DiskFault::Full);
    assert!(told(&mut world)[0].contains(r#""type":"err","seq":2"#));
    world.input(crate::Input::DiskFree(1 << 30));
    send(&mut world, "b.9.ok.3.2", &[]);
    world.disk_answers(usize::MAX);
    let done = r#"3: {"stream":"S","seq":2,"batch":"b","count":3}"#;
    assert_eq!(told(&mut world), [done]);
}

#[test]
fn the_pace_follows_how_many_there_are() {
    let mut world = world("");
    let first = part(&mut world, "a.1000.fail.1.0", &[]);
    assert_eq!(first, [r#"1: {"type":"ack","seq":0,"msgs":500}"#]);
    let mut acks = part(&mut world, "b.8.fail.1.0", &[]);
    for seq in 2..=15 {
        acks.extend(part(&mut world, &format!("b.8.fail.{seq}.1"), &[]));
    }
    let expected = [(1, 0, 1), (1, 1, 2), (3, 3, 4), (7, 7, 8), (15, 15, 8)];
    let expected = expected
        .map(|(n, seq, every)| format!(r#"{n}: {{"type":"ack","seq":{seq},"msgs":{every}}}"#));
    assert_eq!(acks, expected);
}

#[test]
fn a_batch_waits_for_a_while_and_not_over_a_restart() {
    let mut world = world("");
    let unknown = |heard: Vec<String>| heard[0].contains("10208");
    part(&mut world, "b.9.fail.1.0", &[]);
    world.pass(Duration::from_secs(9));
    assert!(part(&mut world, "b.9.fail.2.1", &[]).is_empty());
    world.pass(Duration::from_secs(10));
    assert!(unknown(part(&mut world, "b.9.fail.3.1", &[])));

    // The disk may take the time it needs.
    world.is_prompt = false;
    send(&mut world, "c.9.fail.1.0", &[]);
    world.pass(Duration::from_secs(25));
    send(&mut world, "c.9.fail.2.2", &[]);
    world.disk_answers(usize::MAX);
    assert!(
        told(&mut world)
            .pop()
            .is_some_and(|it| it.contains(r#""count":2"#))
    );

    world.is_prompt = true;
    part(&mut world, "d.9.fail.1.0", &[]);
    world.restart();
    assert!(unknown(part(&mut world, "d.9.fail.2.1", &[])));
}

#[test]
fn only_so_many_are_open() {
    let mut world = world("");
    for n in 0..1000 {
        part(&mut world, &format!("b{n}.9.fail.1.0"), &[]);
    }
    assert!(part(&mut world, "c.9.fail.1.0", &[])[0].contains("10211"));
    assert_eq!(part(&mut world, "b0.9.fail.2.2", &[]).len(), 1);
    assert_eq!(part(&mut world, "c.9.fail.1.0", &[]).len(), 2);
    let update = r#"{"name":"S","subjects":["s.*"]}"#;
    world.ask("$JS.API.STREAM.UPDATE.S", update);
    assert!(part(&mut world, "c.9.fail.2.1", &[])[0].contains("10205"));
}

#[test]
fn parts_wait_in_order_until_a_counter_is_read() {
    let mut world = world(r#","allow_msg_counter":true"#);
    world.ask_with("s.a", &[("Nats-Incr", "5")], "");
    world.restart();
    let add = [("Nats-Incr", "1")];
    for (seq, op) in [(1, 0), (2, 1), (3, 2)] {
        hand_in(&mut world, &format!("b.2.fail.{seq}.{op}"), &add);
    }
    world.drain();
    assert_eq!(
        told(&mut world),
        [
            START,
            r#"2: {"type":"ack","seq":2,"msgs":2}"#,
            r#"3: {"stream":"S","seq":4,"batch":"b","count":3}"#,
        ]
    );
    let got = world.ask("$JS.API.STREAM.MSG.GET.S", r#"{"last_by_subj":"s.a"}"#);
    assert!(got.contains("eyJ2YWwiOiI4In0="), "{got}");
}

#[test]
fn a_ping_behind_a_gap_is_answered_by_the_end() {
    let mut world = slow_world();
    send(&mut world, "b.2.fail.1.0", &[]);
    assert_eq!(told(&mut world), [START]);
    send(&mut world, "b.2.fail.2.4", &[]);
    assert_eq!(
        told(&mut world),
        [r#"2: {"type":"gap","last_seq":2,"seq":3}"#]
    );
    world.disk_answers(usize::MAX);
    let done = r#"2: {"stream":"S","seq":1,"batch":"b","count":1}"#;
    assert_eq!(told(&mut world), [done]);
}

#[test]
fn a_refused_part_counts_with_what_follows_it_however_slow_the_disk() {
    for is_prompt in [true, false] {
        let mut world = world("");
        world.is_prompt = is_prompt;
        send(&mut world, "b.2.ok.1.0", &[]);
        send(&mut world, "b.2.ok.2.1", &[("Nats-Rollup", "foo")]);
        world.disk_answers(usize::MAX);
        let said = told(&mut world);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[1].contains(r#""type":"err","seq":2"#), "{said:?}");
        send(&mut world, "b.2.ok.3.3", &[]);
        let done = r#"3: {"stream":"S","seq":1,"batch":"b","count":2}"#;
        assert_eq!(told(&mut world), [done]);
    }
}

#[test]
fn a_ping_behind_the_end_changes_nothing() {
    for gaps in ["ok", "fail"] {
        let mut world = world("");
        world.is_prompt = false;
        send(&mut world, &format!("b.9.{gaps}.1.0"), &[]);
        send(&mut world, &format!("b.9.{gaps}.2.2"), &[]);
        told(&mut world);
        send(&mut world, &format!("b.9.{gaps}.7.4"), &[]);
        let expected = [
            r#"7: {"type":"gap","last_seq":3,"seq":8}"#,
            r#"7: {"type":"ack","seq":0,"msgs":9}"#,
        ];
        assert_eq!(told(&mut world), expected);
        world.disk_answers(usize::MAX);
        let done = r#"2: {"stream":"S","seq":2,"batch":"b","count":2}"#;
        assert_eq!(told(&mut world), [done]);
    }
}
