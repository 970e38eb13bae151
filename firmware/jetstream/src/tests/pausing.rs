use std::time::Duration;

use super::world::World;

const ADVISORY: &str = "$JS.EVENT.ADVISORY.CONSUMER.PAUSE.S.C";

fn told(world: &mut World) -> Vec<bool> {
    let all = std::mem::take(&mut world.sent);
    let of_pause = all.iter().filter(|sent| sent.to == ADVISORY);
    let texts = of_pause.map(|sent| sent.message.message().payload);
    texts
        .map(|text| String::from_utf8_lossy(text).contains(r#""paused":true"#))
        .collect()
}

fn paused() -> World {
    let mut world = World::new();
    world.listen(ADVISORY);
    world.listen("d");
    world.create("S", r#""subjects":["s"]"#);
    let config = r#"{"stream_name":"S","config":{"durable_name":"C","deliver_subject":"d"}}"#;
    world.ask("$JS.API.CONSUMER.CREATE.S.C", config);
    let answer = world.ask(
        "$JS.API.CONSUMER.PAUSE.S.C",
        r#"{"pause_until":"2026-11-29T12:00:10Z"}"#,
    );
    let expected = r#"{"type":"io.nats.jetstream.api.v1.consumer_pause_response","paused":true,"pause_until":"2026-11-29T12:00:10Z","pause_remaining":10000000000}"#;
    assert_eq!(answer, expected);
    assert_eq!(told(&mut world), [true]);
    world
}

#[test]
fn a_rest_survives_a_restart_and_ends_by_itself() {
    let mut world = paused();
    world.restart();
    world.ask("s", "x");
    world.pass(Duration::from_secs(9));
    let info = world.ask("$JS.API.CONSUMER.INFO.S.C", "");
    assert!(
        info.contains(r#""paused":true,"pause_remaining":1000000000"#)
            && info.contains(r#""_nats.req.level":"1""#),
        "{info}"
    );
    assert!(!world.sent.iter().any(|sent| sent.to == "d"));
    world.pass(Duration::from_secs(1));
    assert!(world.sent.iter().any(|sent| sent.to == "d"));
    assert_eq!(told(&mut world), [false]);
    let info = world.ask("$JS.API.CONSUMER.INFO.S.C", "");
    assert!(!info.contains("paused"), "{info}");
}

#[test]
fn a_rest_is_told_when_it_changes_and_when_its_consumer_is_asked_for() {
    let mut world = paused();
    let pause = |world: &mut World, until: &str| {
        let body = format!(r#"{{"pause_until":"{until}"}}"#);
        world.ask("$JS.API.CONSUMER.PAUSE.S.C", &body);
        told(world)
    };
    assert!(pause(&mut world, "2026-11-29T12:00:10Z").is_empty());
    assert_eq!(pause(&mut world, "2026-11-29T12:00:20Z"), [true]);
    for more in ["", r#","description":"x""#] {
        let config = format!(
            r#"{{"stream_name":"S","config":{{"durable_name":"C","deliver_subject":"d"{more}}}}}"#
        );
        world.ask("$JS.API.CONSUMER.CREATE.S.C", &config);
        assert_eq!(told(&mut world), [true], "{more}");
    }
    assert_eq!(pause(&mut world, "2020-01-01T00:00:00Z"), [false]);
    assert_eq!(pause(&mut world, "2020-01-02T00:00:00Z"), [false]);
    let config = r#"{"stream_name":"S","config":{"durable_name":"C","deliver_subject":"d"}}"#;
    world.ask("$JS.API.CONSUMER.CREATE.S.C", config);
    assert!(told(&mut world).is_empty(), "it does not rest");
}

#[test]
fn a_rest_ends_when_it_is_asked_to() {
    let mut world = paused();
    world.ask("s", "x");
    world.pass(Duration::from_secs(1));
    assert!(!world.sent.iter().any(|sent| sent.to == "d"));
    let answer = world.ask("$JS.API.CONSUMER.PAUSE.S.C", "");
    assert!(
        answer.contains(r#""paused":false,"pause_until":"0001-01-01T00:00:00Z"}"#),
        "{answer}"
    );
    assert!(world.sent.iter().any(|sent| sent.to == "d"));
    assert_eq!(told(&mut world), [false]);
    let refused = world.ask("$JS.API.CONSUMER.PAUSE.S.C", r#"{"pause_until":1}"#);
    assert!(refused.contains("10025"), "{refused}");
    let refused = world.ask("$JS.API.CONSUMER.PAUSE.S.D", "");
    assert!(refused.contains("10014"), "{refused}");
}
