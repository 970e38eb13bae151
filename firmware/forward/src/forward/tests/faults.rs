//! What others do to a block: intruders at the hub, publishers with strange headers and sizes,
//! operators who tidy up.

use std::time::Duration;

use frond_clock::Rng;
use frond_config::{Budget, OnFull, Order, Period};

use super::line::Line;
use super::world::{World, options};
use super::{LONG, secs};
use crate::io::Input;
use crate::status::State;

fn settled() -> World {
    let mut world = World::new(options(Order::Oldest), 1);
    world.live(secs(1));
    world
}

/// What this block brought to the hub.
fn brought(world: &World) -> Vec<String> {
    let mut all = world.hubs();
    all.retain(|it| it != "intruder");
    all
}

#[test]
fn what_arrived_is_not_guessed_from_its_neighbour() {
    let mut world = settled();
    for n in 0..4 {
        world.publish("a.x", &n.to_string());
    }
    while world.hub.is_empty() {
        world.step(1);
    }
    // The second one is refused for it, and the third fits behind.
    world.intrude();
    world.live(secs(30));
    let mut all = brought(&world);
    all.sort();
    assert_eq!(all, ["0", "1", "2", "3"]);
    assert!(world.own.is_empty());
}

#[test]
fn whoever_else_writes_there_everything_arrives_once() {
    for seed in 0..60 {
        let mut world = World::new(options(Order::Oldest), seed);
        let mut said = 0;
        for _ in 0..40 {
            match world.rng.below(6) {
                0 => world.intrude(),
                1 => world.is_up = !world.is_up,
                2 => world.loss = [0, 0, 20][world.rng.below(3) as usize],
                3 => world.restart(),
                _ => {
                    for _ in 0..world.rng.below(20) {
                        world.publish("a.x", &said.to_string());
                        said += 1;
                    }
                }
            }
            let steps = world.rng.below(90) as usize;
            world.step(steps);
            world.pass(Duration::from_millis(200));
        }
        world.is_up = true;
        world.loss = 0;
        world.live(LONG);
        let mut all = brought(&world);
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!((all.len(), count), (said, said), "seed {seed}");
        assert!(world.own.is_empty(), "seed {seed}");
    }
}

#[test]
fn only_the_hub_says_that_a_message_is_there() {
    let mut world = settled();
    world.is_overheard = true;
    world.is_mute = true;
    world.publish("a.x", "1");
    world.live(secs(20));
    assert!(world.hub.is_empty());
    assert_eq!(
        (world.own.len(), world.block.status().arrived_messages),
        (1, 0)
    );
    world.is_mute = false;
    world.live(secs(60));
    assert_eq!(world.hubs(), ["1"]);
    assert!(world.own.is_empty());
}

#[test]
fn a_publishers_headers_say_nothing_to_the_block() {
    let forged =
        "NATS/1.0\r\nNats-Sequence: 2\r\nNats-Subject: a.vip\r\nNats-Num-Pending: 0\r\n\r\n";
    let ahead = "NATS/1.0\r\nNats-Sequence: 99999\r\nNats-Msg-Size: 99999999999\r\n\r\n";
    for is_up in [true, false] {
        let mut world = settled();
        world.is_up = is_up;
        world.live(secs(2));
        world.publish_with("a.x", forged.as_bytes(), b"fake");
        world.publish("a.vip", "real");
        world.publish_with("a.x", ahead.as_bytes(), b"ahead");
        world.publish("a.x", "after");
        world.live(secs(5));
        world.is_up = true;
        world.live(secs(30));
        let all: Vec<_> = world
            .hub
            .values()
            .map(|it| (it.0.as_str(), it.2.as_slice()))
            .collect();
        let want: [(&str, &[u8]); 4] = [
            ("a.x", b"fake"),
            ("a.vip", b"real"),
            ("a.x", b"ahead"),
            ("a.x", b"after"),
        ];
        assert_eq!(all, want, "{is_up}");
        assert!(world.own.is_empty());
    }
}

#[test]
fn whatever_bytes_a_header_has_the_message_goes() {
    let headers: [&[u8]; 6] = [
        b"NATS/1.0\r\nName: M\xfcller\r\n\r\n",
        b"NATS/1.0 404 No\r\nA: b\r\n\r\n",
        b"NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\n\r\n",
        b"NATS/1.0 503\r\n\r\n",
        b"NATS/1.0 100 Idle Heartbeat\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
    ];
    for is_up in [true, false] {
        let mut world = settled();
        world.is_up = is_up;
        world.live(secs(2));
        for (n, header) in headers.iter().enumerate() {
            world.publish_with("a.x", header, n.to_string().as_bytes());
            world.publish("a.x", &format!("after {n}"));
        }
        world.live(secs(5));
        world.is_up = true;
        world.live(secs(30));
        assert_eq!(
            world.hub.len(),
            2 * headers.len(),
            "{is_up}: {:?}",
            world.block.status()
        );
        assert!(world.own.is_empty());
        let first = world.hub.values().find(|it| it.2 == b"0").unwrap();
        assert!(
            first.1.windows(6).any(|it| it == b"M\xfcller"),
            "{:?}",
            first.1
        );
        let second = world.hub.values().find(|it| it.2 == b"1").unwrap();
        assert!(
            second.1.starts_with(b"NATS/1.0 404 No\r\nA: b\r\n"),
            "{:?}",
            second.1
        );
    }
}

#[test]
fn what_cannot_be_carried_is_set_aside_and_the_rest_goes() {
    // More than the box's own limit; a line that is too long; more than the hub takes.
    let cases = [
        ("a.x".to_owned(), 4_090, usize::MAX),
        (format!("a.{}", "x".repeat(1_000)), 1, usize::MAX),
        ("a.x".to_owned(), 2_000, 1_000),
    ];
    for (subject, bytes, carries) in cases {
        let mut world = settled();
        world.carries = carries;
        world.publish(&subject, &"x".repeat(bytes));
        for n in 0..5 {
            world.publish("a.x", &n.to_string());
        }
        world.live(secs(30));
        assert_eq!(world.hubs(), ["0", "1", "2", "3", "4"], "{bytes}");
        let status = world.block.status();
        assert_eq!((status.refused, status.backlog_messages), (1, 1), "{bytes}");
        assert_eq!(status.state, State::Trouble, "{bytes}");
        assert!(status.trouble.contains("set aside"), "{}", status.trouble);
        // A restart does not forget that, either way.
        world.restart();
        world.publish("a.x", "5");
        world.live(secs(30));
        assert_eq!(world.hub.len(), 6, "{bytes}");
        assert_eq!(world.block.status().refused, 1, "{bytes}");
    }
}

#[test]
fn a_way_that_takes_nothing_is_not_the_fault_of_the_messages() {
    let mut world = settled();
    world.carries = 0;
    for n in 0..40 {
        world.publish("a.x", &n.to_string());
    }
    world.live(LONG);
    let status = world.block.status();
    assert_eq!((status.backlog_messages, world.hub.len()), (40, 0));
    world.carries = usize::MAX;
    world.live(LONG);
    assert_eq!((world.hub.len(), world.own.len()), (40, 0));
    assert_eq!(world.block.status().refused, 0);
}

#[test]
fn what_an_operator_deletes_is_made_again() {
    let mut world = settled();
    world.publish("a.x", "0");
    world.live(secs(5));
    // Who tells of new messages.
    world.news = None;
    for n in 1..4 {
        world.publish("a.x", &n.to_string());
    }
    world.live(secs(20));
    assert_eq!(world.hubs(), ["0", "1", "2", "3"]);
    assert!(world.news.is_some());
    // The stream itself: nothing of the former one is removed from the new one.
    world.delete_own();
    world.live(secs(30));
    world.publish("a.x", "4");
    world.live(secs(30));
    assert_eq!(world.hubs(), ["0", "1", "2", "3", "4"]);
    assert!(world.own.is_empty());
    assert_eq!(world.block.status().state, State::Settled);
}

#[test]
fn only_what_went_over_the_line_is_charged() {
    let mut metered = options(Order::Oldest);
    metered.budget = Some(Budget {
        bytes: 100_000,
        period: Period::Day,
    });
    let mut world = World::new(metered, 1);
    world.live(secs(1));
    let before = world.block.status().budget_used;
    assert!(before > 0, "the hub was asked");
    world.is_up = false;
    for n in 0..100 {
        world.publish("a.x", &n.to_string());
    }
    world.live(LONG);
    let status = world.block.status();
    assert_eq!((status.budget_used, status.state), (before, State::HubAway));
    world.is_up = true;
    world.live(secs(60));
    assert_eq!(world.hub.len(), 100);
    assert!(world.block.status().budget_used > before);
}

/// The line brings what was sent, however long that takes, and only once.
#[test]
fn a_slow_line_is_no_fault() {
    let lines = [
        (6_000, 200, 100),
        (8_000, 60, 2_000),
        (500, 20, 3_800),
        (50_000, 40, 3_800),
    ];
    for (rate, count, size) in lines {
        let mut world = settled();
        world.line = Some(Line::new(rate));
        let text = "x".repeat(size);
        for n in 0..count {
            world.publish("a.x", &format!("{n} {text}"));
        }
        // What a message and its answer cost beside its payload is some 600 bytes.
        let bytes = u64::try_from(count * (size + 600)).unwrap();
        world.live(secs(2 * bytes / rate + 30));
        let all: Vec<_> = world.hubs();
        let numbers = all.iter().map(|it| it.split(' ').next().unwrap().parse());
        assert!(numbers.eq((0..count).map(Ok)), "{rate} B/s: {}", all.len());
        assert!(world.own.is_empty(), "{rate} B/s");
        let (up, down) = world.line.as_ref().unwrap().bytes();
        assert!(
            up <= bytes && down <= bytes,
            "{rate} B/s: {up} up, {down} down"
        );
    }
}

/// What is published now does not wait behind all that waited.
#[test]
fn a_slow_line_has_no_long_queue() {
    let mut world = settled();
    world.line = Some(Line::new(8_000));
    for _ in 0..300 {
        world.publish("a.x", &"x".repeat(2_000));
    }
    for second in 0..60 {
        world.live(secs(1));
        let queue = world.line.as_ref().unwrap().queue(world.now.mono);
        assert!(queue < secs(5), "after {second} s: {queue:?}");
    }
    assert!(world.hub.len() >= 150, "{}", world.hub.len());
}

/// What was on its way when a slow line was cut is looked up there, and goes on where it was.
#[test]
fn a_slow_line_that_is_cut_brings_everything_once() {
    for seed in 0..40 {
        let mut world = settled();
        world.rng = Rng::seeded(seed);
        for n in 0..80 {
            world.publish("a.x", &format!("{n:03} {}", "x".repeat(1_500)));
        }
        for _ in 0..6 {
            // Nothing that was on the line comes any more.
            world.line = Some(Line::new(8_000));
            let time = world.rng.below(8_000);
            world.live(Duration::from_millis(time));
        }
        world.line = Some(Line::new(8_000));
        world.live(secs(150));
        let all: Vec<_> = world.hubs();
        let numbers = all.iter().map(|it| it[..3].parse());
        assert!(numbers.eq((0..80).map(Ok)), "seed {seed}: {all:?}");
        assert!(world.own.is_empty(), "seed {seed}");
    }
}

/// What the disk says of the budget is what it is after the clock was set.
#[test]
fn a_restart_does_not_open_the_budget_of_a_clock_that_was_set() {
    let mut some = options(Order::Oldest);
    some.budget = Some(Budget {
        bytes: 5_000,
        period: Period::Hour,
    });
    let mut world = World::new(some, 1);
    world.live(secs(1));
    let here = world.now.wall;
    world.now.wall = here + secs(20 * 3_600);
    for _ in 0..30 {
        world.publish("a.x", &"x".repeat(500));
    }
    world.live(secs(10));
    let arrived = world.hub.len();
    assert!((1..10).contains(&arrived), "{arrived}");
    world.now.wall = here + secs(10);
    world.live(secs(10));
    world.restart();
    world.live(secs(60));
    assert_eq!(world.hub.len(), arrived);
    assert_eq!(world.block.status().state, State::BudgetSpent);
}

/// What the hub said that it does not take is set aside at once, and goes when it takes more.
#[test]
fn what_is_too_large_for_the_hub_holds_up_nobody() {
    let mut world = settled();
    world.carries = 1_000;
    world.block.handle(world.now, Input::HubTakes(Some(1_000)));
    for _ in 0..20 {
        world.publish("a.x", &"x".repeat(1_200));
    }
    world.publish("a.x", "small");
    world.live(Duration::from_millis(10));
    assert_eq!(world.hubs(), ["small"]);
    assert_eq!(world.block.status().refused, 20);
    world.carries = usize::MAX;
    for takes in [None, Some(2_000)] {
        world.block.handle(world.now, Input::HubTakes(takes));
        world.live(secs(10));
        let arrived = if takes.is_some() { 21 } else { 1 };
        assert_eq!(world.hub.len(), arrived, "{takes:?}");
    }
    assert!(world.own.is_empty());
}

/// A hub that has messages already says so of all that are on their way at once.
#[test]
fn what_is_there_already_costs_no_pause_each() {
    let mut world = settled();
    world.knows_ids = true;
    for n in 0..400 {
        world.publish("a.x", &n.to_string());
    }
    let kept = world.own.clone();
    while world.hub.len() < 300 {
        world.step(1);
    }
    // As if nothing had been removed, and the mark were lost.
    world.own = kept;
    assert!(world.mark.take().is_some());
    world.restart();
    world.live(secs(20));
    assert!(world.own.is_empty(), "{}", world.own.len());
    let mut all: Vec<u32> = world.hubs().iter().map(|it| it.parse().unwrap()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..400));
}

/// What was looked at for dropping in a stream is not what is in the one that follows it.
#[test]
fn a_stream_made_anew_drops_the_least_important_too() {
    let mut small = options(Order::Oldest);
    small.on_full = OnFull::DropClass;
    small.max_bytes = 10_000;
    let mut world = World::new(small, 7);
    world.live(secs(1));
    world.is_up = false;
    for round in 0..2 {
        for n in 0..300 {
            let subject = if n % 10 == 0 { "a.top" } else { "a.x" };
            world.publish(subject, &format!("{n:040}"));
            world.live(Duration::from_millis(100));
        }
        world.live(secs(10));
        let kept = world.own.values();
        let bytes: usize = kept.clone().map(|it| it.0.len() + it.2.len() + 40).sum();
        assert!(bytes < 11_000, "round {round}: {bytes}");
        let tops = kept.filter(|(subject, _, _)| subject == "a.top").count();
        assert_eq!(tops, 30, "round {round}");
        world.delete_own();
        world.live(secs(20));
    }
}

/// What a version before this one knew of the hub is not forgotten: nothing goes twice.
#[test]
fn a_mark_of_the_version_before_counts() {
    let mut world = settled();
    for n in 0..100 {
        world.publish("a.x", &n.to_string());
    }
    let kept = world.own.clone();
    while world.hub.len() < 60 {
        world.step(1);
    }
    assert!(world.mark.is_some());
    world.own = kept;
    world.is_mark_former = true;
    world.restart();
    world.live(secs(30));
    assert!(!world.is_mark_former && world.own.is_empty());
    let mut all: Vec<u32> = world.hubs().iter().map(|it| it.parse().unwrap()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..100));
}

/// What is on a full disk is what makes it full: it goes to a hub that was never seen, and once.
#[test]
fn a_full_disk_is_emptied_into_a_hub_that_was_never_seen() {
    let mut world = World::new(options(Order::Oldest), 7);
    world.is_up = false;
    world.live(secs(1));
    for n in 0..200 {
        world.publish("a.x", &n.to_string());
    }
    world.is_full = true;
    world.restart();
    world.live(secs(1));
    world.is_up = true;
    while world.hub.len() < 150 {
        if world.step(1) {
            let at = world.block.deadline().unwrap();
            world.pass(at.since(world.now.mono).max(Duration::from_millis(1)));
        }
    }
    // The box dies with some of it on its way.
    assert!(world.own.len() > 50, "{}", world.own.len());
    world.restart();
    world.live(secs(30));
    assert!(
        world.own.is_empty() && world.mark.is_none(),
        "{}",
        world.own.len()
    );
    let mut all: Vec<u32> = world.hubs().iter().map(|it| it.parse().unwrap()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..200));
    // There is room again: what it knows is kept as before, and counts.
    world.is_full = false;
    world.publish("a.x", "200");
    world.live(secs(10));
    assert!(world.mark.is_some() && world.hub.len() == 201);
    world.restart();
    world.live(secs(10));
    assert_eq!(world.hub.len(), 201);
}
