use std::time::Duration;

use frond_ledger::DiskFault;

use super::world::World;

const ADVISORY: &str = "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.S";

/// One part of batch `id`, with more headers.
fn part(world: &mut World, id: &str, seq: &str, more: &[(&str, &str)]) -> String {
    let mut header = vec![("Nats-Batch-Id", id), ("Nats-Batch-Sequence", seq)];
    header.extend(more);
    world.ask_with("s.a", &header, "x")
}

/// A part's number, its further headers, and the error it gets.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], u16);

const COMMIT: (&str, &str) = ("Nats-Batch-Commit", "1");

fn world(more: &str) -> World {
    let mut world = World::new();
    let config = format!(r#""subjects":["s.>"],"allow_atomic":true{more}"#);
    world.create("S", &config);
    world
}

fn code(answer: &str) -> u16 {
    let text = answer.split(r#""err_code":"#).nth(1).unwrap_or_default();
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn messages(world: &mut World) -> u64 {
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    let text = info.split(r#""messages":"#).nth(1).unwrap();
    text.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_batch_is_kept_as_one_and_answered_once() {
    for storage in ["file", "memory"] {
        let mut world = world(&format!(r#","storage":"{storage}""#));
        world.ask("s.b", "before");
        assert_eq!(part(&mut world, "b", "1", &[]), "");
        assert_eq!(messages(&mut world), 1, "nothing shows before the commit");
        let ack = part(&mut world, "b", "2", &[COMMIT]);
        assert_eq!(ack, r#"{"stream":"S","seq":3,"batch":"b","count":2}"#);
        assert_eq!(part(&mut world, "c", "1", &[]), "");
        let ack = part(&mut world, "c", "2", &[("Nats-Batch-Commit", "eob")]);
        assert_eq!(ack, r#"{"stream":"S","seq":4,"batch":"c","count":1}"#);
        let info = world.ask("$JS.API.STREAM.INFO.S", "");
        assert!(info.contains(r#""_nats.req.level":"2""#), "{info}");
    }
}

#[test]
fn a_batch_is_one_write_and_no_ack_comes_before_it_is_kept() {
    let mut world = world("");
    world.is_prompt = false;
    let header = |seq| [("Nats-Batch-Id", "b"), ("Nats-Batch-Sequence", seq)];
    world.send("s.a", &header("1"), b"x");
    let mut last = header("2").to_vec();
    last.push(COMMIT);
    let asked = world.send("s.a", &last, b"y");
    world.drain();
    assert_eq!((world.queue.len(), world.answer(asked)), (1, None));
    assert_eq!(world.queue[0].records.len(), 2);
    world.disk_answers(1);
    assert!(world.answer(asked).unwrap().contains(r#""count":2"#));

    world.send("s.a", &header("1"), b"x");
    let asked = world.send("s.a", &last, b"y");
    world.drain();
    world.disk_refuses(DiskFault::Full);
    assert_eq!(code(&world.answer(asked).unwrap()), 10023);
    world.is_prompt = true;
    assert_eq!(messages(&mut world), 2);
}

#[test]
fn what_breaks_a_batch_leaves_nothing_of_it() {
    let table: [Case<'_>; 10] = [
        ("2", &[("Nats-TTL", "soon"), COMMIT], 10166),
        ("3", &[COMMIT], 10176),
        ("2", &[("Nats-Batch-Commit", "2")], 10200),
        ("2", &[("Nats-Required-Api-Level", "99")], 10185),
        ("2", &[("Nats-Expected-Last-Msg-Id", "m"), COMMIT], 10177),
        ("2", &[("Nats-Expected-Last-Sequence", "7"), COMMIT], 10071),
        ("2", &[("Nats-Expected-Last-Sequence", "2"), COMMIT], 10164),
        (
            "2",
            &[("Nats-Expected-Last-Subject-Sequence", "1"), COMMIT],
            10164,
        ),
        ("2", &[("Nats-Msg-Id", "m"), COMMIT], 10201),
        ("2", &[("Nats-Rollup", "all"), COMMIT], 10111),
    ];
    for (seq, header, error) in table {
        let mut world = world(r#","allow_rollup_hdrs":true"#);
        world.ask("s.a", "before");
        part(&mut world, "b", "1", &[("Nats-Msg-Id", "m")]);
        let answer = part(&mut world, "b", seq, header);
        assert_eq!(code(&answer), error, "{answer}");
        assert_eq!(code(&part(&mut world, "b", "3", &[])), 10176, "it is gone");
        // Sequences and ids are free again.
        let ack = world.ask_with("s.a", &[("Nats-Msg-Id", "m")], "x");
        assert_eq!(ack, r#"{"stream":"S","seq":2}"#, "{header:?}");
    }
}

#[test]
fn what_is_no_batch_is_refused() {
    let mut open = world("");
    let long = "x".repeat(65);
    assert_eq!(code(&part(&mut open, &long, "1", &[])), 10179);
    assert_eq!(code(&part(&mut open, "b", "x", &[])), 10175);
    assert_eq!(code(&part(&mut open, "b", "2", &[])), 10176);
    assert_eq!(code(&part(&mut open, "b", "1001", &[])), 10199);
    assert_eq!(
        code(&part(&mut open, "b", "1", &[("Nats-Batch-Commit", "eob")])),
        10176
    );
    for n in 0..50 {
        assert_eq!(part(&mut open, &n.to_string(), "1", &[]), "");
    }
    assert_eq!(code(&part(&mut open, "b", "1", &[])), 10210);
    let update = r#"{"name":"S","subjects":["s.>"]}"#;
    open.ask("$JS.API.STREAM.UPDATE.S", update);
    assert_eq!(code(&part(&mut open, "0", "2", &[COMMIT])), 10174);
}

#[test]
fn batches_have_an_end() {
    let mut world = world("");
    world.listen(ADVISORY);
    for n in 1..=1000 {
        assert_eq!(part(&mut world, "large", &n.to_string(), &[]), "");
    }
    assert_eq!(code(&part(&mut world, "large", "1001", &[])), 10199);
    part(&mut world, "slow", "1", &[]);
    world.pass(Duration::from_secs(9));
    part(&mut world, "slow", "2", &[]);
    world.pass(Duration::from_secs(10));
    assert_eq!(code(&part(&mut world, "slow", "3", &[COMMIT])), 10176);
    let told = world.sent.iter().filter(|sent| sent.to == ADVISORY);
    let told: Vec<String> = told
        .map(|sent| String::from_utf8_lossy(sent.message.message().payload).into_owned())
        .collect();
    assert_eq!(told.len(), 2);
    assert!(
        told[0].contains(r#""batch":"large","reason":"large""#),
        "{told:?}"
    );
    assert!(
        told[1].contains(r#""batch":"slow","reason":"timeout""#),
        "{told:?}"
    );
    assert_eq!(messages(&mut world), 0);
}
