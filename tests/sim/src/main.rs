//! Runs worlds once more: `sim replay WORLD SEED`, or many of them: `sim run store COUNT [FROM]`.

#![expect(clippy::print_stdout, reason = "a tool that answers on the terminal")]

use std::process::ExitCode;

use sim::{link_world, store_world};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (command, world, numbers) = match words.as_slice() {
        [command, world, numbers @ ..] => (*command, *world, numbers),
        _ => return usage(),
    };
    let numbers: Option<Vec<u64>> = numbers.iter().map(|word| word.parse().ok()).collect();
    match (command, world, numbers.as_deref()) {
        ("replay", "link", Some([seed])) => link(*seed),
        ("replay", "store", Some([seed])) => stores(*seed, 1),
        ("run", "store", Some([count])) => stores(0, *count),
        ("run", "store", Some([count, from])) => stores(*from, *count),
        _ => usage(),
    }
}

fn link(seed: u64) -> ExitCode {
    let report = link_world::run(seed, link_world::Variant::Sound);
    for line in &report.tail {
        println!("{line}");
    }
    println!(
        "hash {:016x}, attached {}, received {}, crossed {}: {:?}",
        report.hash, report.attached, report.received, report.crossed, report.verdict
    );
    ExitCode::from(u8::from(report.verdict.is_err()))
}

/// Each twice: two runs of one seed must not differ. All that break a promise are told.
fn stores(from: u64, count: u64) -> ExitCode {
    let mut failed = 0;
    for seed in from..from.saturating_add(count) {
        let runs = [(); 2].map(|()| store_world::run::<store_world::Plain>(seed));
        let broken = match runs {
            [Ok(one), Ok(two)] if one == two => continue,
            [Ok(one), Ok(two)] => format!("two runs differ: {one:?} and {two:?}"),
            [Err(broken), _] | [_, Err(broken)] => broken,
        };
        println!("{broken}\nsim replay store {seed}");
        failed += 1;
    }
    println!("{} of {count} stores from seed {from} hold", count - failed);
    ExitCode::from(u8::from(failed > 0))
}

fn usage() -> ExitCode {
    println!("usage: sim replay link|store SEED, sim run store COUNT [FROM]");
    ExitCode::from(2)
}
