//! What a work queue holds for somebody stays until that one is done with it.

use super::consuming::{consumer, pull};
use super::world::World;

/// Five messages on each of two subjects, in turn.
fn queue() -> World {
    let mut world = World::new();
    world.create("W", r#""subjects":["s.*"],"retention":"workqueue""#);
    for n in 0..5 {
        world.ask("s.b", &n.to_string());
        world.ask("s.a", &n.to_string());
    }
    world
}

fn holds(world: &mut World, count: u64) {
    let info = world.ask("$JS.API.STREAM.INFO.W", "");
    assert!(info.contains(&format!(r#""messages":{count},"#)), "{info}");
}

/// Pulls and acknowledges what comes, at most so many; how many that were.
fn work(world: &mut World, name: &str, batch: usize) -> usize {
    let body = format!(r#"{{"batch":{batch},"no_wait":true}}"#);
    let got = pull(world, &format!("W.{name}"), &body);
    let replies = got.iter().filter_map(|sent| sent.message.reply());
    let replies: Vec<String> = replies.map(str::to_owned).collect();
    for reply in &replies {
        world.ask(reply, "+ACK");
    }
    replies.len()
}

#[test]
fn what_a_filter_passed_over_waits_for_a_wider_one() {
    let mut world = queue();
    consumer(&mut world, "W", "C", r#","filter_subjects":["s.a"]"#);
    assert_eq!(work(&mut world, "C", 10), 5);
    consumer(&mut world, "W", "C", r#","filter_subjects":["s.a","s.b"]"#);
    holds(&mut world, 5);
    world.restart();
    holds(&mut world, 5);
    assert!(
        world
            .ask("$JS.API.CONSUMER.DELETE.W.C", "")
            .contains("success")
    );
    consumer(&mut world, "W", "D", "");
    assert_eq!(work(&mut world, "D", 10), 5);
    holds(&mut world, 0);
}

#[test]
fn what_lies_before_a_reset_stays() {
    let mut world = queue();
    consumer(&mut world, "W", "C", "");
    let answer = world.ask("$JS.API.CONSUMER.RESET.W.C", r#"{"seq":6}"#);
    assert!(!answer.contains("error"), "{answer}");
    world.restart();
    holds(&mut world, 10);
    assert_eq!(work(&mut world, "C", 10), 5);
    holds(&mut world, 5);
}

/// Who had them before the reset may be done with them yet.
#[test]
fn what_was_on_its_way_before_a_reset_leaves_when_it_is_acknowledged() {
    let mut world = queue();
    consumer(&mut world, "W", "C", "");
    let got = pull(&mut world, "W.C", "5");
    let answer = world.ask("$JS.API.CONSUMER.RESET.W.C", r#"{"seq":8}"#);
    assert!(!answer.contains("error"), "{answer}");
    for sent in &got {
        let reply = sent.message.reply().unwrap().to_owned();
        assert_eq!(world.ask(&reply, "+ACK"), "");
    }
    holds(&mut world, 5);
    world.restart();
    holds(&mut world, 5);
}

/// A worker that has caught up looks on at what others publish.
#[test]
fn what_came_while_a_worker_had_caught_up_is_found_by_a_wider_filter() {
    for retention in ["workqueue", "interest", "limits"] {
        for restarts in [false, true] {
            widen(retention, restarts);
        }
    }
}

fn widen(retention: &str, restarts: bool) {
    let mut world = World::new();
    world.create(
        "W",
        &format!(r#""subjects":["s.*"],"retention":"{retention}""#),
    );
    if retention == "interest" {
        consumer(&mut world, "W", "B", r#","filter_subject":"s.b""#);
    }
    let filters = |filters: &str| format!(r#","deliver_subject":"d","filter_subjects":{filters}"#);
    world.listen("d");
    consumer(&mut world, "W", "C", &filters(r#"["s.a"]"#));
    world.ask("s.b", "before");
    let before = world.sent.len();
    world.ask("s.a", "a");
    let got = world.sent.split_off(before);
    let ack = got.iter().filter_map(|sent| sent.message.reply());
    let ack = ack
        .filter(|it| it.starts_with("$JS.ACK."))
        .last()
        .unwrap()
        .to_owned();
    world.ask("s.b", "1");
    world.ask("s.b", "2");
    // What is saved with it is that it has looked at those.
    assert_eq!(world.ask(&ack, "+ACK"), "");
    if restarts {
        world.restart();
    }
    let before = world.sent.len();
    consumer(&mut world, "W", "C", &filters(r#"["s.a","s.b"]"#));
    world.ask("s.b", "3");
    let got = world.sent.split_off(before);
    let payload = |sent: &super::world::Sent| sent.message.message().payload.to_vec();
    let got: Vec<_> = got.iter().filter(|it| it.to == "d").map(payload).collect();
    assert_eq!(got, [b"1", b"2", b"3"], "{retention} {restarts}");
}

/// All that lies before an acknowledged one is done, of what was given.
#[test]
fn an_ack_of_all_takes_what_was_delivered_and_nothing_between() {
    let mut world = queue();
    let config = r#"{"stream_name":"W","config":{"durable_name":"C","ack_policy":"flow_control","deliver_subject":"d","flow_control":true,"idle_heartbeat":1000000000,"filter_subject":"s.a"}}"#;
    world.listen("d");
    let before = world.sent.len();
    let answer = world.ask("$JS.API.CONSUMER.CREATE.W.C", config);
    assert!(!answer.contains("error"), "{answer}");
    world.drain();
    let got = world.sent.split_off(before);
    let acks = got.iter().filter_map(|sent| sent.message.reply());
    let acks: Vec<String> = acks
        .filter(|ack| ack.starts_with("$JS.ACK."))
        .map(str::to_owned)
        .collect();
    assert_eq!(acks.len(), 5);
    world.ask(&acks[3], "+ACK");
    holds(&mut world, 6);
    world.restart();
    holds(&mut world, 6);
}

/// Whoever knows a name may send an ack for what was never given.
#[test]
fn an_ack_for_what_was_not_delivered_takes_nothing() {
    let mut world = queue();
    consumer(&mut world, "W", "C", r#","filter_subject":"s.a""#);
    let got = pull(&mut world, "W.C", "5");
    let reply = got[4].message.reply().unwrap().to_owned();
    // $JS.ACK.W.C.<deliveries>.<stream>.<consumer>.<time>.<pending>
    let mut words: Vec<&str> = reply.split('.').collect();
    let place = words.iter().position(|word| *word == "C").unwrap() + 2;
    words[place] = "1";
    world.ask(&words.join("."), "+ACK");
    holds(&mut world, 10);
    world.ask(&reply, "+ACK");
    holds(&mut world, 9);
}
