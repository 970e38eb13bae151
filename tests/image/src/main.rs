//! Pulls the plug of images under QEMU, many times:
//! `cargo run -p image -- cuts=200 | updates=50 | control=20 [board=qemu-aarch64] [seed=1]`.
//!
//! `cuts`: of a running box under load; `updates`: of a box at its update; `control`: of a box on a
//! disk that lies about flushes, which must lose something.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a tool that answers on the terminal"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use image::{Cuts, Honesty, Outcome, Plug, Release, Shelf, Update};
use interop::Random;

const USAGE: &str =
    "usage: image cuts=COUNT | updates=COUNT | control=COUNT [board=NAME] [seed=NUMBER]";
/// Longer than an update takes from the start of the box to its confirmation.
const UPDATE_MS_MAX: u64 = 60_000;

#[tokio::main]
async fn main() -> ExitCode {
    let (mut task, mut board, mut seed) = (None, "qemu-aarch64".to_owned(), 1);
    for word in std::env::args().skip(1) {
        match word.split_once('=') {
            Some(("board", name)) => name.clone_into(&mut board),
            Some(("seed", number)) => seed = number.parse().unwrap_or(seed),
            Some((name @ ("cuts" | "updates" | "control"), number)) => {
                task = number
                    .parse()
                    .ok()
                    .map(|count: u64| (name.to_owned(), count));
            }
            Some(_) | None => task = None,
        }
    }
    let Some((task, count)) = task else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let shelf = Shelf::crossed(&board);
    let start = Instant::now();
    let is_well = match task.as_str() {
        "updates" => updates(&shelf, count, seed),
        "control" => cuts(&shelf, count, seed, Honesty::Lying).await.lost > 0,
        _ => cuts(&shelf, count, seed, Honesty::Honest).await.lost == 0,
    };
    println!(
        "{task}={count} on {board}, seed {seed}: {is_well}, {:.0?}",
        start.elapsed()
    );
    if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

async fn cuts(shelf: &Shelf, count: u64, seed: u64, honesty: Honesty) -> Cuts {
    let built = shelf.release(1, Release::Good);
    let mut plug = Plug::new(shelf.profile.clone(), &built.image, honesty, seed);
    let mut so_far = Cuts::default();
    while so_far.cuts < count && !(honesty == Honesty::Lying && so_far.lost > 0) {
        plug.cut(&mut so_far).await;
        println!("{so_far:?}");
    }
    if honesty == Honesty::Honest {
        plug.look(&mut so_far).await;
    }
    println!("{so_far:?}");
    so_far
}

fn updates(shelf: &Shelf, count: u64, seed: u64) -> bool {
    let (old, new) = (
        shelf.release(1, Release::Good),
        shelf.release(2, Release::Good),
    );
    let mut random = Random::new(seed);
    let (mut olds, mut news) = (0, 0);
    for nth in 0..count {
        let update = Update::new(&shelf.profile, &old.image, &new.bundle, None);
        let moment = Duration::from_millis(1_000 + random.below(UPDATE_MS_MAX));
        let outcome = update.interrupt(moment, &mut random);
        match outcome {
            Outcome::Old => olds += 1,
            Outcome::New => news += 1,
        }
        println!("update {nth}, cut after {moment:.1?}: {outcome:?}");
    }
    println!("{olds} came up in the old slot, {news} in the new one");
    olds + news == count
}
