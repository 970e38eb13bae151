//! A clock that was far ahead once, and is right again.

use std::time::Duration;

use frond_clock::{Ages, Trust};

use super::world::World;

const YEARS: Duration = Duration::from_secs(70 * 365 * 86_400);

fn told(world: &mut World, seq: u64) -> String {
    let body = format!(r#"{{"seq":{seq}}}"#);
    world.ask("$JS.API.STREAM.MSG.GET.S", &body)
}

fn holds(world: &mut World, count: u64) {
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(info.contains(&format!(r#""messages":{count},"#)), "{info}");
}

/// One message of a time that is far off, after one of now.
fn world() -> World {
    let mut world = World::new();
    let config = r#""subjects":["s"],"max_age":30000000000,"duplicate_window":10000000000,"allow_msg_ttl":true"#;
    world.create("S", config);
    world.ask("s", "before");
    let right = world.now.wall;
    world.now.wall = right + YEARS;
    world.ask_with("s", &[("Nats-Msg-Id", "1"), ("Nats-TTL", "15s")], "ahead");
    world.now.wall = right;
    world
}

#[test]
fn messages_have_the_right_time_again() {
    for restarts in [false, true] {
        let mut world = world();
        if restarts {
            world.restart();
        }
        assert!(told(&mut world, 2).contains(r#""time":"2096"#));
        world.ask("s", "after");
        let message = told(&mut world, 3);
        assert!(message.contains(r#""time":"2026-11-29"#), "{message}");
    }
}

#[test]
fn what_came_while_it_was_ahead_gets_old_with_what_came_after() {
    for restarts in [false, true] {
        let mut world = world();
        world.ask("s", "after");
        if restarts {
            world.restart();
        }
        world.pass(Duration::from_secs(14));
        holds(&mut world, 3);
        world.pass(Duration::from_secs(2));
        holds(&mut world, 2);
        world.pass(Duration::from_secs(15));
        holds(&mut world, 0);
    }
}

#[test]
fn an_id_is_free_after_its_window() {
    for restarts in [false, true] {
        let mut world = world();
        if restarts {
            world.restart();
        }
        let again = |world: &mut World| world.ask_with("s", &[("Nats-Msg-Id", "1")], "again");
        assert!(again(&mut world).contains("duplicate"));
        world.pass(Duration::from_secs(11));
        assert!(!again(&mut world).contains("duplicate"));
    }
}

#[test]
fn times_do_not_go_back_while_the_clock_is_not_believed() {
    let mut world = world();
    let untrusted = Ages {
        trust: Trust::Untrusted,
        gaps: Vec::new(),
    };
    world.judge_ages(untrusted, Duration::ZERO);
    world.ask("s", "after");
    let message = told(&mut world, 3);
    assert!(message.contains(r#""time":"2096"#), "{message}");
}
