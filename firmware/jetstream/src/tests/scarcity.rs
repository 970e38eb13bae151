//! What is known of messages in memory has a ceiling.

use super::world::World;
use crate::Facts;

const REFUSED: &str = r#""err_code":10023,"description":"insufficient resources""#;
const MAX: u64 = 100_000;

fn full() -> (World, u64) {
    let mut world = World::with(Facts {
        index_bytes_max: Some(MAX),
        ..Facts::default()
    });
    world.create("S", r#""subjects":["s.*"]"#);
    world.create("T", r#""subjects":["t.*"]"#);
    assert!(!world.ask("t.known", "x").contains("error"));
    let mut taken = 0;
    while !world.ask(&format!("s.{taken}"), "x").contains(REFUSED) {
        taken += 1;
        assert!(taken < 100_000, "it has no end");
    }
    (world, taken)
}

#[test]
fn new_subjects_are_refused_at_the_ceiling_and_known_ones_go_on() {
    let (mut world, taken) = full();
    assert!(world.streams.index_bytes() >= MAX);
    assert!(world.streams.index_bytes() < MAX + MAX / 100);
    assert!(taken > MAX / 150, "{taken} subjects fill it");
    let line = "JetStream limit of memory for what is known of messages exceeded";
    assert_eq!(world.logs, [line]);
    assert!(world.ask("t.new", "x").contains(REFUSED));
    assert!(!world.ask("t.known", "x").contains("error"));
    assert!(!world.ask("s.0", "x").contains("error"));
    let answer = world.ask("$JS.API.STREAM.MSG.GET.S", r#"{"last_by_subj":"s.1"}"#);
    assert!(answer.contains("s.1"), "{answer}");
}

#[test]
fn far_beyond_it_nothing_is_taken_until_something_left() {
    let (mut world, _) = full();
    let mut more = 0;
    while !world.ask("t.known", "x").contains(REFUSED) {
        more += 1;
        assert!(more < 100_000, "it has no end");
    }
    assert!(world.streams.index_bytes() < MAX + MAX / 7);
    assert!(more > MAX / 8 / 33, "{more} messages of one subject");
    assert!(
        world
            .ask("$JS.API.STREAM.PURGE.S", "")
            .contains("\"success\":true")
    );
    assert!(!world.ask("t.new", "x").contains("error"));
    assert!(
        world
            .ask("$JS.API.STREAM.DELETE.T", "")
            .contains("\"success\":true")
    );
    assert!(
        world
            .ask("$JS.API.STREAM.DELETE.S", "")
            .contains("\"success\":true")
    );
    assert_eq!(world.streams.index_bytes(), 0);
}

#[test]
fn a_start_counts_what_the_disk_has() {
    let (mut world, _) = full();
    let before = world.streams.index_bytes();
    world.restart();
    let after = world.streams.index_bytes();
    assert!(after.abs_diff(before) < before / 10, "{before} {after}");
    assert!(world.ask("t.new", "x").contains(REFUSED));
}

/// Who wants no message still has its id remembered.
#[test]
fn ids_of_messages_that_nobody_wants_have_the_ceiling_too() {
    let (mut world, _) = full();
    world.create("I", r#""subjects":["i"],"retention":"interest""#);
    let mut more = 0;
    while !world
        .ask_with("i", &[("Nats-Msg-Id", &format!("id {more}"))], "x")
        .contains(REFUSED)
    {
        more += 1;
        assert!(more < 100_000, "it has no end");
    }
    assert!(world.streams.index_bytes() < MAX + MAX / 7);
}
