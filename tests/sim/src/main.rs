//! Runs one world once more: `sim replay WORLD SEED`.

use std::process::ExitCode;

use sim::link_world;

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["replay", "link", seed] = words.as_slice() else {
        return usage();
    };
    let Ok(seed) = seed.parse() else {
        return usage();
    };
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

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn usage() -> ExitCode {
    println!("usage: sim replay link SEED");
    ExitCode::from(2)
}
