//! What is written down before it is done, and what is not.

use super::*;

impl World {
    /// The hub says so to all that is not answered yet.
    fn answer_stuck(&mut self, result: &Result<u64, Unwritten>) {
        for ticket in core::mem::take(&mut self.stuck) {
            self.take(Input::Wrote(ticket, result.clone()));
        }
    }

    fn ask_to_start(&mut self, plan: Plan) {
        let start = Question::Start(Box::new(plan), bundle(7, Target::Everyone));
        self.take(Input::Asked(1, start));
    }
}

fn no_space() -> Result<u64, Unwritten> {
    Err(Unwritten::refused("no space".to_owned()))
}

#[test]
fn a_start_that_is_refused_does_not_begin_later() {
    // First its bundle is not written down, then it is not itself.
    for is_bundle_kept in [false, true] {
        let mut world = World::new(vec![Nature::Good; 10]);
        world.is_stuck = true;
        world.ask_to_start(quick());
        world.second();
        assert!(world.held.is_empty() && world.answers.is_empty());
        assert_eq!(world.stuck.len(), 1, "the rollout comes after its bundle");
        if is_bundle_kept {
            world.answer_stuck(&Ok(1));
            world.second();
            assert!(world.held.is_empty() && world.answers.is_empty());
        }
        world.is_stuck = false;
        world.answer_stuck(&no_space());
        assert_eq!(world.answers.pop().unwrap().unwrap_err().code, 500);
        for _ in 0..100 {
            world.second();
        }
        assert!(world.held.is_empty() && world.fleet.rollout().is_none());
        assert!(world.fleet.is_settled());
        // Nothing is left of it: another one begins.
        world.start(quick());
        world.seconds_until(60, |it| matches!(it.phase, Phase::Baking(_)));
        world.is_stuck = true;
        world.take(Input::Asked(2, Question::Abort("ann".into())));
        assert!(world.answers.is_empty());
        world.answer_stuck(&Ok(1));
        assert!(world.answers.pop().unwrap().is_ok());
        let former = world.fleet.rollout().unwrap().clone();
        world.ask_to_start(quick());
        world.answer_stuck(&no_space());
        assert_eq!(world.answers.pop().unwrap().unwrap_err().code, 500);
        assert_eq!(world.fleet.rollout(), Some(&former));
    }
}

#[test]
fn a_start_of_which_nobody_knows_whether_it_is_written_down_says_so() {
    let mut world = World::new(vec![Nature::Good; 10]);
    world.is_stuck = true;
    world.ask_to_start(quick());
    world.is_stuck = false;
    world.answer_stuck(&Err(Unwritten {
        why: "the hub does not answer".to_owned(),
        may_be_there: true,
    }));
    let refused = world.answers.pop().unwrap().unwrap_err();
    assert!(refused.why.contains("it may begin yet"), "{refused:?}");
    world.seconds_until(60, |it| matches!(it.phase, Phase::Baking(_)));
}

/// The first box has it, the others are to be told, and that is not on the hub's disk.
fn before_the_second_wave() -> World {
    let mut world = World::new(vec![Nature::Good; 100]);
    let waves = vec![Wave::Count(1), Wave::Percent(100)];
    world.start(Plan { waves, ..quick() });
    world.seconds_until(60, |it| matches!(it.phase, Phase::Baking(_)));
    for _ in 0..5 {
        world.second();
    }
    world.is_stuck = true;
    for _ in 0..20 {
        world.second();
    }
    world
}

#[test]
fn nobody_is_told_before_that_is_written_down() {
    let mut world = before_the_second_wave();
    assert_eq!((world.held.len(), world.counts().told), (1, 100));
    // The phase is written down, and then who is told: each waits for the disk.
    let [phase, members] = world.stuck[..] else {
        panic!("{:?}", world.stuck);
    };
    world.take(Input::Wrote(phase, Ok(1)));
    world.second();
    assert_eq!(world.held.len(), 1);
    world.take(Input::Wrote(members, Ok(1)));
    world.second();
    assert_eq!(world.held.len(), 100);
}

#[test]
fn what_may_have_been_told_is_told_again_or_taken_back() {
    let world = before_the_second_wave();
    // The hub is killed when that is on its disk, and before anybody is told.
    let rollout = serde_json::to_vec(world.fleet.rollout().unwrap()).unwrap();
    let bundle = bundle(7, Target::Group("shops".into()));
    for is_aborted in [true, false] {
        let mut next = World::new(vec![Nature::Good; 100]);
        next.now_s = world.now_s;
        next.kept = world.kept.clone();
        // The one that has it says so again.
        next.told(0, Some(&bundle));
        next.second();
        next.is_slow = true;
        let (rollout, bundle) = (rollout.clone(), bundle.clone());
        next.take(Input::Kept { rollout, bundle });
        if is_aborted {
            next.take(Input::Asked(1, Question::Abort("ann".into())));
        }
        next.is_slow = false;
        for ticket in core::mem::take(&mut next.slow) {
            next.take(Input::Wrote(ticket, Ok(1)));
        }
        for _ in 0..10 {
            next.second();
        }
        let gone = next.held.values().filter(|it| it.is_none()).count();
        let told = next.held.len() - gone;
        let wanted = if is_aborted { (99, 0) } else { (0, 99) };
        assert_eq!(
            (gone, told),
            wanted,
            "aborted: {is_aborted}: {:?}",
            next.steps
        );
    }
}

#[test]
fn what_somebody_else_put_there_since_is_not_taken_back() {
    let mut world = World::new(vec![Nature::Slow; 3]);
    let waves = vec![Wave::Percent(100)];
    world.start(Plan { waves, ..quick() });
    world.second();
    let abort = Input::Asked(1, Question::Abort("ann".into()));
    world.fleet.handle(world.now(), abort);
    let mut replaced = Vec::new();
    while let Some(output) = world.fleet.poll() {
        match output {
            Output::Put {
                bucket: Bucket::Configurations,
                value: None,
                replaces,
                ..
            } => replaced.push(replaces),
            Output::Put { ticket, .. } => {
                world.fleet.handle(world.now(), Input::Wrote(ticket, Ok(9)));
            }
            Output::Answer(..) | Output::Step(_) | Output::Confirm(_) => {}
        }
    }
    assert_eq!(replaced, [Some(1); 3]);
}

#[test]
fn what_the_hub_does_not_take_is_put_again() {
    let mut world = World::new(vec![Nature::Good; 20]);
    world.hub_says_no = 3;
    world.start(quick());
    world.seconds_until(200, Rollout::is_over);
    assert_eq!(world.counts().confirmed, 20);
    assert!(world.kinds().contains(&"hub_refused"));
}
