//! The tests of nats.py, from a checkout of its repository: in chunks, and what failed once more alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use interop::target_dir;

use crate::isolate::{in_parallel, isolated};
use crate::shim::Shim;
use crate::{Verdict, Wanted};

/// A test takes at most so long.
const SECONDS_MAX: u64 = 40;
/// Tests of one file that share a process.
const CHUNK_MAX: usize = 12;
const PACKAGES: [&str; 5] = [
    "nats",
    "nats-core",
    "nats-jetstream",
    "nats-key-value",
    "nats-server",
];
/// What the tests import besides the clients.
const NEEDS: [&str; 9] = [
    "pytest",
    "pytest-asyncio",
    "pytest-timeout",
    "pytest-benchmark",
    "nkeys",
    "aiohttp",
    "websockets",
    "pynacl",
    "uvloop",
];

/// Tests of one package that run in one process.
struct Chunk {
    package: &'static str,
    tests: Vec<String>,
}

pub(crate) fn run(wanted: &Wanted, shim: &Shim) -> BTreeMap<String, Verdict> {
    let python = python();
    let mut chunks = Vec::new();
    for package in PACKAGES {
        let mut tests = collect(&python, package, wanted);
        tests.retain(|test| test.contains(&wanted.only));
        for of_file in tests.chunk_by(|a, b| file_of(a) == file_of(b)) {
            chunks.extend(of_file.chunks(CHUNK_MAX).map(|tests| Chunk {
                package,
                tests: tests.to_vec(),
            }));
        }
    }
    let run = |chunk: &Chunk| run_chunk(&python, chunk, wanted, shim);
    let mut verdicts: BTreeMap<_, _> = in_parallel(wanted.jobs, &chunks, run)
        .into_iter()
        .flatten()
        .collect();
    let again: Vec<Chunk> = chunks
        .iter()
        .flat_map(|chunk| chunk.tests.iter().map(|test| (chunk.package, test)))
        .filter(|(package, test)| verdicts.get(&full(package, test)) == Some(&Verdict::Fail))
        .map(|(package, test)| Chunk {
            package,
            tests: vec![test.clone()],
        })
        .collect();
    verdicts.extend(in_parallel(wanted.jobs, &again, run).into_iter().flatten());
    verdicts
}

fn run_chunk(python: &Path, chunk: &Chunk, wanted: &Wanted, shim: &Shim) -> Vec<(String, Verdict)> {
    let dir = dir_of(wanted, chunk.package);
    let timeout = format!("--timeout={SECONDS_MAX}");
    let mut args = vec![
        "-m",
        "pytest",
        "-q",
        "-rA",
        "--tb=no",
        "-p",
        "no:cacheprovider",
    ];
    args.push(&timeout);
    args.extend(chunk.tests.iter().map(String::as_str));
    let seconds = SECONDS_MAX * chunk.tests.len() as u64 + 20;
    let env = [("PYTHONPATH", sources(&wanted.checkout))];
    let said = isolated(python, args, &dir, shim.dir(), seconds, &env);
    let verdict = |test: &String| {
        let is = |word: &str| {
            said.text
                .lines()
                .filter_map(|line| line.strip_prefix(word))
                .any(|rest| rest.trim_start().split(" - ").next() == Some(test))
        };
        if is("PASSED") && !is("ERROR") {
            Verdict::Pass
        } else if is("FAILED") || is("ERROR") || !said.text.contains("SKIPPED") {
            Verdict::Fail
        } else {
            Verdict::Skip
        }
    };
    let tests = chunk.tests.iter();
    tests
        .map(|test| (full(chunk.package, test), verdict(test)))
        .collect()
}

fn full(package: &str, test: &str) -> String {
    format!("{package} {test}")
}

fn file_of(test: &str) -> &str {
    test.split("::").next().unwrap_or(test)
}

fn sources(checkout: &Path) -> String {
    let dirs = PACKAGES.iter().flat_map(|package| {
        let package = checkout.join(package);
        [package.join("src"), package]
    });
    let dirs: Vec<String> = dirs.map(|dir| dir.display().to_string()).collect();
    dirs.join(":")
}

/// Where a package's tests are started: those of the oldest name their files from the top.
fn dir_of(wanted: &Wanted, package: &str) -> PathBuf {
    match package {
        "nats" => wanted.checkout.clone(),
        _ => wanted.checkout.join(package),
    }
}

/// The names of a package's tests.
fn collect(python: &Path, package: &str, wanted: &Wanted) -> Vec<String> {
    let out = Command::new(python)
        .args([
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-p",
            "no:cacheprovider",
        ])
        .args((package == "nats").then_some("nats/tests"))
        .current_dir(dir_of(wanted, package))
        .env("PYTHONPATH", sources(&wanted.checkout))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .output()
        .expect("pytest can be started");
    let text = String::from_utf8_lossy(&out.stdout);
    let tests = text.lines().filter(|line| line.contains("::"));
    let tests: Vec<String> = tests.map(str::to_owned).collect();
    // A Python that is too old for a package finds none of its tests, which is no pass.
    assert!(!tests.is_empty(), "no test of {package} is found:\n{text}");
    tests
}

/// A Python with what the suite needs, made once beside the other peers.
fn python() -> PathBuf {
    let venv = target_dir().join("peers/suites-py");
    let python = venv.join("bin/python");
    let ran = |command: &mut Command| {
        let status = command.status().expect("python3 with the venv module");
        assert!(status.success(), "{command:?} failed");
    };
    if !venv.join("done").is_file() {
        ran(Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&venv));
        ran(Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args(NEEDS));
        std::fs::write(venv.join("done"), "").expect("the target folder can be written");
    }
    python
}
