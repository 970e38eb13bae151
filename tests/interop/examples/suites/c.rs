//! The tests of nats.c, from a checkout of its repository: one process for each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::isolate::{in_parallel, isolated};
use crate::shim::Shim;
use crate::{Verdict, Wanted};

/// A test takes at most so long.
const SECONDS_MAX: u64 = 180;

pub(crate) fn run(wanted: &Wanted, shim: &Shim) -> BTreeMap<String, Verdict> {
    let program = program(&wanted.checkout);
    let version = version(shim);
    let mut tests = list(&wanted.checkout);
    tests.retain(|test| test.contains(&wanted.only));
    let once = |test: &String| {
        let verdict = verdict(&program, test, &wanted.checkout, shim, &version);
        (test.clone(), verdict)
    };
    let mut verdicts: BTreeMap<_, _> = in_parallel(wanted.jobs, &tests, once).into_iter().collect();
    // Some measure times: what failed runs once more, alone.
    tests.retain(|test| verdicts.get(test) == Some(&Verdict::Fail));
    verdicts.extend(in_parallel(1, &tests, once));
    verdicts
}

fn verdict(program: &Path, test: &str, checkout: &Path, shim: &Shim, version: &str) -> Verdict {
    // They write where they stand, under names that are not always their own.
    let place = TempDir::new().expect("a temporary folder");
    let files = checkout.join("test");
    copy_files(&files, place.path(), |name| name.ends_with(".conf"));
    let certs = place.path().join("certs");
    std::fs::create_dir(&certs).expect("own folder");
    copy_files(&files.join("certs"), &certs, |_| true);
    let env = [("NATS_TEST_SERVER_VERSION", version.to_owned())];
    let said = isolated(program, [test], place.path(), shim.dir(), SECONDS_MAX, &env);
    match said.ok {
        true if said.text.contains("Skipping since requires") => Verdict::Skip,
        true => Verdict::Pass,
        false => Verdict::Fail,
    }
}

fn copy_files(from: &Path, to: &Path, is_wanted: impl Fn(&str) -> bool) {
    let entries = from.read_dir().expect("a checkout of nats.c has its tests");
    for entry in entries {
        let entry = entry.expect("a readable folder");
        let name = entry.file_name();
        if entry.path().is_file() && is_wanted(&name.to_string_lossy()) {
            std::fs::copy(entry.path(), to.join(name)).expect("own folder");
        }
    }
}

/// What the server says of itself: tests of what older ones lack are skipped by it.
fn version(shim: &Shim) -> String {
    let out = Command::new(shim.dir().join("nats-server"))
        .arg("-v")
        .output()
        .expect("the server can be started");
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

fn list(checkout: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(checkout.join("test/list_test.txt"))
        .expect("a checkout of nats.c has a list of its tests");
    text.lines()
        .filter_map(|line| line.strip_prefix("_test(")?.split_once(')'))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The program of all tests, built when it is not there.
fn program(checkout: &Path) -> PathBuf {
    let program = checkout.join("build/bin/testsuite");
    if !program.is_file() {
        let build = checkout.join("build");
        let configured = Command::new("cmake")
            .arg("-S")
            .arg(checkout)
            .arg("-B")
            .arg(&build)
            .args(["-DNATS_BUILD_STREAMING=OFF", "-DNATS_BUILD_EXAMPLES=OFF"])
            .status()
            .expect("cmake can be started");
        assert!(configured.success(), "nats.c cannot be configured");
        let built = Command::new("cmake")
            .arg("--build")
            .arg(&build)
            .args(["--target", "testsuite"])
            .status()
            .expect("cmake can be started");
        assert!(built.success(), "nats.c does not build");
    }
    program
}
