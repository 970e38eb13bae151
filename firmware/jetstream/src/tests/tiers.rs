//! Limits by the number of replicas.

use super::world::World;
use crate::{AccountLimits, Allowance};

fn tiers(names: &[&str], limits: AccountLimits) -> Allowance {
    Allowance::Tiers(names.iter().map(|name| ((*name).into(), limits)).collect())
}

#[test]
fn a_tier_that_goes_stops_messages_and_comes_back() {
    let mut world = World::new();
    world.limit(tiers(&["R1"], AccountLimits::default()));
    world.create("S", r#""subjects":["s"]"#);
    assert_eq!(world.ask("s", "x"), r#"{"stream":"S","seq":1}"#);
    world.limit(tiers(&["R3"], AccountLimits::default()));
    let refused = r#""err_code":10120,"description":"no JetStream default or applicable tiered limit present""#;
    let asks = [
        ("s", "x"),
        (
            "$JS.API.STREAM.CREATE.T",
            r#"{"name":"T","subjects":["t"]}"#,
        ),
        (
            "$JS.API.STREAM.UPDATE.S",
            r#"{"name":"S","subjects":["s","u"]}"#,
        ),
        (
            "$JS.API.CONSUMER.CREATE.S",
            r#"{"stream_name":"S","config":{"ack_policy":"none"}}"#,
        ),
    ];
    for (subject, body) in asks {
        let answer = world.ask(subject, body);
        assert!(answer.contains(refused), "{subject}: {answer}");
    }
    assert!(
        world
            .ask("$JS.API.STREAM.MSG.GET.S", r#"{"seq":1}"#)
            .contains("\"seq\":1")
    );
    world.limit(AccountLimits::default());
    assert_eq!(world.ask("s", "x"), r#"{"stream":"S","seq":2}"#);
}

#[test]
fn three_replicas_are_asked_of_their_tier_before_they_are_refused() {
    let mut world = World::new();
    let body = r#"{"name":"S","subjects":["s"],"num_replicas":3}"#;
    for (names, code) in [(&["R1"][..], 10_120), (&["R1", "R3"], 10_074)] {
        world.limit(tiers(names, AccountLimits::default()));
        let answer = world.ask("$JS.API.STREAM.CREATE.S", body);
        assert!(
            answer.contains(&format!("\"err_code\":{code}")),
            "{names:?}: {answer}"
        );
    }
}
