use super::*;
use crate::consumer::config::PriorityPolicy;

fn grouped(policy: PriorityPolicy) -> ConsumerConfig {
    ConsumerConfig {
        priority_policy: policy,
        priority_groups: vec!["g".into()],
        ..explicit()
    }
}

fn world(policy: PriorityPolicy) -> World {
    let mut world = World::new(grouped(policy), &[]);
    world.take();
    world
}

/// The words of a request of this group.
fn ask(more: &str) -> String {
    format!(r#"{{"group":"g","batch":2,"expires":60000000000{more}}}"#)
}

/// Who got what, and the pin it came with.
fn deliveries(world: &mut World) -> Vec<(String, String, String)> {
    let seen = world.take().into_iter();
    seen.filter(|seen| seen.reply.starts_with("$JS.ACK"))
        .map(|seen| (seen.to, seen.payload, pin_in(&seen.header)))
        .collect()
}

fn pin_in(header: &str) -> String {
    let pin = header.split("Nats-Pin-Id: ").nth(1).unwrap_or_default();
    pin.trim_end().to_owned()
}

#[test]
fn a_pin_holds_until_nobody_repeats_it() {
    let mut world = world(PriorityPolicy::PinnedClient);
    world.pull("a", &ask(""));
    world.pull("b", &ask(""));
    world.publish("a.1", "one");
    let (to, _, pin) = deliveries(&mut world).remove(0);
    assert_eq!((to.as_str(), pin.len()), ("a", 22));
    world.publish("a.1", "two");
    assert_eq!(
        deliveries(&mut world),
        [("a".into(), "two".into(), pin.clone())]
    );
    world.publish("a.1", "three");
    assert_eq!(deliveries(&mut world), [], "the other stands by");

    world.pull("a2", &ask(&format!(r#","id":"{pin}""#)));
    assert_eq!(
        deliveries(&mut world),
        [("a2".into(), "three".into(), pin.clone())]
    );
    world.pull("c", &ask(r#","id":"another""#));
    assert_eq!(world.came(), ["<423 Nats-Pin-Id mismatch>"]);

    // The last word of the pinned client counts, not its last message.
    world.pass(seconds(59));
    world.publish("a.1", "four");
    assert_eq!(deliveries(&mut world)[0].0, "a2");
    world.pull("b", &ask(r#","expires":600000000000"#));
    world.pass(seconds(61));
    world.publish("a.1", "five");
    let (to, _, second) = deliveries(&mut world).remove(0);
    assert_eq!(to, "b");
    assert_ne!(second, pin);
}

#[test]
fn what_is_told_of_pins() {
    let mut world = world(PriorityPolicy::PinnedClient);
    world.pull("a", &ask(""));
    world.publish("a.1", "one");
    let seen = world.take();
    assert_eq!(seen[0].to, "$JS.EVENT.ADVISORY.CONSUMER.PINNED.S.C");
    assert!(
        seen[0]
            .payload
            .contains(&format!(r#""pinned_id":"{}""#, pin_in(&seen[1].header)))
    );
    world.pass(seconds(121));
    let told = world.take();
    let told = told
        .iter()
        .find(|seen| seen.to.contains("UNPINNED"))
        .unwrap();
    assert!(told.payload.contains(r#""reason":"timeout""#));
}

#[test]
fn an_operator_gives_another_its_turn() {
    let mut world = world(PriorityPolicy::PinnedClient);
    world.pull("a", &ask(""));
    world.publish("a.1", "one");
    let pin = deliveries(&mut world).remove(0).2;
    world.pull("b", &ask(""));
    let (now, everybody) = (world.now, |_: &str| true);
    world.consumer.unpin(now, "g", &everybody);
    world.time();
    assert!(world.take()[0].payload.contains(r#""reason":"admin""#));
    world.publish("a.1", "two");
    let came = world.take();
    assert_eq!(came[0].to, "a");
    assert!(came[0].header.starts_with("NATS/1.0 423 Nats-Wrong-Pin-Id"));
    assert_eq!(came[2].to, "b");
    assert_ne!(pin_in(&came[2].header), pin);
}

#[test]
fn a_client_that_is_gone_is_not_pinned() {
    let mut world = world(PriorityPolicy::PinnedClient);
    world.pull("a", &ask(""));
    world.pull("b", &ask(""));
    world.deaf.insert("a".into());
    world.publish("a.1", "one");
    let told: Vec<String> = world.seen.iter().map(|seen| seen.to.clone()).collect();
    assert_eq!(told, ["$JS.EVENT.ADVISORY.CONSUMER.PINNED.S.C", "b"]);
}

#[test]
fn a_request_without_a_group_is_served_and_not_pinned() {
    let mut world = world(PriorityPolicy::PinnedClient);
    world.pull("a", "");
    world.publish("a.1", "one");
    assert_eq!(
        deliveries(&mut world),
        [("a".into(), "one".into(), String::new())]
    );
    assert!(world.consumer.pin.is_none());
}

#[test]
fn others_help_when_there_is_much_to_do() {
    let mut world = world(PriorityPolicy::Overflow);
    world.pull("helper", &ask(r#","min_pending":3"#));
    for payload in ["one", "two"] {
        world.publish("a.1", payload);
    }
    assert_eq!(deliveries(&mut world), []);
    world.publish("a.1", "three");
    let came = deliveries(&mut world);
    assert_eq!(came, [("helper".into(), "one".into(), String::new())]);
    world.pull("own", &ask(""));
    assert_eq!(
        deliveries(&mut world).len(),
        2,
        "the other is served without a bound"
    );
    world.publish("a.1", "four");
    assert_eq!(deliveries(&mut world), []);
    world.pull("second", &ask(r#","min_ack_pending":3"#));
    assert_eq!(deliveries(&mut world)[0].0, "second");
}

#[test]
fn a_request_that_does_not_wait_ends_when_it_is_not_its_turn() {
    let mut world = world(PriorityPolicy::Overflow);
    world.publish("a.1", "one");
    world.pull(
        "r",
        r#"{"group":"g","batch":1,"no_wait":true,"min_pending":5}"#,
    );
    assert_eq!(world.came(), ["<404 No Messages>"]);
}

#[test]
fn the_lowest_number_goes_first() {
    let mut world = world(PriorityPolicy::Prioritized);
    for (reply, number) in [("late", 5), ("x", 1), ("y", 1), ("z", 0)] {
        world.pull(reply, &ask(&format!(r#","priority":{number}"#)));
    }
    world.pull("nobody", "");
    for n in 0..9 {
        world.publish("a.1", &n.to_string());
    }
    let to: Vec<String> = deliveries(&mut world).into_iter().map(|d| d.0).collect();
    assert_eq!(to, ["z", "z", "x", "y", "x", "y", "late", "late", "nobody"]);
}

#[test]
fn requests_of_one_read_stand_in_order_before_one_is_served() {
    let mut world = World::new(
        grouped(PriorityPolicy::Prioritized),
        &[("a.1", "one"), ("a.1", "two")],
    );
    world.pull("late", &ask(r#","priority":1"#));
    world.pull("soon", &ask(r#","priority":0"#));
    world.time();
    let to: Vec<String> = deliveries(&mut world).into_iter().map(|d| d.0).collect();
    assert_eq!(to, ["soon", "soon"]);
}

#[test]
fn what_a_group_refuses() {
    for (policy, body, text) in [
        (
            PriorityPolicy::Overflow,
            r#"{"batch":1}"#,
            "<400 Bad Request - Priority Group missing>",
        ),
        (
            PriorityPolicy::Overflow,
            r#"{"batch":1,"group":"h"}"#,
            "<400 Bad Request - Invalid Priority Group>",
        ),
        (
            PriorityPolicy::Prioritized,
            r#"{"batch":1,"group":"g","priority":-1}"#,
            "<400 Bad Request - Priority must be between 0 and 9>",
        ),
        (
            PriorityPolicy::PinnedClient,
            r#"{"batch":1,"group":"g","min_pending":1}"#,
            "<400 Bad Request - Not a Overflow Priority consumer>",
        ),
        (
            PriorityPolicy::Overflow,
            r#"{"batch":1,"group":"g","id":"x"}"#,
            "<400 Bad Request - Not a Pinned Client Priority consumer>",
        ),
    ] {
        let mut world = world(policy);
        world.pull("r", body);
        assert_eq!(world.came(), [text], "{body}");
    }
}
