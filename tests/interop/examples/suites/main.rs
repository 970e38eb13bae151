//! Test suites of client libraries, with our binary in the place of nats-server and beside nats-server itself.
//!
//! `cargo run --release -p interop --example suites -- nats.py CHECKOUT` runs every test of a checkout of that
//! repository twice, each in a network namespace of its own, and prints the table ours/theirs. It fails when a test
//! passes with nats-server and not with ours, unless `known.txt` names the reason.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a harness reads clocks and files, and fails by panicking"
)]

mod c;
mod configs;
mod isolate;
mod javascript;
mod known;
mod python;
mod rust;
mod shim;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use interop::Kind;

use crate::shim::Shim;
use crate::table::Table;

const USAGE: &str = "\
usage: suites nats.py|nats.rs|nats.js|nats.c|configs CHECKOUT [--server frond|frond-hub] [--only TEXT] [--jobs N]
  CHECKOUT  a checkout of github.com/nats-io/nats.py, nats.rs, nats.js or nats.c;
            for configs, a folder of configuration files
  --server  which of our binaries stands for nats-server (frond-hub: the suites need listeners for leafnodes)
  --only    only tests whose name contains TEXT
  --jobs    tests at a time; 2 by default
  --import-map  for nats.js where its registry cannot be reached: an import map of Deno's that says where
            the checkout's imports are";

/// What was asked for.
struct Wanted {
    suite: String,
    checkout: PathBuf,
    server: Kind,
    only: String,
    jobs: usize,
    import_map: Option<PathBuf>,
}

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Pass,
    Skip,
    Fail,
}

fn main() -> ExitCode {
    let Some(wanted) = read_args() else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let run = |kind: Kind| {
        let shim = Shim::of(kind);
        println!("running {} with {}", wanted.suite, kind.name());
        match wanted.suite.as_str() {
            "nats.py" => python::run(&wanted, &shim),
            "nats.rs" => rust::run(&wanted, &shim),
            "nats.js" => javascript::run(&wanted, &shim),
            "nats.c" => c::run(&wanted, &shim),
            _ => configs::run(&wanted, &shim),
        }
    };
    let theirs = run(Kind::Real);
    let ours = run(wanted.server);
    let table = Table::new(&ours, &theirs, &known::reasons(&wanted.suite));
    println!("{table}");
    match table.unexplained() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn read_args() -> Option<Wanted> {
    let mut args = std::env::args().skip(1);
    let suite = args.next().filter(|suite| {
        ["nats.py", "nats.rs", "nats.js", "nats.c", "configs"].contains(&suite.as_str())
    })?;
    let mut wanted = Wanted {
        suite,
        checkout: args.next()?.into(),
        server: Kind::Hub,
        only: String::new(),
        jobs: 2,
        import_map: None,
    };
    while let Some(flag) = args.next() {
        let value = args.next()?;
        match flag.as_str() {
            "--server" => {
                wanted.server = [Kind::Leaf, Kind::Hub]
                    .into_iter()
                    .find(|kind| kind.name() == value)?;
            }
            "--only" => wanted.only = value,
            "--import-map" => wanted.import_map = Some(PathBuf::from(value).canonicalize().ok()?),
            "--jobs" => wanted.jobs = value.parse().ok()?,
            _ => return None,
        }
    }
    wanted.checkout = wanted.checkout.canonicalize().ok()?;
    Some(wanted)
}
