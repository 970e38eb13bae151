//! Breaks the lines between real leafs and a real hub in all ways, and looks for what was lost:
//! `cargo run --release -p interop --example flaps -- flaps=10000 [lines=16] [seed=N]`.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool that answers on the terminal and fails by panicking"
)]

use std::process::ExitCode;

use interop::flaps::Flaps;

#[tokio::main]
async fn main() -> ExitCode {
    let mut plan = Flaps {
        lanes: 16,
        flaps: 10_000,
        seed: 1,
    };
    for word in std::env::args().skip(1) {
        match word.split_once('=') {
            Some(("flaps", number)) => plan.flaps = number.parse().expect("a number"),
            Some(("lines", number)) => plan.lanes = number.parse().expect("a number"),
            Some(("seed", number)) => plan.seed = number.parse().expect("a number"),
            Some(_) | None => {
                println!("usage: flaps [flaps=COUNT] [lines=COUNT] [seed=N]");
                return ExitCode::from(2);
            }
        }
    }
    let report = plan.run().await;
    println!("{report}");
    if report.is_clean() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
