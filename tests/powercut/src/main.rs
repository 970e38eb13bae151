//! Pulls the plug of whole servers, many times:
//! `cargo run --release -p powercut -- cuts=2000 [seed=N] [server=frond|nats-server|nats-server-always] [disk=ext4|posix] [key=chacha|aes] [control=lying]`.
//!
//! It runs in name spaces of its own, so that no mount is left behind however it ends.
//!
//! Everything a server promised must be there after each cut; what is not is told with the seed of
//! its world. For nats-server that is counted, for frond it is a failure, and with the lying disk
//! it is what must come.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a tool that answers on the terminal and fails by panicking"
)]

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::Instant;

use interop::load::Findings;
use powercut::{Contender, Encryption, Model, Plan, World};

const USAGE: &str = "usage: powercut [cuts=COUNT] [seed=N] [server=frond|nats-server|nats-server-always] \
    [disk=ext4|posix] [key=chacha|aes] [control=lying]";
/// The first word when the name spaces are made.
const APART: &str = "apart";
const TOLD_EVERY: u64 = 50;

#[derive(Default)]
struct Total {
    worlds: u64,
    with_findings: u64,
    cuts: u64,
    cuts_at_start: u64,
    promises: u64,
    findings: Findings,
}

impl Total {
    fn add(&mut self, world: &World) {
        self.worlds += 1;
        self.cuts += world.cuts;
        self.cuts_at_start += world.cuts_at_start;
        self.promises += world.promises;
        self.with_findings += u64::from(!world.findings.is_empty());
        self.findings.merge(&world.findings);
    }
}

fn plan(words: impl Iterator<Item = String>) -> Option<(Plan, u64)> {
    let mut cuts = 100;
    let mut plan = Plan {
        contender: Contender::Frond,
        model: Model::Ext4,
        encryption: Encryption::Off,
        seed: 1,
        cuts_max: u64::MAX,
    };
    for word in words {
        match word.split_once('=')? {
            ("cuts", number) => cuts = number.parse().ok()?,
            ("seed", number) => plan.seed = number.parse().ok()?,
            ("server", "frond") => plan.contender = Contender::Frond,
            ("server", "nats-server") => plan.contender = Contender::Real,
            ("server", "nats-server-always") => plan.contender = Contender::RealAlways,
            ("disk", "ext4") => plan.model = Model::Ext4,
            ("disk", "posix") => plan.model = Model::Posix,
            ("key", "chacha") => plan.encryption = Encryption::ChaCha,
            ("key", "aes") => plan.encryption = Encryption::Aes,
            ("control", "lying") => plan.model = Model::Lying,
            _ => return None,
        }
    }
    Some((plan, cuts))
}

/// Starts this program again, as root of name spaces of its own.
fn go_apart() -> ! {
    let exe = std::env::current_exe().expect("path of the running program");
    let mut command = Command::new("unshare");
    command.arg("-rm").arg(exe).arg(APART);
    let error = command.args(std::env::args().skip(1)).exec();
    panic!("a disk whose power can be cut needs `unshare` (util-linux): {error}");
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == APART).is_none() {
        go_apart();
    }
    let Some((mut plan, cuts)) = plan(words) else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let (start, mut total, mut told) = (Instant::now(), Total::default(), 0);
    let must_lose = plan.model == Model::Lying;
    while total.cuts < cuts && !(must_lose && total.with_findings > 0) {
        plan.cuts_max = cuts - total.cuts;
        let world = World::run(plan);
        if !world.findings.is_empty() {
            println!("seed {}, cut {}: {}", plan.seed, world.cuts, world.findings);
            println!("{}", world.findings.examples());
        }
        total.add(&world);
        plan.seed += 1;
        if total.cuts / TOLD_EVERY > told {
            told = total.cuts / TOLD_EVERY;
            println!("{} cuts of {cuts}, {:.0?}", total.cuts, start.elapsed());
        }
    }
    println!(
        "{} cuts of {} ({} while it started) in {} worlds on a disk as {:?}, encryption {:?}, {} promises: {}; {} worlds with a finding; {:.0?}",
        total.cuts,
        plan.contender.name(),
        total.cuts_at_start,
        total.worlds,
        plan.model,
        plan.encryption,
        total.promises,
        total.findings,
        total.with_findings,
        start.elapsed()
    );
    let has_lost = total.with_findings > 0;
    match (plan.contender, has_lost == must_lose) {
        (Contender::Frond, false) => ExitCode::FAILURE,
        (Contender::Frond, true) | (Contender::Real | Contender::RealAlways, _) => {
            ExitCode::SUCCESS
        }
    }
}
