//! What boxes, hubs and whoever drives a rollout do at the wrong moment.

use super::*;

#[test]
fn boxes_that_are_not_heard_again_stop_it() {
    for nature in [Nature::Falls, Nature::Dies] {
        let mut world = World::with(vec![nature; 20], 60);
        let waves = vec![Wave::Count(1), Wave::Percent(50), Wave::Percent(100)];
        world.start(Plan { waves, ..quick() });
        for _ in 0..400 {
            world.second();
        }
        let rollout = world.fleet.rollout().unwrap();
        assert!(
            matches!(rollout.phase, Phase::Stopped(_)),
            "{nature:?}: {:?}",
            rollout.phase
        );
        assert_eq!(rollout.counts().told, 1, "{nature:?}");
    }
}

#[test]
fn what_was_not_taken_back_is_by_who_comes_next() {
    let mut natures = vec![Nature::Good];
    natures.extend([Nature::Slow; 9]);
    let mut world = World::new(natures.clone());
    let waves = vec![Wave::Count(1), Wave::Percent(100)];
    world.start(Plan { waves, ..quick() });
    world.seconds_until(60, |it| it.counts().told == 10);
    let before = world.held.clone();
    world.ask(Question::Abort("ann".into())).unwrap();
    // The one that drove it ended before any of that was done.
    let mut rollout = world.fleet.rollout().unwrap().clone();
    for member in rollout.members.values_mut() {
        member.is_taken_back = false;
    }
    let mut next = World::new(natures);
    next.held = before;
    let rollout = serde_json::to_vec(&rollout).unwrap();
    let bundle = world.kept.clone().unwrap().1;
    next.kept = world.kept.clone();
    next.take(Input::Kept { rollout, bundle });
    next.second();
    let taken = next.held.values().filter(|it| it.is_none()).count();
    assert_eq!(taken, 9);
}

#[test]
fn a_rollout_that_cannot_be_kept_is_not_begun_and_answers_are_no_longer_than_messages() {
    let mut world = World::new(Vec::new());
    for at in 0..12_000 {
        let name = format!("{at:0>60}");
        let said = json!({ "software": "x".repeat(600) })
            .to_string()
            .into_bytes();
        let seen_s = world.now_s;
        world.take(Input::Report { name, seen_s, said });
    }
    let many = bundle(7, Target::Everyone);
    let refused = world
        .ask(Question::Start(Box::new(quick()), many))
        .unwrap_err();
    assert!(
        refused.why.contains("too many for one rollout"),
        "{refused:?}"
    );
    let mut after = String::new();
    let mut count = 0;
    loop {
        let limit = usize::MAX;
        let page = world.ask(Question::Boxes { after, limit }).unwrap();
        assert!(page.len() <= ANSWER_BYTES_MAX);
        let boxes: Vec<Value> = serde_json::from_str(&page).unwrap();
        count += boxes.len();
        let Some(last) = boxes.last() else { break };
        after = last["name"].as_str().unwrap().to_owned();
    }
    assert_eq!(count, 12_000);
}

/// The second wave is told at night: none of its boxes is there.
#[test]
fn a_wave_of_which_nobody_is_there_proves_nothing() {
    let mut world = World::with(vec![Nature::Good; 20], 60);
    let waves = vec![Wave::Count(1), Wave::Count(5), Wave::Percent(100)];
    world.start(Plan {
        waves,
        bake_s: 100,
        ..quick()
    });
    world.seconds_until(60, |it| matches!(it.phase, Phase::Baking(_)));
    world.natures[1..5].fill(Nature::Gone);
    for _ in 0..600 {
        world.second();
    }
    let counts = world.counts();
    assert_eq!((counts.told, counts.absent), (5, 4), "{counts:?}");
    world.natures[3] = Nature::Good;
    let bundle = world.held[&format!("device.{}", name(3))].clone();
    world.told(3, bundle.as_deref());
    world.seconds_until(300, Rollout::is_over);
    assert_eq!(world.counts().confirmed, 17);
}

#[test]
fn one_that_dies_while_it_bakes_is_counted_however_long_that_takes() {
    let mut world = World::with(vec![Nature::Good; 20], 60);
    let waves = vec![Wave::Count(1), Wave::Percent(100)];
    world.start(Plan {
        waves,
        bake_s: 3_600,
        ..quick()
    });
    for at in 0..4_000 {
        if at == 1_800 {
            world.natures[0] = Nature::Gone;
        }
        world.second();
    }
    assert_eq!(world.counts().told, 1);
    let phase = &world.fleet.rollout().unwrap().phase;
    assert!(matches!(phase, Phase::Stopped(_)), "{phase:?}");
}

/// The hub is slow: of many that are told at once few have it when somebody ends it.
#[test]
fn who_only_waits_to_be_told_is_not_when_it_is_ended() {
    for question in [Question::Abort("ann".into()), Question::Pause("ann".into())] {
        let mut world = World::new(vec![Nature::Good; 500]);
        world.is_slow = true;
        let waves = vec![Wave::Percent(100)];
        world.start(Plan { waves, ..quick() });
        assert_eq!(world.slow.len(), crate::limits::PUTS_MAX);
        world.ask(question.clone()).unwrap();
        world.is_slow = false;
        for ticket in core::mem::take(&mut world.slow) {
            world.take(Input::Wrote(ticket, Ok(1)));
        }
        for _ in 0..10 {
            world.second();
        }
        let told = world.counts().told;
        assert!(told <= crate::limits::PUTS_MAX, "{question:?}: {told}");
        let put = world.held.len();
        assert!(put <= crate::limits::PUTS_MAX, "{question:?}: {put}");
    }
}

#[test]
fn what_is_still_taken_back_is_not_told_anew() {
    let mut world = World::new(vec![Nature::Slow; 10]);
    let waves = vec![Wave::Percent(100)];
    world.start(Plan { waves, ..quick() });
    world.second();
    world.is_slow = true;
    world.ask(Question::Abort("ann".into())).unwrap();
    let again = || Question::Start(Box::new(quick()), bundle(8, Target::Everyone));
    assert_eq!(world.ask(again()).unwrap_err().code, 409);
    world.is_slow = false;
    for ticket in core::mem::take(&mut world.slow) {
        world.take(Input::Wrote(ticket, Ok(1)));
    }
    world.second();
    assert!(world.ask(again()).is_ok());
}

#[test]
fn a_rollout_that_somebody_wrote_over_is_missed() {
    let mut world = World::new(vec![Nature::Good; 10]);
    let (rollout, bundle) = (b"{}".to_vec(), Vec::new());
    world.take(Input::Kept { rollout, bundle });
    assert_eq!(world.kinds(), ["lost"]);
    assert!(world.steps[0].is_bad);
}

/// Half of them had it on trial, the others found nobody whom they trust vouching for it: those tell
/// no number.
pub(super) fn failed(at: usize, digest: &str) -> Value {
    if at.is_multiple_of(2) {
        json!({ "last_failure": { "version": 7, "why": "no line" } })
    } else {
        json!({ "refused": { "version": 0, "digest": digest, "why": "not signed" } })
    }
}

/// What a box said before it was told says nothing of what became of it since.
#[test]
fn an_old_word_is_no_confirmation() {
    let mut world = World::new(vec![Nature::Dies; 4]);
    let sealed = Sealed::decode(&bundle(7, Target::Group("shops".into()))).unwrap();
    let had = json!({
        "groups": ["shops"],
        "active": { "version": 7, "digest": sealed.digest().to_string() },
    });
    let waves = vec![Wave::Percent(100)];
    world.start(Plan { waves, ..quick() });
    world.second();
    // It comes late.
    for at in 0..4 {
        world.say(at, MONDAY - 1, &had);
    }
    world.second();
    let counts = world.counts();
    assert_eq!((counts.told, counts.confirmed), (4, 0));
    world.say(1, world.now_s, &had);
    world.second();
    assert_eq!(world.counts().confirmed, 1);
}
