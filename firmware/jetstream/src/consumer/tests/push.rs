use super::*;
use crate::consumer::config::ReplayPolicy;
use crate::consumer::limits;

fn push() -> ConsumerConfig {
    ConsumerConfig {
        name: "C".into(),
        deliver_subject: "d".into(),
        ..ConsumerConfig::default()
    }
}

#[test]
fn it_sends_while_somebody_listens() {
    let config = ConsumerConfig {
        mem_storage: true,
        ..push()
    };
    let mut world = World::new(config, &[("a.1", "one")]);
    world.deaf.insert("d".into());
    world.time();
    assert!(world.came().is_empty());
    world.deaf.clear();
    world.input(|_| ConsumerInput::Interest("d"));
    assert_eq!(world.came(), ["one"]);
    assert!(world.consumer.info(world.now).push_bound);
    world.deaf.insert("d".into());
    world.input(|_| ConsumerInput::Interest("d"));
    world.publish("a.1", "two");
    assert!(world.came().is_empty());
}

#[test]
fn heartbeats_fill_the_silence() {
    let config = ConsumerConfig {
        idle_heartbeat: 1_000_000_000,
        ..push()
    };
    let mut world = World::new(config, &[("a.1", "one")]);
    world.time();
    world.pass(Duration::from_millis(900));
    world.publish("a.1", "two");
    assert_eq!(world.came(), ["one", "two"]);
    world.pass(Duration::from_millis(999));
    assert!(world.came().is_empty());
    world.pass(Duration::from_millis(1));
    assert_eq!(
        world.came(),
        ["<100 Idle Heartbeat, Nats-Last-Consumer: 2, Nats-Last-Stream: 2>"]
    );
}

#[test]
fn flow_control_stops_and_goes_on() {
    let config = ConsumerConfig {
        idle_heartbeat: 1_000_000_000,
        flow_control: true,
        ..push()
    };
    let big = "x".repeat(100_000);
    let messages: Vec<_> = (0..40).map(|_| ("a.1", big.as_str())).collect();
    let mut world = World::new(config, &messages);
    world.pass(Duration::from_millis(1));
    let seen = world.take();
    let asked: Vec<_> = seen
        .iter()
        .filter(|s| s.header.contains("FlowControl"))
        .collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header, "NATS/1.0 100 FlowControl Request\r\n\r\n");
    assert!(seen.len() < 30, "{}", seen.len());
    let answer = asked[0].reply.clone();
    world.pass(seconds(1));
    let stalled = format!("Nats-Consumer-Stalled: {answer}\r\n\r\n");
    assert!(world.take()[0].header.ends_with(&stalled));
    let message = text(&answer, None, "");
    world.input(|_| ConsumerInput::FlowControl(&message));
    world.pass(Duration::from_millis(1));
    let rest = world.take();
    assert_eq!(
        seen.len() + rest.iter().filter(|s| s.payload == big).count(),
        41
    );
}

// spec: nats-server v2.15.1 server/consumer.go deliverMsg, server/stream.go jsPubMsg.size
#[test]
fn flow_control_counts_the_subject_that_is_sent_to() {
    let half = usize::try_from(limits::WINDOW_BYTES_START / 2).unwrap();
    let config = ConsumerConfig {
        idle_heartbeat: 1_000_000_000,
        flow_control: true,
        deliver_subject: "d".repeat(1000),
        ..push()
    };
    let big = "x".repeat(half / 2 - 600);
    let mut world = World::new(config, &[("a.1", big.as_str()); 4]);
    world.pass(Duration::from_millis(1));
    let seen = world.take();
    let asked = seen.iter().position(|s| s.header.contains("FlowControl"));
    assert_eq!(asked, Some(2), "of {}", seen.len());
}

#[test]
fn headers_only_tells_the_size() {
    let config = ConsumerConfig {
        headers_only: true,
        ..push()
    };
    let mut world = World::new(config, &[("a.1", "four")]);
    put(
        &mut world.shelf,
        world.now.wall,
        "a.1",
        b"NATS/1.0\r\nK: v\r\n\r\n",
        "seven77",
    );
    world.time();
    let seen = world.take();
    assert_eq!(seen[0].header, "NATS/1.0\r\nNats-Msg-Size: 4\r\n\r\n");
    assert_eq!(
        seen[1].header,
        "NATS/1.0\r\nK: v\r\nNats-Msg-Size: 7\r\n\r\n"
    );
    assert!(seen.iter().all(|s| s.payload.is_empty()));
}

#[test]
fn the_original_pace_is_kept() {
    let mut shelf = Shelf::default();
    let now = Now {
        mono: Instant::from_nanos(0),
        wall: Timestamp::from_nanos(START_NS + 100_000_000_000),
    };
    for at in [0, 2, 5] {
        let time = Timestamp::from_nanos(START_NS + at * 1_000_000_000);
        put(&mut shelf, time, "a.1", b"", &at.to_string());
    }
    let config = ConsumerConfig {
        replay_policy: ReplayPolicy::Original,
        ..push()
    };
    let mut world = World::on(shelf, facts(), config, now);
    world.time();
    assert_eq!(world.came(), ["0"]);
    world.pass(Duration::from_millis(1999));
    assert!(world.came().is_empty());
    world.pass(Duration::from_millis(1));
    assert_eq!(world.came(), ["2"]);
    world.pass(seconds(2));
    world.publish("a.1", "meanwhile");
    world.pass(seconds(1));
    assert_eq!(world.came(), ["5"]);
    world.pass(seconds(98));
    assert!(world.came().is_empty());
    world.pass(seconds(1));
    assert_eq!(world.came(), ["meanwhile"]);
    world.publish("a.1", "new");
    assert_eq!(world.came(), ["new"]);
}

#[test]
fn a_rate_is_kept() {
    let config = ConsumerConfig {
        rate_limit_bps: 8_000,
        ..push()
    };
    let facts = StreamFacts {
        max_msg_size: 100,
        ..facts()
    };
    let payload = "x".repeat(50);
    let messages: Vec<_> = (0..50).map(|_| ("a.1", payload.as_str())).collect();
    let mut world = World::with(facts, config, &messages);
    world.pass(seconds(2));
    let sent = world.take().len();
    // About a hundred bytes each, two thousand bytes and one burst.
    assert!((15..25).contains(&sent), "{sent}");
}

#[test]
fn an_unused_ephemeral_expires() {
    let mut world = World::new(push(), &[]);
    world.time();
    world.pass(seconds(60));
    assert!(!world.expired);
    world.deaf.insert("d".into());
    world.input(|_| ConsumerInput::Interest("d"));
    world.pass(Duration::from_millis(4999));
    assert!(!world.expired);
    world.pass(seconds(7));
    assert!(world.expired);
}

#[test]
fn a_pull_consumer_lives_while_it_is_used() {
    let config = ConsumerConfig {
        name: "C".into(),
        ack_policy: AckPolicy::Explicit,
        ..ConsumerConfig::default()
    };
    let mut world = World::new(config, &[]);
    world.pull("r", r#"{"batch":1}"#);
    world.pass(seconds(30));
    assert!(!world.expired, "somebody waits");
    world.publish("a.1", "x");
    world.pass(seconds(30));
    assert!(!world.expired, "an ack is awaited");
    let mut other = World::new(
        ConsumerConfig {
            name: "C".into(),
            ..ConsumerConfig::default()
        },
        &[],
    );
    other.pass(seconds(6));
    assert!(other.expired);
    let mut durable = World::new(explicit(), &[]);
    durable.pass(seconds(3600));
    assert!(!durable.expired);
}

/// As the reader of a mirror or source that must not lose anything: answers acknowledge.
#[test]
fn answers_of_flow_control_may_acknowledge() {
    let config = ConsumerConfig {
        durable_name: "C".into(),
        ack_policy: AckPolicy::FlowControl,
        max_ack_pending: 2,
        ..push()
    };
    let mut world = World::new(config, &[("a.1", "one"), ("a.2", "two"), ("a.3", "three")]);
    world.time();
    let seen = world.take();
    let payloads: Vec<_> = seen.iter().map(|s| s.payload.as_str()).collect();
    assert_eq!(payloads, ["one", "two", ""]);
    let answer = MessageBuf::copy_of(&Message {
        subject: &seen[2].reply,
        reply: None,
        header: b"NATS/1.0\r\nNats-Last-Consumer: 2\r\nNats-Last-Stream: 2\r\n\r\n",
        payload: b"",
    });
    world.input(|_| ConsumerInput::FlowControl(&answer));
    assert_eq!(world.came(), ["three"]);
    let info = world.consumer.info(world.now);
    assert_eq!((info.ack_floor.stream_seq, info.num_ack_pending), (2, 1));
}

#[test]
fn a_paused_consumer_rests_until_its_time() {
    let config = ConsumerConfig {
        pause_until: Some(Timestamp::from_nanos(START_NS + 2_000_000_000).into()),
        ..push()
    };
    let mut world = World::new(config, &[("a.1", "one")]);
    world.pass(Duration::from_millis(1999));
    let came = world.came();
    assert!(!came.contains(&"one".to_owned()) && world.consumer.info(world.now).paused);
    world.pass(Duration::from_millis(1));
    assert_eq!(world.came().last().map(String::as_str), Some("one"));
}

#[test]
fn a_new_receiver_gets_what_the_old_one_kept() {
    let config = ConsumerConfig {
        durable_name: "C".into(),
        ack_policy: AckPolicy::Explicit,
        ..push()
    };
    let mut world = World::new(config.clone(), &[("a.1", "one")]);
    world.time();
    assert_eq!(world.take()[0].to, "d");
    let moved = ConsumerConfig {
        deliver_subject: "e".into(),
        ..config
    };
    let moved = moved
        .prepare(&facts(), &ServerLimits::default(), false)
        .unwrap();
    world.consumer.update(world.now, moved, &world.shelf);
    world.time();
    let seen = world.take();
    assert_eq!(
        (seen[0].to.as_str(), seen[0].payload.as_str()),
        ("e", "one")
    );
    assert!(seen[0].reply.starts_with("$JS.ACK.S.C.2.1.2."));
}

/// A block of the store holds 256 messages: of a part as small as it, each block would be read
/// several times.
#[test]
fn a_stream_is_read_in_large_parts_each_once_and_before_they_are_used_up() {
    let config = ConsumerConfig {
        ack_policy: AckPolicy::None,
        mem_storage: true,
        ..push()
    };
    let messages = vec![("a.1", "x"); 5000];
    let mut world = World::new(config, &messages);
    world.shelf.on_disk = true;
    world.time();
    let (mut reads, mut read, mut came) = (0, vec![], 0);
    while let Some(seqs) = world.fetched.first().cloned() {
        reads += 1;
        read.extend(seqs);
        world.disk_read();
        // The next is on its way before the clients have all of this one.
        let is_last = read.len() == messages.len();
        assert!(is_last || world.fetched.len() == 1, "{} read", read.len());
        world.pass(Duration::ZERO);
        came += world.take().len();
    }
    assert_eq!(came, messages.len());
    assert_eq!(read, (1..=5000).collect::<Vec<Seq>>());
    assert!(reads <= 10, "{reads} reads");
}
