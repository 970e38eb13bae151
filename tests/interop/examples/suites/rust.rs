//! The tests of async-nats, from a checkout of its repository: one process for each.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::isolate::{in_parallel, isolated};
use crate::shim::Shim;
use crate::{Verdict, Wanted};

/// A test takes at most so long.
const SECONDS_MAX: u64 = 180;

pub(crate) fn run(wanted: &Wanted, shim: &Shim) -> BTreeMap<String, Verdict> {
    let mut tests = Vec::new();
    for (name, program) in programs(wanted) {
        for test in list(&program) {
            let full = format!("{name}::{test}");
            if full.contains(&wanted.only) {
                tests.push((full, program.clone(), test));
            }
        }
    }
    let cwd = wanted.checkout.join("async-nats");
    let verdicts = in_parallel(wanted.jobs, &tests, |(full, program, test)| {
        let args = [test.as_str(), "--exact", "--test-threads", "1"];
        let said = isolated(program, args, &cwd, shim.dir(), SECONDS_MAX, &[]);
        let verdict = match said.ok {
            true if said.text.contains("1 passed") => Verdict::Pass,
            true => Verdict::Skip,
            false => Verdict::Fail,
        };
        (full.clone(), verdict)
    });
    verdicts.into_iter().collect()
}

/// The test programs of the package, built if need be.
fn programs(wanted: &Wanted) -> Vec<(String, PathBuf)> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["test", "--package", "async-nats", "--no-run", "--quiet"])
        .args(["--features", "slow_tests,experimental"])
        .args(["--message-format", "json"])
        .current_dir(&wanted.checkout)
        .env_remove("RUSTUP_TOOLCHAIN")
        .stderr(Stdio::inherit());
    let out = cargo.output().expect("cargo can be started");
    assert!(out.status.success(), "the suite does not build");
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["profile"]["test"] == true)
        .filter_map(|line| {
            let name = line["target"]["name"].as_str()?.to_owned();
            Some((name, PathBuf::from(line["executable"].as_str()?)))
        })
        .collect()
}

fn list(program: &PathBuf) -> Vec<String> {
    let out = Command::new(program)
        .args(["--list", "--format", "terse"])
        .output()
        .expect("a test program can be started");
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|line| line.strip_suffix(": test").map(str::to_owned))
        .collect()
}
