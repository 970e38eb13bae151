//! Boxes whose power goes at every boundary of every write, whose disks fill up and rot, and that
//! are sent what nobody signed: each start finds the last good configuration or the one on trial,
//! and never anything else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

#[path = "box_on_faults/disk.rs"]
mod disk;
#[path = "box_on_faults/fleet.rs"]
mod fleet;
#[path = "box_on_faults/story.rs"]
mod story;
#[path = "box_on_faults/world.rs"]
mod world;

use disk::{Fault, Outcome, Unread};
use frond_ota::{Bar, File, Origin, Refusal, Trust, verify};
use story::{STORIES, Story};
use world::{Sabotage, World};

/// Runs a story with these faults and gives back how many of them struck.
fn struck(story: &Story, faults: &[Fault], sabotage: Sabotage) -> Result<usize, String> {
    let mut world = World::new(story, faults, sabotage);
    world
        .run()
        .map_err(|why| format!("{} with {faults:?}: {why}", story.name))?;
    Ok(world.struck())
}

fn boundaries(story: &Story) -> usize {
    let mut world = World::new(story, &[], Sabotage::None);
    world.run().unwrap();
    world.boundaries()
}

/// One cut at every boundary of every write, with every outcome for what was not synced.
fn single_cuts(sabotage: Sabotage) -> Result<usize, String> {
    let mut count = 0;
    for story in STORIES {
        for at in 0..boundaries(story) {
            for outcome in Outcome::ALL {
                count += struck(story, &[Fault::Cut { at, outcome }], sabotage)?;
            }
        }
    }
    Ok(count)
}

/// Faults of one kind at every boundary of every story; how many struck.
fn everywhere(faults_at: impl Fn(usize, Outcome) -> Vec<Fault>) -> usize {
    let mut count = 0;
    for story in STORIES {
        for at in 0..boundaries(story) {
            let outcome = Outcome::ALL[at % Outcome::ALL.len()];
            let faults = faults_at(at, outcome);
            count += struck(story, &faults, Sabotage::None).unwrap();
        }
    }
    count
}

// Together more than ten thousand, of which none may leave a box without a configuration.

#[test]
fn a_cut_at_every_boundary_leaves_one_configuration_to_start() {
    let count = single_cuts(Sabotage::None).unwrap();
    assert!(count >= 4_000, "only {count} cuts struck");
}

#[test]
fn a_second_cut_while_the_box_recovers_leaves_one() {
    let count = everywhere(|at, outcome| {
        let again = Outcome::ALL[(at * 7 + 1) % Outcome::ALL.len()];
        let second = Fault::Cut {
            at: at + 1 + at % 3,
            outcome: again,
        };
        vec![Fault::Cut { at, outcome }, second]
    });
    assert!(count >= 2_500, "only {count} cuts struck");
}

#[test]
fn a_disk_that_is_full_leaves_one() {
    let count = everywhere(|at, _| {
        let writes = [1, 2, 1_000][at % 3];
        vec![Fault::Full { at, writes }]
    });
    assert!(count >= 2_000, "only {count} writes failed");
}

#[test]
fn files_that_rot_or_are_not_read_leave_one() {
    let one = everywhere(|at, outcome| {
        let file = [File::RecordA, File::RecordB, File::Floor][at % 3];
        vec![Fault::Rot { at, file }, Fault::Cut { at, outcome }]
    });
    let both = everywhere(|at, outcome| vec![Fault::RotRecord { at }, Fault::Cut { at, outcome }]);
    let unread = everywhere(|at, outcome| {
        let what = Unread::ALL[at % Unread::ALL.len()];
        vec![Fault::Unread { at, what }, Fault::Cut { at, outcome }]
    });
    let total = one + both + unread;
    assert!(
        total >= 6_000,
        "only {one} + {both} + {unread} faults struck"
    );
}

#[test]
fn what_must_never_run_is_refused_for_its_own_reason() {
    let trust = Trust::new(fleet::root(), &[]);
    let judge = |bytes: &[u8], floor| {
        let bar = Bar {
            floor,
            vouched_s: fleet::BUILT_S,
            wall_s: fleet::ISSUED_S,
            origin: Origin::Hub,
        };
        verify(bytes, &trust, &fleet::who(), &bar)
    };
    for (want, bytes) in fleet::evil() {
        let refusal = judge(bytes, 0).unwrap_err();
        let said = refusal.to_string();
        assert!(said.contains(want), "{want:?} is wanted: {said}");
    }
    judge(&fleet::good(2), 1).unwrap();
    judge(&fleet::rotated(), 1).unwrap();
    assert!(matches!(
        judge(&fleet::good(2), 2),
        Err(Refusal::Old { .. })
    ));
    let permit = fleet::permit(1, 2);
    judge(&permit, 2).unwrap();
    assert!(matches!(judge(&permit, 3), Err(Refusal::Old { .. })));
}

#[test]
fn both_copies_at_once_would_be_noticed() {
    let found = single_cuts(Sabotage::BothCopiesAtOnce);
    assert!(found.is_err(), "the harness finds nothing");
}

#[test]
fn a_start_that_is_not_counted_would_be_noticed() {
    let found = single_cuts(Sabotage::StartsAreNotCounted);
    assert!(found.is_err(), "the harness finds nothing");
}

#[test]
fn a_start_without_a_look_at_the_signature_would_be_noticed() {
    let found = single_cuts(Sabotage::UnsignedOnTheDisk);
    found.expect("a bundle that was changed on the disk is not started");
}
