use super::*;

#[test]
fn lazy_progress_is_saved_rarely() {
    let config = ConsumerConfig {
        ack_policy: AckPolicy::None,
        ..explicit()
    };
    let mut world = World::new(config, &[]);
    world.pull("r", "100000");
    world.saves.clear();
    for _ in 0..100 {
        world.publish("a.1", "x");
        world.pass(Duration::from_millis(10));
    }
    assert!((3..=5).contains(&world.saves.len()), "{:?}", world.saves);
    world.pass(seconds(1));
    world.saves.clear();
    world.pass(seconds(60));
    assert!(world.saves.is_empty(), "nothing happened");
}

#[test]
fn changes_are_small_and_end_in_a_state() {
    let mut world = World::new(explicit(), &[]);
    world.pull("r", "100000");
    for _ in 0..1100 {
        world.publish("a.1", "x");
        let ack = world.last_ack();
        world.take();
        world.ack(&ack, Some("reply"), "");
        assert!(world.saved.1.last().is_none_or(|change| change.len() < 40));
    }
    assert!(
        world.saved.1.len() < 1100,
        "a state has replaced the changes"
    );
    assert_eq!(world.take().iter().filter(|s| s.to == "reply").count(), 1);
}

#[test]
fn a_consumer_in_memory_saves_nothing() {
    let config = ConsumerConfig {
        mem_storage: true,
        ..explicit()
    };
    let mut world = World::new(config, &[("a.1", "x")]);
    world.pull("r", "1");
    let ack = world.last_ack();
    world.take();
    world.ack(&ack, Some("reply"), "");
    assert_eq!(world.take().len(), 1);
    world.pass(seconds(10));
    assert!(world.saves.is_empty() && world.consumer.is_volatile());
}

#[test]
fn an_acked_message_stays_acked_over_a_restart() {
    let mut world = World::new(explicit(), &[("a.1", "one"), ("a.1", "two")]);
    world.pull("r", "2");
    let ack = world.last_ack();
    world.take();
    world.ack(&ack, Some("reply"), "");
    world.restart();
    world.take();
    world.pull("r", r#"{"batch":5}"#);
    world.pass(seconds(60));
    let came = world.came();
    assert!(
        came.contains(&"one".to_owned()) && !came.contains(&"two".to_owned()),
        "{came:?}"
    );
}

#[test]
fn unreadable_progress_is_told_and_left_out() {
    let world = World::new(explicit(), &[("a.1", "one")]);
    let saved = (Some(&b"\x09rubbish"[..]), &[][..]);
    let config = world.consumer.config().clone();
    let created = world.consumer.created();
    let (consumer, damage) =
        Consumer::restore(world.now, created, config, &facts(), 1, saved, &world.shelf);
    assert!(damage.is_some());
    assert_eq!(consumer.info(world.now).num_pending, 1);
}
