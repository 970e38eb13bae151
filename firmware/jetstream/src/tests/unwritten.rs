//! Streams that acknowledge before the disk has a message: reads overtake its write.

use frond_ledger::DiskFault;

use super::consuming::{consumer, pull};
use super::world::World;
use crate::Facts;

/// A stream with `kept` messages on the disk and `more` that it has not answered for. Few bodies
/// stay at hand.
fn writing(kept: usize, more: usize) -> World {
    let facts = Facts {
        body_cache_bytes: 600,
        ..Facts::default()
    };
    let mut world = World::with(facts);
    let config = r#""subjects":["s.*"],"persist_mode":"async","allow_direct":true"#;
    world.create("S", config);
    consumer(&mut world, "S", "C", "");
    for number in 1..=kept {
        world.ask("s.a", &format!("<{number}>"));
    }
    world.pass(SOON);
    world.is_prompt = false;
    for number in kept + 1..=kept + more {
        let answer = world.ask("s.a", &format!("<{number}>"));
        assert_eq!(answer, format!("{{\"stream\":\"S\",\"seq\":{number}}}"));
    }
    world
}

const SOON: std::time::Duration = std::time::Duration::from_secs(1);

/// What a direct get of all messages gives.
fn read_all(world: &mut World) -> Vec<String> {
    let before = world.sent.len();
    world.ask("$JS.API.DIRECT.GET.S", r#"{"seq":1,"batch":100}"#);
    let came = world.sent[before..].iter();
    let came = came.map(|sent| String::from_utf8_lossy(sent.message.message().payload));
    came.filter(|payload| payload.starts_with('<'))
        .map(Into::into)
        .collect()
}

fn lost(world: &World) -> usize {
    let view = world.streams.view();
    view.streams(super::world::TENANT).map(|it| it.lost).sum()
}

#[test]
fn what_is_acknowledged_is_read_wherever_it_is() {
    for (kept, more) in [(0, 30), (20, 20), (30, 1)] {
        for is_with_the_disk in [false, true] {
            let mut world = writing(kept, more);
            if is_with_the_disk {
                world.pass(SOON);
                assert!(world.queue.iter().any(|batch| batch.brings_messages()));
            }
            let all: Vec<String> = (1..=kept + more).map(|n| format!("<{n}>")).collect();
            assert_eq!(read_all(&mut world), all);
            for seq in 1..=kept + more {
                let body = format!("{{\"seq\":{seq}}}");
                let answer = world.ask("$JS.API.STREAM.MSG.GET.S", &body);
                let data = data_encoding::BASE64.encode(format!("<{seq}>").as_bytes());
                assert!(answer.contains(&data), "{answer}");
            }
            let pulled = pull(&mut world, "S.C", r#"{"batch":100}"#);
            assert_eq!(pulled.len(), all.len());
            world.pass(SOON);
            world.disk_answers(usize::MAX);
            assert_eq!(read_all(&mut world), all);
            assert_eq!(lost(&world), 0);
            assert!(!world.streams.cache.unwritten.is_holding());
        }
    }
}

#[test]
fn a_disk_that_refuses_is_not_written_to_again_until_it_has_space() {
    let mut world = writing(0, 5);
    world.pass(SOON);
    world.disk_refuses(DiskFault::Full);
    assert!(!world.streams.cache.unwritten.is_holding());
    let answer = world.ask("s.a", "x");
    assert!(answer.contains("10023"), "{answer}");
    world.input(crate::Input::DiskFree(1));
    let answer = world.ask("s.a", "x");
    assert!(answer.contains("\"seq\":6"), "{answer}");
}
