//! Runs worlds once more: `sim replay WORLD SEED`, or many of them: `sim run WORLD COUNT [FROM]`.
//! The worlds: `link`, a leaf and its hub; `links`, up to six servers; `store`, and `keys`, a store whose encryption changes.

#![expect(clippy::print_stdout, reason = "a tool that answers on the terminal")]

use std::process::ExitCode;

use sim::{link_world, links_world, store_world};

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
        ("replay", "links", Some([seed])) => links(*seed, 1),
        ("run", "links", Some([count])) => links(0, *count),
        ("run", "links", Some([count, from])) => links(*from, *count),
        ("replay", "store" | "keys", Some([seed])) => stores(world, *seed, 1),
        ("run", "store" | "keys", Some([count])) => stores(world, 0, *count),
        ("run", "store" | "keys", Some([count, from])) => stores(world, *from, *count),
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

/// Each world twice; of those that break a promise the end is told.
fn links(from: u64, count: u64) -> ExitCode {
    let (mut failed, mut published, mut received) = (0, 0, 0);
    for seed in from..from.saturating_add(count) {
        let [one, two] = [(); 2].map(|()| links_world::run(seed, links_world::Variant::Sound));
        published += one.published;
        received += one.received;
        let verdict = match one.hash == two.hash {
            true => one.verdict,
            false => Err("two runs differ".to_owned()),
        };
        if let Err(broken) = verdict {
            if count == 1 {
                println!("{}", one.tail.join("\n"));
            }
            println!("{broken}\nsim replay links {seed}");
            failed += 1;
        }
    }
    println!(
        "{} of {count} worlds from seed {from} hold; {published} messages, {received} deliveries",
        count - failed
    );
    ExitCode::from(u8::from(failed > 0))
}

/// All that break a promise are told.
fn stores(world: &str, from: u64, count: u64) -> ExitCode {
    let mut failed = 0;
    for seed in from..from.saturating_add(count) {
        let done = match world {
            "keys" => store_world::run_counted::<store_world::Rotating>(seed).map(drop),
            _ => twice(seed),
        };
        if let Err(broken) = done {
            println!("{broken}\nsim replay {world} {seed}");
            failed += 1;
        }
    }
    println!("{} of {count} stores from seed {from} hold", count - failed);
    ExitCode::from(u8::from(failed > 0))
}

/// Two runs of one seed must not differ.
fn twice(seed: u64) -> Result<(), store_world::Broken> {
    let [one, two] = [(); 2].map(|()| store_world::run::<store_world::Plain>(seed));
    let (one, two) = (one?, two?);
    if one == two {
        return Ok(());
    }
    Err(format!("two runs differ: {one:?} and {two:?}"))
}

fn usage() -> ExitCode {
    println!("usage: sim replay link|links|store|keys SEED, sim run links|store|keys COUNT [FROM]");
    ExitCode::from(2)
}
