use std::collections::BTreeMap;

use frond_account::AccountId;
use frond_wire::Message;

use super::world::{QUIET, World};
use crate::{FastProducers, Limits, Next, Source};

#[test]
fn every_plain_subscription_gets_every_message_once() {
    let mut world = World::open_to_all();
    let (a, b) = (world.quiet(), world.quiet());
    world.say(a, "SUB foo 1\r\nSUB foo 2\r\nSUB > 3\r\nSUB *.x 4\r\n");
    world.say(b, "PUB foo 2\r\nhi\r\nPUB y.x 0\r\n\r\n");
    let got = world.read(a);
    let mut got: Vec<&str> = got
        .split("\r\n")
        .filter(|line| line.starts_with("MSG"))
        .collect();
    got.sort_unstable();
    assert_eq!(
        got,
        [
            "MSG foo 1 2",
            "MSG foo 2 2",
            "MSG foo 3 2",
            "MSG y.x 3 0",
            "MSG y.x 4 0"
        ]
    );
    assert_eq!(world.read(b), "");
}

#[test]
fn own_messages_come_back_unless_echo_is_off() {
    let mut world = World::open_to_all();
    let echo = world.quiet();
    assert_eq!(
        world.ask(echo, "SUB a 1\r\nPUB a 0\r\n\r\n"),
        "MSG a 1 0\r\n\r\n"
    );
    let deaf = world.client(&QUIET.replace('{', r#"{"echo":false,"#));
    assert_eq!(
        world.ask(deaf, "SUB b 1\r\nSUB b q 2\r\nPUB b 0\r\n\r\n"),
        ""
    );
}

#[test]
fn a_queue_group_gets_each_message_once_and_shares_the_work() {
    let mut world = World::open_to_all();
    let members: Vec<_> = (0..4).map(|_| world.quiet()).collect();
    for member in &members {
        world.say(*member, "SUB work q 1\r\n");
    }
    let publisher = world.quiet();
    for _ in 0..1000 {
        world.say(publisher, "PUB work 1\r\nx\r\n");
    }
    let counts = members
        .iter()
        .map(|member| world.read(*member).matches("MSG").count());
    let counts: Vec<usize> = counts.collect();
    assert_eq!(counts.iter().sum::<usize>(), 1000);
    assert!(
        counts.iter().all(|count| (150..350).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn a_maximum_counts_what_was_delivered_before_too() {
    let mut world = World::open_to_all();
    let a = world.quiet();
    let two = "MSG x 1 0\r\n\r\n".repeat(2);
    let publish = "PUB x 0\r\n\r\n".repeat(4);
    assert_eq!(
        world.ask(a, &format!("SUB x 1\r\nUNSUB 1 2\r\n{publish}")),
        two
    );
    assert_eq!(world.broker.subscription_count(), 0);
    let one = "MSG x 1 0\r\n\r\n";
    assert_eq!(
        world.ask(
            a,
            &format!("SUB x 1\r\nPUB x 0\r\n\r\nUNSUB 1 1\r\n{publish}")
        ),
        one
    );
    assert_eq!(world.ask(a, "UNSUB 99\r\nUNSUB 99 4\r\n"), "");
}

#[test]
fn headers_are_cut_for_clients_that_know_none() {
    let mut world = World::open_to_all();
    let (with, without) = (world.quiet(), world.client(r#"{"verbose":false}"#));
    world.say(with, "SUB h 1\r\n");
    world.say(without, "SUB h 2\r\n");
    world.say(with, "HPUB h r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n");
    assert_eq!(
        world.read(with),
        "HMSG h 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
    );
    assert_eq!(world.read(without), "MSG h 2 r 2\r\nhi\r\n");
}

#[test]
fn nobody_there_is_an_answer_when_asked_for() {
    let mut world = World::open_to_all();
    let a = world.quiet();
    world.say(a, "SUB in.* 4\r\n");
    assert_eq!(
        world.ask(a, "PUB nobody in.1 0\r\n\r\n"),
        "HMSG in.1 4 38 38\r\nNATS/1.0 503\r\nNats-Subject: nobody\r\n\r\n\r\n"
    );
    assert_eq!(
        world.ask(a, "PUB nobody 0\r\n\r\nPUB nobody other 0\r\n\r\n"),
        ""
    );
    assert!(world.broker.subscribe_internal(AccountId(0), "nobody", 1));
    assert_eq!(world.ask(a, "PUB nobody in.1 0\r\n\r\n"), "");
}

#[test]
fn accounts_hear_nothing_of_each_other() {
    use super::world::{login, plan, user};
    let plan = plan(vec![user("a", "A", None), user("b", "B", None)]);
    let directory = frond_account::Directory::build(&plan, None).unwrap();
    let mut world = World::new(directory, Limits::default());
    let (a, b) = (world.client(&login("a")), world.client(&login("b")));
    world.say(a, "SUB > 1\r\n");
    world.say(b, "SUB > 1\r\n");
    world.say(b, "PUB x 0\r\n\r\n");
    assert_eq!(
        (world.read(a), world.read(b)),
        (String::new(), "MSG x 1 0\r\n\r\n".into())
    );
}

#[test]
fn the_server_answers_in_a_group_but_never_itself() {
    let mut world = World::open_to_all();
    let (a, account) = (world.quiet(), AccountId(0));
    let joins = |broker: &mut crate::Broker| {
        broker.subscribe_internal_group(account, "ask", "responder", 7)
    };
    assert!(joins(&mut world.broker));
    world.outputs.clear();
    world.say(a, "PUB ask 0\r\n\r\n");
    assert_eq!(world.internal().len(), 1);
    let question = Message {
        subject: "ask",
        reply: None,
        header: b"",
        payload: b"",
    };
    let ask = |world: &mut World| {
        let now = world.now;
        let taken = world.broker.publish_internal(now, account, &question, None);
        world.drain();
        taken
    };
    assert!(!ask(&mut world), "nobody else is there");
    assert_eq!(world.internal(), []);
    world.say(a, "SUB ask responder 1\r\n");
    assert!((0..8).all(|_| ask(&mut world)));
    assert_eq!(world.read(a), "MSG ask 1 0\r\n\r\n".repeat(8));
}

#[test]
fn the_server_subscribes_and_publishes_like_anybody() {
    let mut world = World::open_to_all();
    let (a, account) = (world.quiet(), AccountId(0));
    assert!(world.broker.subscribe_internal(account, "orders.*", 7));
    assert!(world.broker.subscribe_internal(account, ">", 8));
    assert!(!world.broker.subscribe_internal(account, "bad..x", 9));
    assert!(world.broker.has_interest(account, "orders.x"));
    world.outputs.clear();
    world.say(a, "PUB orders.1 rep 2\r\nhi\r\n");
    let mut got = world.internal();
    got.sort_by_key(|message| message.0);
    let expected = |id| {
        let source = Source::Client(a);
        (
            id,
            "orders.1".to_owned(),
            Some("rep".to_owned()),
            "hi".to_owned(),
            source,
        )
    };
    assert_eq!(got, [expected(7), expected(8)]);
    world.broker.unsubscribe_internal(account, 8);
    world.say(a, "SUB deliver.1 3\r\nPUB other 0\r\n\r\n");
    assert_eq!(world.internal(), []);
    let message = Message {
        subject: "deliver.1",
        reply: Some("$JS.ACK.s.c.1.2.3.4.5"),
        header: b"",
        payload: b"x",
    };
    let shown = Some("orders.9");
    assert!(
        world
            .broker
            .publish_internal(world.now, account, &message, shown)
    );
    world.drain();
    assert_eq!(
        world.read(a),
        "MSG orders.9 3 $JS.ACK.s.c.1.2.3.4.5 1\r\nx\r\n"
    );
    world.say(a, "UNSUB 3\r\n");
    assert!(
        !world
            .broker
            .publish_internal(world.now, account, &message, shown)
    );
}

#[test]
fn who_does_not_read_is_closed_and_the_rest_goes_on() {
    let limits = Limits {
        outbox_bytes_max: 10_000,
        ..Limits::default()
    };
    let mut world = World::new(frond_account::Directory::open_to_all(), limits);
    let (slow, quick, publisher) = (world.quiet(), world.quiet(), world.quiet());
    world.say(slow, "SUB a 1\r\n");
    world.say(quick, "SUB a 1\r\n");
    let message = format!("PUB a 1000\r\n{}\r\n", "x".repeat(1000));
    let mut stalled = 0;
    for _ in 0..20 {
        let taken = world.broker.bytes(world.now, publisher, message.as_bytes());
        assert_eq!(taken.consumed, message.len());
        stalled += u32::from(matches!(taken.next, Next::Stall));
        // Only the quick one's socket takes bytes.
        if let Some(outbox) = world.broker.outbox(quick) {
            let all = outbox.len();
            outbox.advance(all);
        }
    }
    assert!((1..10).contains(&stalled), "{stalled}");
    world.drain();
    assert_eq!(
        world.closed.get(&slow).unwrap(),
        "Slow Consumer (Pending Bytes)"
    );
    assert_eq!(world.read(slow), "");
    assert!(!world.closed.contains_key(&quick));
    assert_eq!(world.broker.totals().slow_consumers, 1);
    assert_eq!(world.broker.subscription_count(), 1);
}

#[test]
fn a_producer_that_need_not_wait_passes_a_slow_reader_by() {
    let limits = Limits {
        outbox_bytes_max: 10_000,
        fast_producers: FastProducers::Go,
        ..Limits::default()
    };
    let mut world = World::new(frond_account::Directory::open_to_all(), limits);
    let (slow, publisher) = (world.quiet(), world.quiet());
    world.say(slow, "SUB a 1\r\n");
    let message = format!("PUB a 1000\r\n{}\r\n", "x".repeat(1000));
    for _ in 0..50 {
        let taken = world.broker.bytes(world.now, publisher, message.as_bytes());
        assert!(matches!(taken.next, Next::Read(_)), "{taken:?}");
    }
    world.drain();
    assert!(world.closed.is_empty());
    let got = world.read(slow).matches("MSG a 1 1000").count();
    assert!((7..10).contains(&got), "{got}");
    world.say(publisher, &message);
    assert!(world.read(slow).starts_with("MSG a 1 1000"));
}

#[test]
fn a_reader_that_the_shell_cuts_for_its_pace_counts_as_slow() {
    let mut world = World::open_to_all();
    let (slow, other) = (world.quiet(), world.quiet());
    let now = world.now;
    world
        .broker
        .closed(now, slow, "Slow Consumer (Write Deadline)");
    world.broker.closed(now, other, "Client Closed");
    assert_eq!(world.broker.totals().slow_consumers, 1);
}

#[test]
fn all_outboxes_together_have_a_ceiling() {
    let limits = Limits {
        outbox_bytes_max: 100_000,
        outboxes_bytes_max: Some(50_000),
        ..Limits::default()
    };
    let mut world = World::new(frond_account::Directory::open_to_all(), limits);
    let clients: Vec<_> = (0..20).map(|_| world.quiet()).collect();
    for (client, subject) in clients.iter().zip(["a", "b"].iter().cycle()) {
        world.say(*client, &format!("SUB {subject} 1\r\n"));
    }
    let (greedy, publisher) = (world.quiet(), world.quiet());
    world.say(greedy, "SUB > 1\r\n");
    let mut stalls = 0;
    for round in 0..200 {
        let subject = ["a", "b", "c"][round % 3];
        let message = format!("PUB {subject} 900\r\n{}\r\n", "x".repeat(900));
        let taken = world.broker.bytes(world.now, publisher, message.as_bytes());
        stalls += u32::from(matches!(taken.next, Next::Stall));
        let waiting: usize = world
            .broker
            .clients()
            .map(|client| client.pending_bytes)
            .sum();
        // One message for each of them may come on top before somebody is given up.
        assert!(waiting <= 50_000 + 21 * 1_000, "{waiting}");
        assert_eq!(world.broker.stock.waiting(), waiting);
    }
    assert!(stalls > 0);
    world.drain();
    assert_eq!(
        world.closed.get(&greedy).unwrap(),
        "Slow Consumer (Pending Bytes)"
    );
    assert!(!world.closed.contains_key(&publisher));
    assert_eq!(world.broker.stock.waiting(), 0);
}

/// However the bytes are cut into reads, the same comes out.
#[test]
fn reads_may_end_anywhere() {
    let script = concat!(
        "SUB a 1\r\nSUB a.* q 2\r\nPUB a 5\r\nhello\r\nHPUB a.b r 12 13\r\nNATS/1.0\r\n\r\n!\r\n",
        "PING\r\nUNSUB 1 3\r\nPUB a 0\r\n\r\nPUB a 1\r\nz\r\nPUB a 1\r\nz\r\nSUB bad..x 3\r\n",
        "PUB none in 0\r\n\r\npub  a.c \t 2 \nok\r\nPONG\r\n+OK\r\nFOO\r\n"
    )
    .as_bytes();
    let run = |cuts: &[usize]| {
        let mut world = World::open_to_all();
        let conn = world.quiet();
        let mut start = 0;
        for cut in cuts.iter().chain([&script.len()]) {
            if !world.closed.contains_key(&conn) {
                world.say_bytes(conn, &script[start..*cut]);
            }
            start = *cut;
        }
        (world.read(conn), world.closed)
    };
    let whole = run(&[]);
    assert!(whole.0.contains("Unknown Protocol Operation"));
    for cut in 0..script.len() {
        assert_eq!(run(&[cut]), whole, "cut at {cut}");
    }
    let each: Vec<usize> = (1..script.len()).collect();
    assert_eq!(run(&each), whole);
    let mut rng = frond_clock::Rng::seeded(11);
    for _ in 0..200 {
        let mut cuts: BTreeMap<usize, ()> = BTreeMap::new();
        for _ in 0..rng.below(9) {
            cuts.insert(rng.below(script.len() as u64) as usize, ());
        }
        let cuts: Vec<usize> = cuts.into_keys().collect();
        assert_eq!(run(&cuts), whole, "{cuts:?}");
    }
}
