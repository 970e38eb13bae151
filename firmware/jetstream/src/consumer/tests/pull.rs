use super::*;

fn three() -> Vec<(&'static str, &'static str)> {
    vec![("a.1", "one"), ("a.2", "two"), ("a.3", "three")]
}

#[test]
fn messages_go_round_those_who_ask() {
    let mut world = World::new(explicit(), &three());
    world.pull("r1", r#"{"batch":2}"#);
    world.pull("r2", "");
    assert_eq!(world.came(), ["one", "two", "three"]);
    world.pull("r1", r#"{"batch":5,"expires":1000000000}"#);
    world.pull("r2", r#"{"batch":5,"expires":1000000000}"#);
    for payload in ["x", "y", "z"] {
        world.publish("a.4", payload);
    }
    let to: Vec<_> = world.take().into_iter().map(|seen| seen.to).collect();
    assert_eq!(to, ["r1", "r2", "r1"]);
}

#[test]
fn the_ack_subject_tells_everything() {
    let mut world = World::new(explicit(), &three());
    world.pull("r", "");
    let seen = world.take();
    assert_eq!(seen[0].subject, "a.1");
    assert_eq!(seen[0].to, "r");
    assert_eq!(seen[0].reply, format!("$JS.ACK.S.C.1.1.1.{START_NS}.2"));
}

/// Every status of a request that is not served, word by word.
#[test]
fn statuses() {
    let bounded = || ConsumerConfig {
        max_batch: 5,
        max_expires: 5_000_000_000,
        max_bytes: 1000,
        max_waiting: 1,
        ..explicit()
    };
    let second: i64 = 1_000_000_000;
    let pend = |n: i64, b: i64| format!("Nats-Pending-Messages: {n}, Nats-Pending-Bytes: {b}");
    let table = [
        (
            "{".to_owned(),
            "<400 Bad Request - unexpected end of JSON input>".to_owned(),
        ),
        (
            format!(r#"{{"batch":1,"expires":{second},"idle_heartbeat":{second}}}"#),
            "<400 Bad Request - heartbeat value too large>".into(),
        ),
        (
            r#"{"batch":6}"#.into(),
            "<409 Exceeded MaxRequestBatch of 5>".into(),
        ),
        (
            format!(r#"{{"batch":1,"expires":{}}}"#, 6 * second),
            "<409 Exceeded MaxRequestExpires of 5s>".into(),
        ),
        (
            r#"{"batch":1,"max_bytes":1001}"#.into(),
            "<409 Exceeded MaxRequestMaxBytes of 1000>".into(),
        ),
        (
            r#"{"batch":1,"no_wait":true}"#.into(),
            "<404 No Messages>".into(),
        ),
        (
            format!(r#"{{"batch":3,"expires":{second},"max_bytes":77}}"#),
            format!("<408 Request Timeout, {}>", pend(3, 77)),
        ),
        (
            format!(r#"{{"batch":3,"expires":{second},"no_wait":true}}"#),
            format!("<408 Request Timeout, {}>", pend(3, 0)),
        ),
        (
            format!(
                r#"{{"batch":1,"expires":{second},"idle_heartbeat":{}}}"#,
                second / 2 - 1
            ),
            "<100 Idle Heartbeat, Nats-Last-Consumer: 0, Nats-Last-Stream: 0>".into(),
        ),
    ];
    for (body, status) in table {
        let mut world = World::new(bounded(), &[]);
        world.pull("r", &body);
        world.pass(seconds(1));
        assert_eq!(world.came()[0], status, "{body}");
    }
}

#[test]
fn no_place_is_told_unless_a_heartbeat_tells() {
    let config = ConsumerConfig {
        max_waiting: 1,
        ..explicit()
    };
    let mut world = World::new(config, &[]);
    world.pull("r1", r#"{"batch":1}"#);
    world.pull("r2", r#"{"batch":1}"#);
    assert_eq!(world.came(), ["<409 Exceeded MaxWaiting>"]);
    world.pull("r2", r#"{"batch":1,"expires":10,"idle_heartbeat":5}"#);
    assert!(world.came().is_empty());
    world.deaf.insert("r1".into());
    world.pass(seconds(2));
    world.pull("r2", r#"{"batch":1}"#);
    assert!(world.came().is_empty(), "the place of one who left is free");
}

#[test]
fn bytes_are_bounded() {
    let mut world = World::new(explicit(), &three());
    world.pull("r", r#"{"batch":10,"max_bytes":80}"#);
    let came = world.came();
    assert_eq!(came[0], "one");
    let reply = format!("$JS.ACK.S.C.1.1.1.{START_NS}.2").len();
    let rest = 80 - (3 + reply + 3);
    let status = format!(
        "<409 Message Size Exceeds MaxBytes, Nats-Pending-Messages: 9, Nats-Pending-Bytes: {rest}>"
    );
    assert_eq!(came[1..], [status]);
    world.pull("r", r#"{"batch":1,"max_bytes":100}"#);
    let status = "<409 Batch Completed, Nats-Pending-Messages: 0, Nats-Pending-Bytes: ";
    let came = world.came();
    assert!(came[0] == "two" && came[1].starts_with(status), "{came:?}");
}

#[test]
fn no_wait_ends_with_the_stream() {
    let mut world = World::new(explicit(), &three());
    world.pull("r", r#"{"batch":10,"no_wait":true}"#);
    assert_eq!(world.came(), ["one", "two", "three", "<404 No Messages>"]);
    world.pull("r", r#"{"batch":10,"no_wait":true,"expires":1000000000}"#);
    assert!(world.came().is_empty(), "it waits for the first");
    world.publish("a.1", "four");
    assert_eq!(world.came(), ["four", "<404 No Messages>"]);
}

#[test]
fn a_full_consumer_keeps_its_requests() {
    let config = ConsumerConfig {
        max_ack_pending: 1,
        ..explicit()
    };
    let mut world = World::new(config, &three());
    world.pull("r", r#"{"batch":10,"no_wait":true}"#);
    let ack = world.last_ack();
    assert_eq!(world.came(), ["one"]);
    world.ack(&ack, None, "+ACK");
    assert_eq!(world.came(), ["two"]);
}

#[test]
fn a_full_consumer_ends_what_does_not_wait_when_it_would_be_told_something() {
    let config = ConsumerConfig {
        max_ack_pending: 1,
        ..explicit()
    };
    let mut world = World::new(config, &three());
    let body = r#"{"batch":10,"no_wait":true,"expires":1000000000,"idle_heartbeat":100000000}"#;
    world.pull("r", body);
    assert_eq!(world.came(), ["one"]);
    world.pass(Duration::from_millis(100));
    assert_eq!(world.came(), ["<404 No Messages>"]);
}

/// Its own time is over before it is told that there is nothing.
#[test]
fn a_full_consumer_lets_what_may_wait_wait() {
    let config = ConsumerConfig {
        max_ack_pending: 2,
        ..explicit()
    };
    let mut world = World::new(config, &three());
    world.pull("r", r#"{"batch":5,"no_wait":true,"expires":600000000}"#);
    assert_eq!(world.came(), ["one", "two"]);
    world.pass(Duration::from_millis(599));
    assert!(world.came().is_empty());
    world.pass(Duration::from_millis(1));
    let over = "<408 Request Timeout, Nats-Pending-Messages: 3, Nats-Pending-Bytes: 0>".to_owned();
    assert_eq!(world.came(), [over]);
}

/// A request's numbers are told as they are, also those below nothing.
#[test]
fn odd_numbers_are_told_back() {
    let mut world = World::new(explicit(), &three());
    world.pull("r", r#"{"batch":0,"max_bytes":1000,"expires":1000000000}"#);
    let came = world.came();
    assert!(
        came[1].starts_with("<409 Batch Completed, Nats-Pending-Messages: -1, "),
        "{came:?}"
    );
    let mut world = World::new(explicit(), &[]);
    world.pull("r", r#"{"batch":1,"max_bytes":-1,"expires":1000000000}"#);
    world.pass(Duration::from_secs(1));
    let over = "<408 Request Timeout, Nats-Pending-Messages: 1, Nats-Pending-Bytes: -1>".to_owned();
    assert_eq!(world.came(), [over]);
}

#[test]
fn what_is_read_from_the_disk_is_waited_for() {
    let mut world = World::new(explicit(), &three());
    world.shelf.on_disk = true;
    world.pull("r", r#"{"batch":10,"no_wait":true}"#);
    let body = r#"{"batch":1,"expires":1000000000,"idle_heartbeat":100000000}"#;
    world.pull("r", body);
    world.pass(Duration::from_millis(500));
    assert!(!world.came().contains(&"<404 No Messages>".to_owned()));
    while !world.fetched.is_empty() {
        world.disk_read();
    }
    let came = world.came();
    assert_eq!(came[..4], ["one", "two", "three", "<404 No Messages>"]);
}

#[test]
fn requests_of_those_who_left_are_passed_over() {
    let mut world = World::new(explicit(), &[]);
    world.pull("r1", r#"{"batch":1}"#);
    world.pull("r2", r#"{"batch":1}"#);
    world.deaf.insert("r1".into());
    world.input(|_| ConsumerInput::Interest("r1"));
    world.publish("a.1", "x");
    assert_eq!(world.take()[0].to, "r2");
    assert_eq!(world.consumer.info(world.now).num_waiting, 0);
}

#[test]
fn requests_outlive_a_reconnect_but_are_not_counted_without_their_client() {
    let mut world = World::new(explicit(), &[]);
    world.pull("r1", r#"{"batch":2}"#);
    world.deaf.insert("r1".into());
    world.input(|_| ConsumerInput::Interest("r1"));
    world.deaf.clear();
    world.input(|_| ConsumerInput::Interest("r1"));
    world.publish("a.1", "x");
    assert_eq!(world.came(), ["x"]);
    world.consumer.drop_gone(&|_: &str| false);
    assert_eq!(world.consumer.info(world.now).num_waiting, 0);
}

#[test]
fn the_end_is_told() {
    use super::super::machine::Ending;
    for (why, status) in [
        (Ending::Deleted, "<409 Consumer Deleted>"),
        (
            Ending::Shutdown,
            "<409 Server Shutdown, Nats-Pending-Messages: 2, Nats-Pending-Bytes: 0>",
        ),
    ] {
        let mut world = World::new(explicit(), &[]);
        world.pull("r", r#"{"batch":2}"#);
        world.consumer.end(why);
        world.drain();
        assert_eq!(world.came(), [status]);
    }
}

#[test]
fn bodies_on_the_disk_come_in_order() {
    let mut world = World::new(explicit(), &three());
    world.shelf.on_disk = true;
    world.shelf.broken.insert(2);
    world.pull("r", r#"{"batch":10}"#);
    assert!(world.came().is_empty());
    assert_eq!(world.fetched, [[1, 2, 3]]);
    world.publish("a.4", "four");
    assert!(world.came().is_empty() && world.fetched.len() == 1);
    world.disk_read();
    assert_eq!(world.came(), ["one", "three"]);
    world.disk_read();
    assert_eq!(world.came(), ["four"]);
    assert_eq!(world.consumer.info(world.now).num_pending, 0);
}

#[test]
fn a_long_burst_gives_others_a_turn() {
    let mut shelf = Shelf::default();
    let now = Now::default();
    for _ in 0..1000 {
        put(&mut shelf, now.wall, "a.1", b"", "x");
    }
    let config = ConsumerConfig {
        ack_policy: AckPolicy::None,
        ..explicit()
    };
    let mut world = World::on(shelf, facts(), config, now);
    world.pull("r", "1000");
    let first = world.take().len();
    assert!(first < 1000 && world.consumer.deadline() == Some(world.now.mono));
    world.pass(Duration::ZERO);
    assert_eq!(first + world.take().len(), 1000);
}

#[test]
fn what_nobody_asks_for_is_not_kept() {
    let big = "x".repeat(15_000);
    let messages: Vec<_> = (0..20).map(|_| ("a.1", big.as_str())).collect();
    let mut world = World::new(explicit(), &messages);
    world.shelf.on_disk = true;
    world.pull("r", "2");
    assert_eq!(
        world.fetched[0].len(),
        8,
        "some more than asked for, not everything"
    );
    world.disk_read();
    assert_eq!(world.take().len(), 2);
    world.pull("r", "1");
    assert!(
        world.take().is_empty() && world.fetched.len() == 1,
        "it is read again"
    );
}
