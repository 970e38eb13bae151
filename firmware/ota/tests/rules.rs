//! Rules that faults of a box's surroundings must not break.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use frond_clock::Instant;
use frond_ota::{Bar, Check, Floor, Gate, Origin, Record, Root, Trust};

fn bar(wall_s: i64) -> Bar {
    Bar {
        floor: 0,
        vouched_s: 1_800_000_000,
        wall_s,
        origin: Origin::Hub,
    }
}

#[test]
fn a_clock_far_ahead_is_not_believed() {
    let leaped = 1_800_000_000 + 70 * 366 * 86_400;
    assert_eq!(bar(leaped).now_s(), 1_800_000_000);
    assert_eq!(bar(1_800_000_500).now_s(), 1_800_000_500);
    assert_eq!(bar(0).now_s(), 1_800_000_000);
}

#[test]
fn a_floor_that_was_set_anew_counts_more_than_a_higher_one() {
    let set = Floor { set: 1, version: 5 };
    let old = Floor {
        set: 0,
        version: u64::MAX,
    };
    assert_eq!(set.max(old), set);
}

#[test]
fn all_must_be_seen_well_at_the_end_of_the_soak() {
    let at = |s: u64| Instant::START + Duration::from_secs(s);
    let soak = Duration::from_secs(10);
    let mut gate = Gate::new(&[Check::Probe, Check::Listeners]);
    gate.note(at(0), Check::Probe, Ok(()));
    gate.note(at(0), Check::Listeners, Ok(()));
    assert!(!gate.is_soaked(at(10), soak), "nobody looked again");
    gate.note(at(900), Check::Probe, Ok(()));
    gate.note(at(900), Check::Listeners, Ok(()));
    assert!(!gate.is_soaked(at(900), soak), "nobody looked for a while");
    for s in 901..=910 {
        gate.note(at(s), Check::Probe, Ok(()));
        gate.note(at(s), Check::Listeners, Ok(()));
    }
    assert!(gate.is_soaked(at(910), soak));
    assert!(
        !Gate::new(&[]).is_soaked(at(910), soak),
        "nothing is needed"
    );
}

#[test]
fn a_record_of_a_later_program_is_not_read() {
    let mut bytes = Record::default().encode();
    assert!(Record::decode(&bytes).is_some());
    bytes[8] = b'2';
    assert_eq!(Record::decode(&bytes), None);
}

#[test]
fn the_own_root_is_kept_for_the_day_it_is_another_one() {
    let keys = |key: &str| frond_ota::Keys {
        threshold: 1,
        keys: vec![key.to_owned()],
    };
    let pair = |seed| {
        let role = frond_account::nkey::Role::Operator;
        frond_account::nkey::KeyPair::from_random(role, &[seed; 32]).public_key()
    };
    let root = |version, seed| Root {
        version,
        root: keys(&pair(seed)),
        release: keys(&pair(seed)),
        hub: frond_ota::Keys::default(),
        emergency: frond_ota::Keys {
            threshold: 1,
            keys: Vec::new(),
        },
    };
    let kept = Trust::new(root(1, 1), &[]).kept();
    let raised = Trust::new(root(3, 3), &kept);
    assert_eq!(raised.latest().unwrap().version, 3);
    assert_eq!(raised.kept().len(), 2, "the former one is kept as well");
}
