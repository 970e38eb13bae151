//! Kills a real server at random moments under load and looks for what it had promised:
//! `cargo run --release -p interop --example kills -- kills=2000 [seed=N] [server=frond|nats-server]`.
//!
//! The system keeps what a killed process wrote, so this shows order, sequences and recovery of
//! the whole binary; what a power cut does to unsynced writes is shown by `powercut`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a tool that answers on the terminal and fails by panicking"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use interop::load::{Findings, Load};
use interop::{Kind, Random, Server, Setup};

const TOLD_EVERY: u64 = 25;

#[tokio::main]
async fn main() -> ExitCode {
    let (mut kills, mut seed, mut kind) = (100, 1, Kind::Leaf);
    for word in std::env::args().skip(1) {
        match word.split_once('=') {
            Some(("kills", number)) => kills = number.parse().expect("a number"),
            Some(("seed", number)) => seed = number.parse().expect("a number"),
            Some(("server", "frond")) => kind = Kind::Leaf,
            Some(("server", "nats-server")) => kind = Kind::Real,
            Some(_) | None => {
                println!("usage: kills [kills=COUNT] [seed=N] [server=frond|nats-server]");
                return ExitCode::from(2);
            }
        }
    }
    let mut server = Server::start(kind, &Setup::jetstream());
    let (mut load, mut random) = (Load::new(seed), Random::new(seed));
    let mut findings = Findings::default();
    load.set_up(&server.url()).await;
    let start = Instant::now();
    for kill in 1..=kills {
        let moment = Duration::from_millis(20 + random.below(400));
        let url = server.url();
        let _ = tokio::time::timeout(moment, load.run(&url, &mut findings)).await;
        server.kill();
        server.restart();
        load.check(&server.url(), &mut findings).await;
        if kill % TOLD_EVERY == 0 || kill == kills {
            println!("{kill} kills of {kills}, {:.0?}", start.elapsed());
        }
    }
    load.drain(&server.url(), &mut findings).await;
    println!(
        "{kills} kills of {}, {} promises: {findings}\n{}",
        kind.name(),
        load.promises(),
        findings.examples()
    );
    if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
