use frond_ledger::DiskFault;

use super::world::World;

/// Reads of "a.1": by the API, direct by subject, direct by body.
const READS: &[(&str, &str)] = &[
    ("$JS.API.STREAM.MSG.GET.S", r#"{"last_by_subj":"a.1"}"#),
    ("$JS.API.DIRECT.GET.S.a.1", ""),
    ("$JS.API.DIRECT.GET.S", r#"{"last_by_subj":"a.1"}"#),
];

/// A stream with one message of "a.1", and a second one on its way.
fn writing() -> World {
    let mut world = World::new();
    world.create("S", r#""subjects":["a.>"],"allow_direct":true"#);
    world.ask("a.1", "old");
    world.is_prompt = false;
    world.send("a.1", &[], b"new");
    world.drain();
    world
}

fn is_of(answer: Option<String>, payload: &str, base64: &str) -> bool {
    answer.is_some_and(|answer| answer == payload || answer.contains(base64))
}

#[test]
fn a_read_waits_for_what_is_being_written() {
    for (subject, body) in READS {
        let mut world = writing();
        let read = world.send(subject, &[], body.as_bytes());
        let other = world.send("$JS.API.DIRECT.GET.S.a.2", &[], b"");
        world.drain();
        assert_eq!(world.answer(read), None, "{subject}");
        assert_eq!(world.answer(other).as_deref(), Some("404"), "others go on");
        // What comes later is not waited for.
        world.send("a.1", &[], b"later");
        world.drain();
        world.disk_answers(1);
        assert!(is_of(world.answer(read), "new", "bmV3"), "{subject}");
    }
}

#[test]
fn a_read_of_what_is_refused_tells_what_is_kept() {
    for (subject, body) in READS {
        let mut world = writing();
        let read = world.send(subject, &[], body.as_bytes());
        world.drain();
        world.disk_refuses(DiskFault::Full);
        assert!(is_of(world.answer(read), "old", "b2xk"), "{subject}");
    }
}
