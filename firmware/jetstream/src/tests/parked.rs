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

/// Requests about the stream of [`written`], and what the answer holds when both of its messages count.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("$JS.API.INFO", "", r#""storage":72"#),
    ("$JS.API.STREAM.LIST", "", r#""messages":2"#),
    ("$JS.API.STREAM.INFO.S", "", r#""messages":2"#),
    ("$JS.API.STREAM.PURGE.S", "", r#""purged":2"#),
    (
        "$JS.API.STREAM.MSG.DELETE.S",
        r#"{"seq":2}"#,
        r#""success":true"#,
    ),
    ("$JS.API.STREAM.MSG.GET.S", r#"{"seq":2}"#, r#""seq":2"#),
    (
        "$JS.API.STREAM.MSG.GET.S",
        r#"{"seq":1,"next_by_subj":"a.2"}"#,
        r#""seq":2"#,
    ),
    ("$JS.API.DIRECT.GET.S", r#"{"seq":2}"#, "two"),
    ("$JS.API.DIRECT.GET.S", r#"{"multi_last":["a.2"]}"#, "two"),
    ("$JS.API.DIRECT.GET.S", r#"{"batch":1,"seq":2}"#, "two"),
    ("$JS.API.CONSUMER.INFO.S.C", "", r#""num_pending":2"#),
    ("$JS.API.CONSUMER.LIST.S", "", r#""num_pending":2"#),
    (
        "$JS.API.CONSUMER.CREATE.S.D",
        r#"{"stream_name":"S","config":{"name":"D","ack_policy":"none"}}"#,
        r#""num_pending":2"#,
    ),
    (
        "$JS.API.CONSUMER.MSG.NEXT.S.C",
        r#"{"no_wait":true}"#,
        "one",
    ),
];

/// A stream with a consumer, and two messages on their way to it.
fn written() -> World {
    let mut world = World::new();
    world.create("S", r#""subjects":["a.>"],"allow_direct":true"#);
    let config = r#"{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit"}}"#;
    world.ask("$JS.API.CONSUMER.DURABLE.CREATE.S.C", config);
    world.is_prompt = false;
    world.send("a.1", &[], b"one");
    world.send("a.2", &[], b"two");
    world.drain();
    world
}

#[test]
fn a_request_waits_for_what_was_published_before_it() {
    for (subject, body, both) in REQUESTS {
        let mut world = written();
        let asked = world.send(subject, &[], body.as_bytes());
        world.listen(&format!("_R.{asked}"));
        assert_eq!(world.answer(asked), None, "{subject} {body}");
        world.is_prompt = true;
        world.drain();
        let answer = world.answer(asked).expect("an answer");
        assert!(answer.contains(both), "{subject} {body}: {answer}");
    }
}

#[test]
fn a_request_waits_for_nothing_that_comes_after_it() {
    let mut world = written();
    let asked = world.send("$JS.API.STREAM.INFO.S", &[], b"");
    world.drain();
    world.send("a.3", &[], b"three");
    world.drain();
    world.disk_answers(1);
    let answer = world
        .answer(asked)
        .expect("an answer before the third is kept");
    assert!(answer.contains(r#""messages":2"#), "{answer}");
}

#[test]
fn requests_that_wait_keep_their_order() {
    let mut world = written();
    let purge = world.send("$JS.API.STREAM.PURGE.S", &[], b"");
    let info = world.send("$JS.API.STREAM.INFO.S", &[], b"");
    let delete = world.send("$JS.API.STREAM.DELETE.S", &[], b"");
    world.is_prompt = true;
    world.drain();
    assert!(
        world
            .answer(purge)
            .is_some_and(|it| it.contains(r#""purged":2"#))
    );
    assert!(
        world
            .answer(info)
            .is_some_and(|it| it.contains(r#""messages":0"#))
    );
    assert!(
        world
            .answer(delete)
            .is_some_and(|it| it.contains(r#""success":true"#))
    );
}

#[test]
fn a_request_is_answered_when_what_it_waits_for_is_refused() {
    let mut world = written();
    let info = world.send("$JS.API.STREAM.INFO.S", &[], b"");
    let pull = world.send("$JS.API.CONSUMER.MSG.NEXT.S.C", &[], br#"{"no_wait":true}"#);
    world.drain();
    world.disk_refuses(DiskFault::Full);
    world.drain();
    assert!(
        world
            .answer(info)
            .is_some_and(|it| it.contains(r#""messages":0"#))
    );
    assert_eq!(world.answer(pull).as_deref(), Some("404"));
}
