mod faults;
mod line;
mod world;

use std::collections::BTreeSet;
use std::time::Duration;

use frond_config::{Budget, OnFull, Order, Period};

use crate::status::State;
use world::{World, options};

const LONG: Duration = Duration::from_secs(600);

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A world in which all was said and the line has just come back after ten messages.
fn after_a_cut(order: Order) -> World {
    let mut world = World::new(options(order), 1);
    world.live(secs(1));
    world.is_up = false;
    for n in 0..10 {
        let subject = ["a.x", "a.y", "a.top"][n % 3];
        world.publish(subject, &n.to_string());
    }
    world.live(secs(5));
    assert!(world.hub.is_empty());
    assert_eq!(world.block.status().state, State::HubAway);
    world.is_up = true;
    world
}

#[test]
fn what_came_while_the_line_was_down_goes_in_the_order_wanted() {
    let cases = [
        (
            Order::Oldest,
            vec!["2", "5", "8", "0", "1", "3", "4", "6", "7", "9"],
        ),
        (
            Order::Newest,
            vec!["8", "5", "2", "9", "7", "6", "4", "3", "1", "0"],
        ),
        (Order::Latest, vec!["8", "7", "9"]),
    ];
    for (order, want) in cases {
        let mut world = after_a_cut(order);
        world.live(secs(5));
        assert_eq!(world.hubs(), want, "{order:?}");
        assert!(world.own.is_empty());
        let status = world.block.status();
        assert_eq!((status.state, status.backlog_messages), (State::Settled, 0));
        assert_eq!(status.arrived_messages, want.len() as u64);
    }
}

#[test]
fn what_comes_now_goes_before_what_waited() {
    let mut world = after_a_cut(Order::Oldest);
    // More than one read, so that there is a backlog left.
    world.is_up = false;
    for n in 10..200 {
        world.publish("a.x", &n.to_string());
    }
    world.live(secs(1));
    world.is_up = true;
    while world.hub.len() < 20 {
        let is_all = world.step(1);
        if is_all {
            world.pass(Duration::from_millis(100));
        }
    }
    world.publish("a.x", "now");
    world.live(secs(60));
    let hubs = world.hubs();
    assert_eq!(hubs.len(), 201);
    let at = hubs.iter().position(|it| it == "now").unwrap();
    assert!(at < 150, "{at}");
}

#[test]
fn in_strict_order_nothing_overtakes() {
    let mut strict = options(Order::Oldest);
    strict.live_first = false;
    strict.priority.clear();
    let mut world = World::new(strict, 3);
    world.is_up = false;
    for n in 0..300 {
        world.publish("a.x", &n.to_string());
    }
    world.live(secs(2));
    world.is_up = true;
    for n in 300..400 {
        world.publish("a.x", &n.to_string());
        world.step(40);
        world.pass(Duration::from_millis(30));
    }
    world.live(secs(60));
    let want: Vec<String> = (0..400).map(|n| n.to_string()).collect();
    assert_eq!(world.hubs(), want);
}

#[test]
fn whatever_is_cut_or_killed_everything_arrives_once() {
    for seed in 0..100 {
        let order = [Order::Oldest, Order::Newest][usize::try_from(seed % 2).unwrap()];
        let mut world = World::new(options(order), seed);
        let mut said = 0_u32;
        for _ in 0..60 {
            match world.rng.below(8) {
                0 => world.is_up = !world.is_up,
                1 => world.restart(),
                2 => world.loss = [0, 0, 10, 60][world.rng.below(4) as usize],
                3 => {
                    let time = world.rng.below(15_000);
                    world.pass(Duration::from_millis(time));
                }
                _ => {
                    for _ in 0..world.rng.below(30) {
                        let subject = ["a.x", "a.top"][world.rng.below(2) as usize];
                        world.publish(subject, &said.to_string());
                        said += 1;
                    }
                }
            }
            let steps = world.rng.below(120) as usize;
            world.step(steps);
        }
        world.is_up = true;
        world.loss = 0;
        world.live(LONG);
        let hubs = world.hubs();
        let once: BTreeSet<&String> = hubs.iter().collect();
        assert_eq!(once.len(), hubs.len(), "seed {seed}: twice");
        assert_eq!(
            hubs.len(),
            said as usize,
            "seed {seed}: {:?}",
            world.block.status()
        );
        assert!(world.own.is_empty(), "seed {seed}");
        let status = world.block.status();
        assert_eq!(status.left_out, 0, "seed {seed}");
    }
}

#[test]
fn a_budget_stops_the_line_until_its_time_is_over() {
    let mut metered = options(Order::Oldest);
    metered.budget = Some(Budget {
        bytes: 4_000,
        period: Period::Day,
    });
    let mut world = World::new(metered, 5);
    for n in 0..100 {
        world.publish("a.x", &n.to_string());
    }
    world.live(secs(60));
    let status = world.block.status();
    let first = world.hub.len();
    assert_eq!(status.state, State::BudgetSpent);
    assert!(first > 5 && first < 30, "{first}");
    assert!(status.budget_used <= 4_000, "{status:?}");
    // A restart does not open the purse.
    world.restart();
    world.live(secs(60));
    assert!(world.hub.len() <= first + 1, "{} {first}", world.hub.len());
    world.pass(secs(19 * 3_600));
    world.live(secs(60));
    assert!(world.hub.len() > first + 5, "{} {first}", world.hub.len());
}

#[test]
fn the_least_important_is_dropped_first() {
    let mut small = options(Order::Oldest);
    small.on_full = OnFull::DropClass;
    small.max_bytes = 10_000;
    let mut world = World::new(small, 7);
    world.live(secs(1));
    world.is_up = false;
    for n in 0..300 {
        let subject = if n % 10 == 0 { "a.top" } else { "a.x" };
        world.publish(subject, &format!("{n:040}"));
        world.live(Duration::from_millis(100));
    }
    // There is room again before the line is.
    let kept: usize = world
        .own
        .values()
        .map(|it| it.0.len() + it.2.len() + 40)
        .sum();
    assert!(kept < 11_000, "{kept}");
    assert_eq!(world.block.status().state, State::HubAway);
    world.is_up = true;
    world.live(secs(60));
    let tops = world
        .hub
        .values()
        .filter(|(subject, _, _)| subject == "a.top")
        .count();
    assert_eq!(tops, 30);
    let status = world.block.status();
    let dropped: Vec<u64> = status.dropped.iter().map(|it| it.messages).collect();
    assert_eq!(dropped.first(), Some(&0));
    assert_eq!(dropped.get(1).copied(), Some(300 - world.hub.len() as u64));
    assert_eq!(status.left_out, 300 - world.hub.len() as u64);
    // The newest of what is left, not the oldest.
    assert!(world.hubs().contains(&format!("{:040}", 299)));
}

#[test]
fn what_the_hub_will_not_have_does_not_stop_the_rest() {
    let mut world = World::new(options(Order::Oldest), 9);
    world.publish("a.x", "huge");
    world.live(secs(1));
    assert_eq!(world.hubs(), ["huge"]);
    world.hub_refuses = Some(10_054);
    world.publish("a.x", "too large");
    world.live(secs(2));
    world.hub_refuses = None;
    world.publish("a.x", "small");
    world.live(secs(60));
    assert_eq!(world.hubs(), ["huge", "small"]);
    let status = world.block.status();
    assert_eq!((status.refused, status.backlog_messages), (1, 1));
    // No room is another matter: it waits.
    world.hub_refuses = Some(10_077);
    world.publish("a.x", "later");
    world.live(secs(60));
    assert_eq!(world.block.status().state, State::HubFull);
    world.hub_refuses = None;
    world.live(secs(60));
    assert_eq!(world.hubs(), ["huge", "small", "later"]);
}

#[test]
fn a_hub_that_lost_its_stream_gets_a_new_one() {
    let mut world = after_a_cut(Order::Oldest);
    world.live(secs(5));
    world.hub_exists = false;
    world.hub.clear();
    world.hub_last = 0;
    world.publish("a.x", "after");
    world.live(secs(60));
    assert_eq!(world.hubs(), ["after"]);
}
