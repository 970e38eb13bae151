use super::*;
use crate::consumer::config::Retention;

fn pulled(config: ConsumerConfig, n: usize) -> (World, Vec<String>) {
    let mut world = World::new(config, &[("a.1", "one"), ("a.2", "two"), ("a.3", "three")]);
    world.pull("r", &n.to_string());
    let acks = world.take().into_iter().map(|seen| seen.reply).collect();
    (world, acks)
}

fn floors(world: &World) -> (u64, u64, usize) {
    let info = world.consumer.info(world.now);
    let floor = info.ack_floor;
    (floor.consumer_seq, floor.stream_seq, info.num_ack_pending)
}

#[test]
fn each_ack_counts_for_itself() {
    let (mut world, acks) = pulled(explicit(), 3);
    world.ack(&acks[1], None, "");
    assert_eq!(floors(&world), (0, 0, 2));
    world.ack(&acks[0], None, "+OK");
    assert_eq!(floors(&world), (2, 2, 1));
    world.ack(&acks[2], None, "+TERM");
    assert_eq!(floors(&world), (3, 3, 0));
}

#[test]
fn one_ack_covers_all_before() {
    let config = ConsumerConfig {
        ack_policy: AckPolicy::All,
        ..explicit()
    };
    let (mut world, acks) = pulled(config, 3);
    world.ack(&acks[1], None, "");
    assert_eq!(floors(&world), (2, 2, 1));
    world.ack(&acks[0], None, "");
    assert_eq!(floors(&world), (2, 2, 1));
}

#[test]
fn an_answer_waits_for_the_disk() {
    let (mut world, acks) = pulled(explicit(), 3);
    world.disk_answers = false;
    world.ack(&acks[0], Some("reply"), "+ACK");
    assert!(world.take().is_empty());
    let (number, need) = *world.saves.last().unwrap();
    assert_eq!(need, Need::Sync);
    world.input(|_| ConsumerInput::Saved(number));
    let seen = world.take();
    assert_eq!((seen[0].to.as_str(), seen.len()), ("reply", 1));
    assert!(seen[0].payload.is_empty() && seen[0].header.is_empty());
    world.ack(&acks[0], Some("reply"), "+ACK");
    assert_eq!(world.take().len(), 1, "a second ack of what is safe");
}

#[test]
fn who_gets_an_answer() {
    for (subject, body, answered) in [
        ("$JS.ACK.S.C.1.1.1.0.0", "hello", true),
        ("$JS.ACK.S.C.1.1.1.0.0", "+WPI", true),
        ("$JS.ACK.S.C.1.1.1.0.0", "-NAK", true),
        ("$JS.ACK._.12345678.S.C.1.1.1.0.0", "+ACK", true),
        ("$JS.ACK.S.C.1.9.9.0.0", "+ACK", false),
        ("$JS.ACK.S.C.1.x.1.0.0", "+ACK", false),
        ("$JS.ACK.S.C.1.1", "+ACK", false),
    ] {
        let (mut world, _) = pulled(explicit(), 1);
        world.ack(subject, Some("reply"), body);
        let any = world.take().iter().any(|seen| seen.to == "reply");
        assert_eq!(any, answered, "{subject} {body}");
    }
}

#[test]
fn a_nak_brings_it_back_before_anything_new() {
    let (mut world, acks) = pulled(explicit(), 2);
    world.ack(&acks[0], None, "-NAK");
    world.pull("r", "2");
    let seen = world.take();
    let naked = &seen[0];
    assert!(
        naked
            .to
            .starts_with("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.S.C")
    );
    assert!(
        seen[1].reply.starts_with("$JS.ACK.S.C.2.1.3."),
        "{:?}",
        seen[1]
    );
    assert_eq!(
        (seen[1].payload.as_str(), seen[2].payload.as_str()),
        ("one", "three")
    );
}

#[test]
fn a_nak_may_ask_for_time() {
    let (mut world, acks) = pulled(explicit(), 1);
    world
        .deaf
        .insert("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.S.C".into());
    world.pull("r", r#"{"batch":1}"#);
    world.take();
    world.ack(&acks[0], None, r#"-NAK {"delay":2000000000}"#);
    world.pull("r", r#"{"batch":1}"#);
    world.take();
    world.pull("r", r#"{"batch":1,"expires":60000000000}"#);
    world.pass(Duration::from_millis(1999));
    assert!(world.came().is_empty());
    world.pass(Duration::from_millis(1));
    assert_eq!(world.came(), ["one"]);
}

#[test]
fn what_is_not_acked_comes_again_after_the_wait() {
    let config = ConsumerConfig {
        backoff: vec![1_000_000_000, 5_000_000_000],
        ..explicit()
    };
    let (mut world, acks) = pulled(config, 1);
    world.pull("r", r#"{"batch":2}"#);
    world.take();
    world.pull("q", r#"{"batch":900}"#);
    world.take();
    world.ack(&acks[0], None, "+WPI");
    let mut waits = vec![];
    for _ in 0..40 {
        world.pass(Duration::from_millis(500));
        let came = world
            .take()
            .into_iter()
            .filter(|s| s.payload == "one")
            .count();
        waits.push(came);
    }
    let at: Vec<usize> = (0..waits.len()).filter(|&i| waits[i] > 0).collect();
    assert_eq!(at, [1, 11, 21, 31], "after 1 s, then every 5 s");
}

#[test]
fn a_last_delivery_is_the_last() {
    let config = ConsumerConfig {
        ack_wait: 1_000_000_000,
        max_deliver: 2,
        ..explicit()
    };
    let (mut world, _) = pulled(config, 1);
    world.pull("r", r#"{"batch":9}"#);
    world.pass(seconds(10));
    let seen = world.take();
    let ones = seen.iter().filter(|s| s.payload == "one").count();
    assert_eq!(ones, 1);
    let told: Vec<_> = seen
        .iter()
        .filter(|s| s.to.contains("MAX_DELIVERIES"))
        .collect();
    assert_eq!(told.len(), 3);
    assert!(
        told[0]
            .payload
            .contains(r#""stream_seq":1,"deliveries":2}"#),
        "{}",
        told[0].payload
    );
    assert_eq!(floors(&world).2, 0);
    assert!(world.consumer.needs(1, "a.1"), "the stream keeps it");
}

#[test]
fn next_is_an_ack_and_a_request() {
    let (mut world, acks) = pulled(explicit(), 1);
    world.ack(&acks[0], Some("r9"), "+NXT {\"batch\":2}");
    let seen = world.take();
    assert_eq!(
        seen.iter().map(|s| s.to.as_str()).collect::<Vec<_>>(),
        ["r9", "r9"]
    );
    assert_eq!(floors(&world).0, 1);
}

#[test]
fn a_work_queue_hears_what_is_done() {
    let facts = StreamFacts {
        retention: Retention::WorkQueue,
        ..facts()
    };
    let mut world = World::with(facts, explicit(), &[("a.1", "one"), ("a.1", "two")]);
    world.pull("r", "2");
    let acks: Vec<_> = world.take().into_iter().map(|s| s.reply).collect();
    assert!(world.done.is_empty());
    assert!(world.consumer.needs(1, "a.1"));
    world.ack(&acks[0], None, "");
    assert_eq!(world.done, [(1, 1)]);
    assert!(!world.consumer.needs(1, "a.1") && world.consumer.needs(2, "a.1"));
    assert!(world.consumer.needs(9, "a.1"));
}

#[test]
fn a_removed_message_is_told_as_terminated() {
    let (mut world, acks) = pulled(explicit(), 2);
    world.remove(1);
    let seen = world.take();
    assert!(seen[0].to.contains("MSG_TERMINATED"));
    assert!(
        seen[0]
            .payload
            .contains(r#""reason":"Unacknowledged message was deleted""#)
    );
    assert_eq!(floors(&world), (1, 1, 1));
    world.remove(3);
    assert_eq!(world.consumer.info(world.now).num_pending, 0);
    world.ack(&acks[1], None, "");
    assert_eq!(floors(&world), (2, 2, 0));
}

#[test]
fn acks_are_measured() {
    let config = ConsumerConfig {
        sample_freq: "100%".into(),
        ..explicit()
    };
    let (mut world, acks) = pulled(config, 1);
    world.pass(Duration::from_millis(3));
    world.ack(&acks[0], None, "");
    let seen = world.take();
    assert_eq!(seen[0].to, "$JS.EVENT.METRIC.CONSUMER.ACK.S.C");
    assert!(
        seen[0]
            .payload
            .contains(r#""ack_time":3000000,"deliveries":1}"#)
    );
}
