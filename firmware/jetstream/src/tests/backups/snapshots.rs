use std::time::Duration;

use serde_json::Value;

use super::{INBOX, RESTORE, SNAPSHOT, begin, filled, give, give_one, take};
use crate::tests::world::World;

#[test]
fn a_taker_gets_no_more_than_it_acknowledges() {
    let mut world = filled("file", 3000);
    let taken = take(&mut world, ",\"chunk_size\":1024,\"window_size\":4096");
    assert_eq!((taken.end, taken.on_the_way), (Some(204), 4));
    let small = take(&mut filled("file", 7), "");
    assert_eq!((small.end, small.on_the_way), (None, 0));
}

#[test]
fn a_taker_that_goes_or_sleeps_ends_it() {
    for is_there in [true, false] {
        let mut world = filled("file", 3000);
        // Who hears many inboxes is not taken for somebody who waits on this one.
        world.listen(if is_there { INBOX } else { "*" });
        world.sent.clear();
        let body =
            format!("{{\"deliver_subject\":\"{INBOX}\",\"chunk_size\":1024,\"window_size\":1024}}");
        world.ask(SNAPSHOT, &body);
        let comes = |world: &World| world.sent.iter().any(|sent| sent.to == INBOX);
        assert_eq!(comes(&world), is_there);
        world.pass(Duration::from_millis(1500));
        if !is_there {
            assert!(!comes(&world));
        }
        let chunks = |world: &World| world.sent.iter().filter(|sent| sent.to == INBOX).count();
        world.pass(Duration::from_millis(3400));
        assert_eq!(chunks(&world), 1);
        world.pass(Duration::from_secs(3));
        let last = world
            .sent
            .iter()
            .rev()
            .find(|sent| sent.to == INBOX)
            .unwrap();
        let header = last.message.header();
        assert_eq!(header, b"NATS/1.0 408 No Flow Response\r\n\r\n");
    }
}

#[test]
fn requests_are_judged_as_by_nats_server() {
    let mut world = filled("file", 7);
    for (subject, body, expected) in [
        (SNAPSHOT, "", "10003"),
        (SNAPSHOT, "{}", "10003"),
        (SNAPSHOT, "{\"deliver_subject\":\"a.*\"}", "10015"),
        (SNAPSHOT, "{\"jsck\":true}", "10015"),
        (SNAPSHOT, "{\"deliver_subject\":\"a\",\"x\":1}", "10025"),
        (
            "$JS.API.STREAM.SNAPSHOT.T",
            "{\"deliver_subject\":\"a\"}",
            "10059",
        ),
        (RESTORE, "", "10003"),
        (RESTORE, "{\"config\":{\"name\":\"T\"}}", "10056"),
        (
            RESTORE,
            "{\"config\":{\"name\":\"S\"},\"state\":{\"x\":1}}",
            "10025",
        ),
        (RESTORE, "{\"config\":{\"name\":\"S\"}}", "10130"),
        (
            RESTORE,
            "{\"config\":{\"name\":\"S\",\"max_age\":-1}}",
            "10052",
        ),
        (
            "$JS.API.STREAM.RESTORE.T",
            "{\"config\":{\"subjects\":[\"s.1\"]}}",
            "10065",
        ),
    ] {
        let answer = world.ask(subject, body);
        assert!(answer.contains(expected), "{subject} {body}: {answer}");
    }
}

#[test]
fn everything_is_read_before_a_checked_backup() {
    let mut world = filled("file", 600);
    let taken = take(&mut world, ",\"jsck\":true");
    assert!(!taken.bytes.is_empty());
    world.disk.lose(300);
    let body = format!("{{\"deliver_subject\":\"{INBOX}\",\"jsck\":true}}");
    let answer = world.ask(SNAPSHOT, &body);
    assert!(
        answer.contains("snapshot failed: snapshot check detected 1 bad messages"),
        "{answer}"
    );
}

/// Whether it was known before, whether chunks were acknowledged or not.
#[test]
fn a_backup_that_lacks_messages_says_so_and_has_the_others() {
    for more in ["", ",\"chunk_size\":1024"] {
        let mut world = filled("file", 600);
        world.listen("$JS.EVENT.ADVISORY.STREAM.SNAPSHOT_COMPLETE.S");
        world.disk.lose(300);
        world.disk.lose(302);
        for is_known in [false, true] {
            let taken = take(&mut world, more);
            assert_eq!(taken.end, Some(500), "known: {is_known}");
            let why = "couldn't load next message after seq 299: 2 cannot be read";
            let end = last_header(&world);
            assert_eq!(end, format!("NATS/1.0 500 {why}\r\n\r\n"));
            assert_eq!(told(&world)[0]["error"], why);
            let mut new = World::new();
            let subject = begin(&mut new, &taken);
            give(&mut new, &subject, &taken.bytes, 1000);
            let answer = give_one(&mut new, &subject, b"");
            assert!(answer.contains("\"messages\":595"), "{answer}");
        }
        for seq in [300, 302] {
            world.ask("$JS.API.STREAM.MSG.DELETE.S", &format!("{{\"seq\":{seq}}}"));
        }
        assert_ne!(
            take(&mut world, more).end,
            Some(500),
            "what left is no loss"
        );
        assert_eq!(told(&world)[0]["error"], Value::Null);
    }
}

#[test]
fn lost_messages_count_once_and_as_long_as_they_are_there() {
    let mut world = filled("file", 600);
    world.disk.lose(300);
    let body = format!("{{\"deliver_subject\":\"{INBOX}\",\"jsck\":true}}");
    for _ in 0..2 {
        let answer = world.ask(SNAPSHOT, &body);
        assert!(answer.contains("detected 1 bad messages"), "{answer}");
    }
    world.ask("$JS.API.STREAM.MSG.DELETE.S", "{\"seq\":300}");
    take(&mut world, ",\"jsck\":true");
}

#[test]
fn what_is_deleted_while_it_is_read_is_no_loss() {
    for is_checked in [true, false] {
        let mut world = filled("file", 600);
        world.listen(INBOX);
        world.sent.clear();
        world.disk.lose(10);
        world.reads = Some(Vec::new());
        let body = format!("{{\"deliver_subject\":\"{INBOX}\",\"jsck\":{is_checked}}}");
        world.ask(SNAPSHOT, &body);
        world.ask("$JS.API.STREAM.MSG.DELETE.S", "{\"seq\":10}");
        world.reads_come();
        assert_eq!(last_header(&world), "", "checked: {is_checked}");
    }
}

#[test]
fn a_slow_disk_is_not_the_fault_of_the_taker() {
    let mut world = filled("file", 3000);
    world.listen(INBOX);
    world.sent.clear();
    world.reads = Some(Vec::new());
    let body = format!("{{\"deliver_subject\":\"{INBOX}\"}}");
    world.ask(SNAPSHOT, &body);
    world.pass(Duration::from_secs(60));
    assert!(world.sent.iter().all(|sent| sent.to != INBOX));
    world.reads_come();
    assert_eq!(last_header(&world), "");
    assert!(world.sent.iter().any(|sent| sent.to == INBOX));
}

fn last_header(world: &World) -> String {
    let mut sent = world.sent.iter().rev();
    let last = sent.find(|sent| sent.to == INBOX).unwrap();
    String::from_utf8(last.message.header().to_vec()).unwrap()
}

#[test]
fn those_who_watch_are_told() {
    let mut world = filled("file", 30);
    for event in [
        "SNAPSHOT_CREATE",
        "SNAPSHOT_COMPLETE",
        "RESTORE_CREATE",
        "RESTORE_COMPLETE",
    ] {
        world.listen(&format!("$JS.EVENT.ADVISORY.STREAM.{event}.S"));
    }
    let body = format!("{{\"deliver_subject\":\"{INBOX}\"}}");
    world.listen(INBOX);
    world.ask(SNAPSHOT, &body);
    let told: Vec<Value> = told(&world);
    assert_eq!(
        told[0]["type"],
        "io.nats.jetstream.advisory.v1.snapshot_create"
    );
    assert_eq!(told[0]["state"]["messages"], 27);
    assert_eq!(
        told[1]["type"],
        "io.nats.jetstream.advisory.v1.snapshot_complete"
    );
    assert!(told[1]["start"].is_string() && told[1]["end"].is_string());
    // The account is $G: this is what the node says of who asks.
    assert!(
        told.iter().all(|told| told["client"]["acc"] == "A"),
        "{told:?}"
    );
    let taken = take(&mut world, "");
    world.ask("$JS.API.STREAM.DELETE.S", "");
    world.sent.clear();
    let subject = begin(&mut world, &taken);
    give(&mut world, &subject, &taken.bytes, 300);
    give_one(&mut world, &subject, b"");
    let told = self::told(&world);
    assert_eq!(
        told[0]["type"],
        "io.nats.jetstream.advisory.v1.restore_create"
    );
    assert_eq!(
        told[1]["type"],
        "io.nats.jetstream.advisory.v1.restore_complete"
    );
    assert_eq!(told[1]["bytes"], taken.bytes.len());
    assert!(
        told.iter().all(|told| told["client"]["acc"] == "A"),
        "{told:?}"
    );
}

fn told(world: &World) -> Vec<Value> {
    world
        .sent
        .iter()
        .filter(|sent| sent.to.starts_with("$JS.EVENT.ADVISORY.STREAM."))
        .map(|sent| serde_json::from_slice(sent.message.message().payload).unwrap())
        .collect()
}
