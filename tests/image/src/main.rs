//! Pulls the plug of images under QEMU, many times:
//! `cargo run -p image -- [starts=1] [devices=1] [glances=200] [cuts=200] [control=20] [updates=50]
//! [rollbacks=1] [webs=1] [twins=1] [board=qemu-aarch64] [seed=1] [native=1]`.
//!
//! One after the other, in this order: `starts`: how long a first start takes; `devices`: lines of
//! the guest's; `glances`: what a cut of a running box would leave, looked at from outside; `cuts`:
//! of a running box under load; `control`: a box on a disk that lies about flushes, which must lose
//! something; `updates`: cuts of a box at its update; `rollbacks`: boxes that are brought a bad
//! release, one of each kind; `webs`: of boxes that fetch the next
//! release from a web server, whose line breaks once; `twins`: whether two builds in two folders are the same. `frond=FILE
//! init=FILE` are programs that were built for the board before, instead of fresh ones; with
//! `native=1` they are this machine's own kind, those that the tests have anyway if none is named.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a tool that answers on the terminal"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use image::{
    Cuts, Honesty, Load, Outcome, Plug, Release, Shelf, Update, roll_back, update_from_web,
};
use imager::Built;
use interop::Random;

const USAGE: &str = "usage: image [starts=COUNT] [devices=COUNT] [glances=COUNT] [cuts=COUNT] \
                     [control=COUNT] [updates=COUNT] [rollbacks=COUNT] [webs=COUNT] [twins=COUNT] \
                     [board=NAME] [seed=NUMBER] [native=1] [frond=FILE init=FILE]";

/// What the command line says.
struct Wish {
    tasks: Vec<(Task, u64)>,
    board: String,
    seed: u64,
    is_native: bool,
    frond: Option<PathBuf>,
    init: Option<PathBuf>,
}

impl Wish {
    fn shelf(&self) -> Shelf {
        match (&self.frond, &self.init) {
            (Some(frond), Some(init)) => {
                let shelf = Shelf::given(&self.board, frond, init);
                if self.is_native {
                    shelf.with_unwinder()
                } else {
                    shelf
                }
            }
            (Some(_), None) | (None, Some(_) | None) if self.is_native => {
                Shelf::native(&self.board)
            }
            (Some(_), None) | (None, Some(_) | None) => Shelf::crossed(&self.board),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    Starts,
    Devices,
    Glances,
    Cuts,
    Control,
    Updates,
    Rollbacks,
    Webs,
    Twins,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(wish) = wish() else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let shelf = wish.shelf();
    let first = shelf.release(1, Release::Good);
    let mut are_well = true;
    for (task, count) in wish.tasks {
        let start = Instant::now();
        let is_well = match task {
            Task::Starts => starts(&shelf, &first, count).await,
            Task::Devices => devices(&shelf, &first, count).await,
            Task::Glances => glances(&shelf, &first, count, wish.seed).await,
            Task::Cuts => cuts(&shelf, &first, count, wish.seed).await,
            Task::Control => control(&shelf, &first, count, wish.seed).await,
            Task::Updates => updates(&shelf, &first, count, wish.seed),
            Task::Twins => twins(&wish.board),
            Task::Webs => webs(&shelf, &first, count),
            Task::Rollbacks => rollbacks(&shelf, &first, count),
        };
        println!(
            "{task:?} {count} on {}, seed {}: {}, {:.0?}",
            wish.board,
            wish.seed,
            if is_well { "as it should be" } else { "FAILED" },
            start.elapsed()
        );
        are_well &= is_well;
    }
    if are_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn wish() -> Option<Wish> {
    let mut wish = Wish {
        tasks: Vec::new(),
        board: "qemu-aarch64".to_owned(),
        seed: 1,
        is_native: false,
        frond: None,
        init: None,
    };
    for word in std::env::args().skip(1) {
        let (name, value) = word.split_once('=')?;
        let task = match name {
            "board" => {
                value.clone_into(&mut wish.board);
                continue;
            }
            "seed" => {
                wish.seed = value.parse().ok()?;
                continue;
            }
            "native" => {
                wish.is_native = value == "1";
                continue;
            }
            "frond" => {
                wish.frond = Some(value.into());
                continue;
            }
            "init" => {
                wish.init = Some(value.into());
                continue;
            }
            "starts" => Task::Starts,
            "devices" => Task::Devices,
            "glances" => Task::Glances,
            "cuts" => Task::Cuts,
            "control" => Task::Control,
            "updates" => Task::Updates,
            "twins" => Task::Twins,
            "webs" => Task::Webs,
            "rollbacks" => Task::Rollbacks,
            _ => return None,
        };
        wish.tasks.push((task, value.parse().ok()?));
    }
    wish.tasks.sort_unstable();
    (!wish.tasks.is_empty()).then_some(wish)
}

/// New boxes, each until the first message is acknowledged.
async fn starts(shelf: &Shelf, first: &Built, count: u64) -> bool {
    for _ in 0..count {
        let (guest, _folder) = shelf.start(&first.image);
        Load::default().first(&guest).await;
        println!(
            "the first message is acknowledged {:.1?} after the start",
            guest.age()
        );
    }
    true
}

fn twins(board: &str) -> bool {
    let compared = image::twins(board);
    for (name, is_same) in &compared {
        println!(
            "{name}: {}",
            if *is_same { "the same" } else { "DIFFERENT" }
        );
    }
    compared.iter().all(|(_, is_same)| *is_same)
}

async fn devices(shelf: &Shelf, first: &Built, count: u64) -> bool {
    let mut are_well = true;
    for _ in 0..count {
        let [bell, key] = image::devices(shelf, &first.image).await;
        println!("bell: {bell}\nkey: {key}");
        are_well &= bell["state"] == "on" && !key.is_null();
    }
    are_well
}

async fn glances(shelf: &Shelf, first: &Built, count: u64, seed: u64) -> bool {
    let mut plug = Plug::new(shelf.profile.clone(), &first.image, Honesty::Honest, seed);
    let mut so_far = Cuts::default();
    plug.glances(count, &mut so_far).await;
    println!("{so_far:?}");
    so_far.lost == 0
}

async fn cuts(shelf: &Shelf, first: &Built, count: u64, seed: u64) -> bool {
    let mut plug = Plug::new(shelf.profile.clone(), &first.image, Honesty::Honest, seed);
    let mut so_far = Cuts::default();
    while so_far.cuts < count {
        plug.cut(&mut so_far).await;
        println!("{so_far:?}");
    }
    plug.look(&mut so_far).await;
    println!("{so_far:?}");
    so_far.lost == 0
}

/// Whether a disk that lies about flushes is found out: something is lost, or the box does not come
/// up any more.
async fn control(shelf: &Shelf, first: &Built, count: u64, seed: u64) -> bool {
    let mut plug = Plug::new(shelf.profile.clone(), &first.image, Honesty::Lying, seed);
    let mut so_far = Cuts::default();
    while so_far.cuts < count && so_far.lost == 0 {
        let local = tokio::task::LocalSet::new();
        let cut = local.spawn_local(async move {
            plug.cut(&mut so_far).await;
            (plug, so_far)
        });
        local.await;
        match cut.await {
            Ok(after) => (plug, so_far) = after,
            Err(why) => {
                println!("the box does not come up: {why}");
                return true;
            }
        }
        println!("{so_far:?}");
    }
    so_far.lost > 0
}

fn updates(shelf: &Shelf, first: &Built, count: u64, seed: u64) -> bool {
    let new = shelf.release(2, Release::Good);
    let make = || Update::new(&shelf.profile, &first.image, &new.bundle, None);
    let whole = make();
    let mut guest = whole.start();
    guest.wait_to_say("the slot is confirmed", 2);
    let whole = guest.age();
    println!("an update that nobody interrupts is confirmed {whole:.0?} after the start");
    drop(guest);
    let mut random = Random::new(seed);
    let (mut olds, mut news) = (0, 0);
    for nth in 0..count {
        let update = make();
        let whole_ms = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
        let moment = Duration::from_millis(1_000 + random.below(whole_ms));
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

fn rollbacks(shelf: &Shelf, first: &Built, count: u64) -> bool {
    for _ in 0..count {
        for kind in [Release::Crashing, Release::Lineless, Release::Dead] {
            let new = shelf.release(2, kind);
            let after = roll_back(&shelf.profile, &first.image, &new.bundle, kind);
            println!("{kind:?} is taken back {after:.0?} after the start");
        }
    }
    true
}

fn webs(shelf: &Shelf, first: &Built, count: u64) -> bool {
    let new = shelf.release(2, Release::Good);
    for _ in 0..count {
        let after = update_from_web(shelf, &first.image, &new.bundle);
        println!("the release of a web server is confirmed {after:.0?} after the start");
    }
    true
}
