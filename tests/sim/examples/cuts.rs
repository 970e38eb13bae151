//! Pulls the plug of stores, many times: `cargo run --release -p sim --example cuts -- cuts=100000 [from=SEED]`.
//!
//! Each world mixes publishes with message ids, acks, deletes, purges, streams and consumers that
//! come and go, and the node's own values, on a disk that loses unsynced pages, tears writes, fills
//! up and fails syncs. After each cut it must hold exactly what was acknowledged: one message
//! less, one in another order or a sequence given twice ends the run with the seed.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a tool that answers on the terminal, and tells how long it took"
)]

use std::process::ExitCode;
use std::time::Instant;

use sim::store_world::{Plain, run_counted};

const TOLD_EVERY: u64 = 5_000;

fn main() -> ExitCode {
    let (mut cuts_wanted, mut seed) = (100_000, 0);
    for word in std::env::args().skip(1) {
        let number = word.split_once('=').map(|(_, number)| number.parse());
        match (word.split('=').next(), number) {
            (Some("cuts"), Some(Ok(number))) => cuts_wanted = number,
            (Some("from"), Some(Ok(number))) => seed = number,
            (Some(_) | None, _) => {
                println!("usage: cuts [cuts=COUNT] [from=SEED]");
                return ExitCode::from(2);
            }
        }
    }
    let (from, start) = (seed, Instant::now());
    let (mut cuts, mut acked, mut told) = (0, 0, 0);
    while cuts < cuts_wanted {
        match run_counted::<Plain>(seed) {
            Ok(counted) => {
                cuts += counted.cuts;
                acked += counted.acked;
            }
            Err(broken) => {
                println!("{broken}\nsim replay store {seed}");
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
        if cuts / TOLD_EVERY > told {
            told = cuts / TOLD_EVERY;
            println!("{cuts} cuts of {cuts_wanted}, {:.0?}", start.elapsed());
        }
    }
    println!(
        "{cuts} cuts in {} worlds from seed {from}, {acked} acknowledged batches: 0 lost, 0 reordered, \
         0 sequences given twice; {:.0?}",
        seed - from,
        start.elapsed()
    );
    ExitCode::SUCCESS
}
