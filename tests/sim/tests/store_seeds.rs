//! A store on a failing disk keeps what it acknowledged, in a thousand worlds.

use sim::store_world::{Plain, Rotating, run, run_counted};

fn worlds(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        let trace = run::<Plain>(seed).unwrap_or_else(|broken| {
            panic!("{broken}\ncargo run -p sim -- replay store {seed}");
        });
        assert_eq!(
            run::<Plain>(seed),
            Ok(trace),
            "two runs of seed {seed} differ"
        );
    }
}

#[test]
fn the_first_quarter_holds() {
    worlds(0..250);
}

#[test]
fn the_second_quarter_holds() {
    worlds(250..500);
}

#[test]
fn the_third_quarter_holds() {
    worlds(500..750);
}

#[test]
fn the_fourth_quarter_holds() {
    worlds(750..1000);
}

/// Of many thousand worlds those that once broke a promise: files that name the streams were whole
/// in memory alone, or a purge was folded before its frame was torn.
#[test]
fn rare_worlds_hold() {
    for seed in [1447, 2489, 2618, 3357, 6642, 7340, 7779, 19_407, 23_863] {
        worlds(seed..seed + 1);
    }
}

/// The power also goes while everything is written anew under another key.
#[test]
fn keys_change_on_a_failing_disk() {
    for seed in 0..300 {
        run_counted::<Rotating>(seed).unwrap_or_else(|broken| panic!("{broken}\nseed {seed}"));
    }
}

/// A small share of what `--example cuts` does.
#[test]
fn a_thousand_cuts_hold() {
    let (mut cuts, mut seed) = (0, 0x00c0_ffee);
    while cuts < 1000 {
        let counted = run_counted::<Plain>(seed);
        cuts += counted
            .unwrap_or_else(|broken| panic!("{broken}\nseed {seed}"))
            .cuts;
        seed += 1;
    }
}
