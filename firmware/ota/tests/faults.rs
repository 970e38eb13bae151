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

use std::collections::BTreeMap;

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

#[test]
fn a_cut_at_every_boundary_leaves_one_configuration_to_start() {
    let count = single_cuts(Sabotage::None).unwrap();
    assert!(count > 1_000, "only {count} cuts struck");
}

#[test]
fn ten_thousand_faults_brick_nothing() {
    let mut by_kind: BTreeMap<&str, usize> = BTreeMap::new();
    let mut add = |kind, count| *by_kind.entry(kind).or_default() += count;
    for story in STORIES {
        let boundaries = boundaries(story);
        // A second cut while the box recovers from the first.
        for first in 0..boundaries {
            for gap in 1..=3 {
                let outcome = Outcome::ALL[(first + gap) % Outcome::ALL.len()];
                let again = Outcome::ALL[(first * 7 + gap) % Outcome::ALL.len()];
                let (at, second) = (first, first + gap);
                let faults = [
                    Fault::Cut { at, outcome },
                    Fault::Cut {
                        at: second,
                        outcome: again,
                    },
                ];
                add("two cuts", struck(story, &faults, Sabotage::None).unwrap());
            }
        }
        for at in 0..boundaries {
            for writes in [1, 2, 1_000] {
                let faults = [Fault::Full { at, writes }];
                add("disk full", struck(story, &faults, Sabotage::None).unwrap());
            }
            let outcome = Outcome::ALL[at % Outcome::ALL.len()];
            for file in [File::RecordA, File::RecordB, File::Floor] {
                let faults = [Fault::Rot { at, file }, Fault::Cut { at, outcome }];
                add("rot", struck(story, &faults, Sabotage::None).unwrap());
            }
            let cut = Fault::Cut { at, outcome };
            let faults = [Fault::RotRecord { at }, cut];
            add(
                "both copies rotten",
                struck(story, &faults, Sabotage::None).unwrap(),
            );
            for what in Unread::ALL {
                let faults = [Fault::Unread { at, what }, cut];
                add(
                    "read errors",
                    struck(story, &faults, Sabotage::None).unwrap(),
                );
            }
        }
    }
    let total: usize = by_kind.values().sum();
    let total = total + single_cuts(Sabotage::None).unwrap();
    println!("{total} faults: {by_kind:?}");
    assert!(total >= 10_000, "only {total} faults: {by_kind:?}");
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
