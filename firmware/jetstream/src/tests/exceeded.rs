//! The operator hears of refused messages.

use std::time::Duration;

use super::world::World;
use crate::Facts;

const LINE: &str = "JetStream file resource limits exceeded for server";

#[test]
fn the_operator_hears_that_all_storage_is_used_and_not_at_each_message() {
    let facts = Facts {
        storage_bytes_max: Some(1000),
        ..Facts::default()
    };
    let mut world = World::with(facts);
    world.create(
        "S",
        r#""subjects":["s.*"],"allow_atomic":true,"allow_batched":true"#,
    );
    let large = "x".repeat(2000);
    world.ask("s.a", "x");
    assert_eq!(world.logs, [""; 0]);
    for _ in 0..3 {
        assert!(world.ask("s.a", &large).contains("10023"));
        world.pass(Duration::from_secs(3));
    }
    assert_eq!(world.logs, [LINE]);
    world.pass(Duration::from_secs(3));
    let only_part = [
        ("Nats-Batch-Id", "B"),
        ("Nats-Batch-Sequence", "1"),
        ("Nats-Batch-Commit", "1"),
    ];
    let answer = world.ask_with("s.a", &only_part, &large);
    assert!(answer.contains("10023"), "{answer}");
    assert_eq!(world.logs, [LINE, LINE]);
}

#[test]
fn a_full_disk_is_told_by_who_found_it() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.*"]"#);
    world.is_prompt = false;
    let refused = world.send("s.a", &[], b"x");
    world.drain();
    world.disk_refuses(frond_ledger::DiskFault::Full);
    assert!(world.answer(refused).unwrap().contains("10023"));
    assert!(world.ask("s.a", "x").contains("10023"));
    assert_eq!(world.logs, ["stream S takes no messages: no space left"]);
}
