use std::time::Duration;

use frond_ledger::DiskFault;

use super::world::World;
use crate::Facts;

const EVENTS: &str = "$JS.EVENT.ADVISORY.";

/// What was told since the last look: subject and action.
fn told(world: &mut World) -> Vec<String> {
    let sent = std::mem::take(&mut world.sent);
    let events = sent.iter().filter(|sent| sent.to.starts_with(EVENTS));
    events
        .map(|event| {
            let text = String::from_utf8_lossy(event.message.message().payload).into_owned();
            let body: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(body["stream"], "S", "{text}");
            assert_eq!(body["domain"], "shop", "{text}");
            let kind = body["type"].as_str().unwrap();
            let kind = kind.trim_start_matches("io.nats.jetstream.advisory.v1.");
            format!("{kind} {} {}", body["consumer"], body["action"])
        })
        .collect()
}

fn world() -> World {
    let mut world = World::with(Facts {
        domain: Some("shop".into()),
        ..Facts::default()
    });
    for what in [
        "STREAM.CREATED.S",
        "STREAM.UPDATED.S",
        "STREAM.DELETED.S",
        "CONSUMER.CREATED.S.C",
        "CONSUMER.DELETED.S.C",
    ] {
        world.listen(&format!("{EVENTS}{what}"));
    }
    world
}

#[test]
fn what_is_done_to_streams_and_consumers_is_told() {
    let mut world = world();
    world.create("S", r#""subjects":["s"]"#);
    assert_eq!(told(&mut world), [r#"stream_action null "create""#]);
    let change = r#"{"name":"S","subjects":["s","t"]}"#;
    world.ask("$JS.API.STREAM.UPDATE.S", change);
    assert_eq!(told(&mut world), [r#"stream_action null "modify""#]);
    for extra in ["", r#","durable_name":"C""#] {
        let body = format!(
            r#"{{"stream_name":"S","config":{{"name":"C","ack_policy":"none","inactive_threshold":1000000000{extra}}}}}"#
        );
        world.ask("$JS.API.CONSUMER.CREATE.S.C", &body);
        world.ask("$JS.API.CONSUMER.CREATE.S.C", &body);
        assert_eq!(told(&mut world), [r#"consumer_action "C" "create""#]);
        world.pass(Duration::from_secs(3));
        assert_eq!(told(&mut world), [r#"consumer_action "C" "delete""#]);
    }
    world.ask("$JS.API.STREAM.DELETE.S", "");
    assert_eq!(told(&mut world), [r#"stream_action null "delete""#]);
}

#[test]
fn consumers_that_go_with_their_stream_are_told_of() {
    for storage in ["file", "memory"] {
        let mut world = world();
        let config = format!(r#""subjects":["s"],"storage":"{storage}""#);
        world.create("S", &config);
        let body = r#"{"stream_name":"S","config":{"durable_name":"C","ack_policy":"none"}}"#;
        world.ask("$JS.API.CONSUMER.CREATE.S.C", body);
        told(&mut world);
        world.ask("$JS.API.STREAM.DELETE.S", "");
        let all = [
            r#"consumer_action "C" "delete""#,
            r#"stream_action null "delete""#,
        ];
        assert_eq!(told(&mut world), all);
    }
}

#[test]
fn what_the_disk_refuses_is_not_told() {
    let mut world = world();
    world.is_prompt = false;
    world.send("$JS.API.STREAM.CREATE.S", &[], br#"{"name":"S"}"#);
    world.drain();
    assert!(told(&mut world).is_empty(), "it is not kept yet");
    world.disk_refuses(DiskFault::Full);
    assert!(told(&mut world).is_empty());
}
