//! What streams and consumers say nothing to.

use super::world::World;
use crate::Facts;

#[test]
fn no_stream_speaks_where_it_is_closed_to_streams() {
    let mut world = World::with(Facts {
        closed: vec!["$RUN.>".into(), "$KV.KEYS.>".into()],
        unkept: vec!["$RUN.*".into()],
        ..Facts::default()
    });
    let republish = |world: &mut World, src: &str, dest: &str| {
        let body = format!(
            r#"{{"name":"S","subjects":["s.>"],"republish":{{"src":"{src}","dest":"{dest}"}}}}"#
        );
        world.ask("$JS.API.STREAM.CREATE.S", &body)
    };
    for (src, dest) in [
        ("s.>", "$RUN.>"),
        ("s.>", "$KV.KEYS.>"),
        ("s.*", "$KV.{{wildcard(1)}}.a"),
        ("s.*", "{{wildcard(1)}}.x"),
    ] {
        let answer = republish(&mut world, src, dest);
        assert!(
            answer.contains("10052") && answer.contains("closed"),
            "{dest}: {answer}"
        );
    }
    for (subject, is_kept) in [
        ("$RUN.>", false),
        ("$RUN.abort", false),
        ("$RUN.TOLD.>", true),
    ] {
        let body = format!(r#"{{"name":"R","subjects":["{subject}"]}}"#);
        let answer = world.ask("$JS.API.STREAM.CREATE.R", &body);
        assert_eq!(answer.contains("did_create"), is_kept, "{answer}");
    }
    let answer = republish(&mut world, "s.>", "again.>");
    assert!(answer.contains("did_create"), "{answer}");
    let consumer = |world: &mut World, to: &str| {
        let body = format!(
            r#"{{"stream_name":"S","config":{{"durable_name":"C","deliver_subject":"{to}"}}}}"#
        );
        world.ask("$JS.API.CONSUMER.CREATE.S.C", &body)
    };
    let answer = consumer(&mut world, "$RUN.abort");
    assert!(answer.contains("10112"), "{answer}");
    let answer = world.ask(
        "$JS.API.STREAM.SNAPSHOT.S",
        r#"{"deliver_subject":"$KV.KEYS.a"}"#,
    );
    assert!(answer.contains("10015"), "{answer}");
    let answer = consumer(&mut world, "run.abort");
    assert!(!answer.contains("error"), "{answer}");
}
