use super::*;
use crate::consumer::config::DeliverPolicy;

fn stream() -> Shelf {
    let mut shelf = Shelf::default();
    for (index, subject) in ["a.1", "a.2", "a.1", "a.3", "a.2"].into_iter().enumerate() {
        let time = Timestamp::from_nanos(START_NS + index as i64 * 1_000_000_000);
        put(&mut shelf, time, subject, b"", &(index + 1).to_string());
    }
    shelf
}

fn now() -> Now {
    Now {
        mono: Instant::from_nanos(0),
        wall: Timestamp::from_nanos(START_NS + 10_000_000_000),
    }
}

fn with(policy: DeliverPolicy, filters: &[&str]) -> ConsumerConfig {
    ConsumerConfig {
        deliver_policy: policy,
        filter_subjects: filters.iter().map(|f| (*f).to_owned()).collect(),
        ..explicit()
    }
}

/// Where each policy starts, what is left then, and what comes.
#[test]
fn every_policy_starts_where_it_should() {
    use DeliverPolicy::*;
    let by_seq = |seq| ConsumerConfig {
        opt_start_seq: seq,
        ..with(ByStartSequence, &[])
    };
    let by_time = |seconds: i64, filters: &[&str]| ConsumerConfig {
        opt_start_time: Some(Timestamp::from_nanos(START_NS + seconds * 1_000_000_000).into()),
        ..with(ByStartTime, filters)
    };
    for (config, comes) in [
        (with(All, &[]), &["1", "2", "3", "4", "5"][..]),
        (with(All, &["a.1", "a.3"]), &["1", "3", "4"]),
        (with(Last, &[]), &["5"]),
        (with(Last, &["a.1"]), &["3"]),
        (with(New, &[]), &[]),
        (with(LastPerSubject, &["a.*"]), &["3", "4", "5"]),
        (with(LastPerSubject, &["a.9"]), &[]),
        (by_seq(4), &["4", "5"]),
        (by_time(3, &[]), &["4", "5"]),
        (by_time(3, &["a.2"]), &["5"]),
        (by_time(30, &[]), &[]),
    ] {
        let mut world = World::on(stream(), facts(), config.clone(), now());
        let pending = world.consumer.info(world.now).num_pending;
        world.pull("r", "10");
        let seen = world.take();
        let payloads: Vec<_> = seen.iter().map(|s| s.payload.as_str()).collect();
        assert_eq!(payloads, comes, "{config:?}");
        assert_eq!(pending as usize, comes.len(), "{config:?}");
        for (left, seen) in seen.iter().rev().enumerate() {
            assert!(
                seen.reply.ends_with(&format!(".{left}")),
                "{config:?} {seen:?}"
            );
        }
        world.publish("a.1", "later");
        world.publish("a.2", "later");
        assert!(config.filter_subjects == ["a.9"] || world.came().contains(&"later".into()));
    }
}

#[test]
fn an_explicit_start_may_lie_ahead() {
    let config = ConsumerConfig {
        opt_start_seq: 7,
        ..with(DeliverPolicy::ByStartSequence, &[])
    };
    let mut world = World::on(stream(), facts(), config, now());
    assert_eq!(world.consumer.info(world.now).delivered.stream_seq, 6);
    world.pull("r", "10");
    world.publish("a.1", "6");
    assert_eq!(world.consumer.info(world.now).num_pending, 0);
    world.publish("a.1", "7");
    assert_eq!(world.came(), ["7"]);
}

#[test]
fn a_list_survives_changes_of_the_stream() {
    let mut world = World::on(
        stream(),
        facts(),
        with(DeliverPolicy::LastPerSubject, &["a.>"]),
        now(),
    );
    world.publish("a.1", "6");
    world.remove(4);
    assert_eq!(world.consumer.info(world.now).num_pending, 3);
    world.pull("r", "1");
    assert_eq!(world.came(), ["3"]);
    world.pass(seconds(1));
    world.restart();
    assert_eq!(world.consumer.info(world.now).num_pending, 2);
    world.pull("r", "5");
    assert_eq!(world.came(), ["5", "6"]);
}

#[test]
fn a_purge_moves_everything_up() {
    let mut world = World::on(stream(), facts(), with(DeliverPolicy::All, &[]), now());
    world.pull("r", "2");
    world.remove_all(&[1, 2, 3, 4, 5], Cause::Purge);
    let info = world.consumer.info(world.now);
    assert_eq!((info.num_pending, info.num_ack_pending), (0, 0));
    assert_eq!(
        (info.delivered.stream_seq, info.ack_floor.stream_seq),
        (5, 5)
    );
    world.take();
    world.pull("r", "1");
    world.publish("a.1", "6");
    assert_eq!(world.came(), ["6"]);
}

/// What is pending is what can be delivered, whatever hole there was before it and however much
/// is left.
#[test]
fn a_purge_over_a_gap_leaves_nothing_to_count() {
    for (hole, gone) in [
        (3, &[1, 2, 4, 5, 6, 7, 8][..]),
        (3, &[1, 2, 4, 5, 6, 7, 8, 9, 10]),
        (2, &[1, 3, 5]),
        (2, &[1, 4, 6, 7]),
        (1, &[2, 3, 8]),
    ] {
        for cause in [Cause::Purge, Cause::Limits] {
            let messages = [("a.1", "x"); 10];
            let mut world = World::new(explicit(), &messages);
            world.pull("r", "2");
            world.remove(hole);
            world.remove_all(gone, cause);
            let left = world.shelf.messages.range(3..).count() as u64;
            let info = world.consumer.info(world.now);
            assert_eq!(info.num_pending, left, "{hole} {gone:?}");
            world.take();
            world.pull("r", "99");
            assert_eq!(world.came().len() as u64, left);
            assert_eq!(world.consumer.info(world.now).num_pending, 0);
        }
    }
}

/// Limits tell of each message that was on the way, alone or with its neighbours; a purge does not.
#[test]
fn what_limits_take_is_told_one_by_one() {
    for (cause, told) in [(Cause::Limits, 3), (Cause::Purge, 0)] {
        let mut world = World::new(explicit(), &[("a.1", "x"); 6]);
        world.pull("r", "4");
        world.take();
        world.remove_all(&[1, 2, 4, 5], cause);
        let events = world.take();
        let of = |seen: &&Seen| seen.to.contains("MSG_TERMINATED");
        assert_eq!(events.iter().filter(of).count(), told, "{events:?}");
        assert_eq!(world.consumer.info(world.now).num_ack_pending, 1);
    }
}

#[test]
fn a_purge_by_subject_leaves_the_others() {
    let mut world = World::on(
        stream(),
        facts(),
        with(DeliverPolicy::All, &["a.1", "a.2"]),
        now(),
    );
    world.pull("r", "1");
    world.take();
    world.remove_all(&[1, 3], Cause::Purge);
    let info = world.consumer.info(world.now);
    assert_eq!((info.num_pending, info.num_ack_pending), (2, 0));
    world.pull("r", "9");
    assert_eq!(world.came(), ["2", "5"]);
}

#[test]
fn new_filters_are_counted_anew() {
    let mut world = World::on(stream(), facts(), with(DeliverPolicy::All, &["a.1"]), now());
    assert_eq!(world.consumer.info(world.now).num_pending, 2);
    let config = with(DeliverPolicy::All, &["a.2", "a.3"])
        .prepare(&facts(), &ServerLimits::default(), false)
        .unwrap();
    world.consumer.update(world.now, config, &world.shelf);
    assert_eq!(world.consumer.info(world.now).num_pending, 3);
}

#[test]
fn a_reset_goes_back_to_the_floor_or_where_it_may() {
    let mut world = World::on(stream(), facts(), with(DeliverPolicy::All, &[]), now());
    world.pull("r", "3");
    let first = world.take()[0].reply.clone();
    world.ack(&first, None, "");
    assert_eq!(world.consumer.reset(world.now, None, &world.shelf), Ok(2));
    let info = world.consumer.info(world.now);
    assert_eq!((info.num_pending, info.num_ack_pending), (4, 0));
    assert_eq!(
        (info.delivered.consumer_seq, info.ack_floor.stream_seq),
        (0, 1)
    );
    world.time();
    world.pull("r", "1");
    assert_eq!(world.came(), ["2"]);
    assert_eq!(
        world.consumer.reset(world.now, Some(5), &world.shelf),
        Ok(5)
    );

    let config = ConsumerConfig {
        opt_start_seq: 3,
        ..with(DeliverPolicy::ByStartSequence, &[])
    };
    let mut world = World::on(stream(), facts(), config, now());
    let error = world
        .consumer
        .reset(world.now, Some(2), &world.shelf)
        .unwrap_err();
    assert_eq!(
        (error.err_code, &*error.description),
        (10204, "invalid reset: below start seq")
    );
    let mut world = World::on(stream(), facts(), with(DeliverPolicy::New, &[]), now());
    let error = world
        .consumer
        .reset(world.now, Some(2), &world.shelf)
        .unwrap_err();
    assert_eq!(&*error.description, "invalid reset: not allowed");
}
