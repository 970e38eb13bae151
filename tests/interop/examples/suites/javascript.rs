//! The tests of nats.js that Deno runs, from a checkout of its repository: one process for each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use interop::target_dir;

use crate::isolate::{in_parallel, isolated};
use crate::shim::Shim;
use crate::{Verdict, Wanted};

/// A test takes at most so long.
const SECONDS_MAX: u64 = 180;
const DENO: &str = "deno@2.9.6";
const FOLDERS: [&str; 8] = [
    "core/tests",
    "core/unsafe_tests",
    "jetstream/tests",
    "kv/tests",
    "nst/tests",
    "obj/tests",
    "services/tests",
    "transport-deno/tests",
];

/// One test.
struct Test {
    file: String,
    name: String,
}

pub(crate) fn run(wanted: &Wanted, shim: &Shim) -> BTreeMap<String, Verdict> {
    let deno = deno();
    let mut tests = list(&deno, wanted);
    tests.retain(|test| full(test).contains(&wanted.only));
    let once = |test: &Test| (full(test), verdict(&deno, test, wanted, shim));
    let mut verdicts: BTreeMap<_, _> = in_parallel(wanted.jobs, &tests, once).into_iter().collect();
    // Some measure times: what failed runs once more, alone.
    tests.retain(|test| verdicts.get(&full(test)) == Some(&Verdict::Fail));
    verdicts.extend(in_parallel(1, &tests, once));
    verdicts
}

fn verdict(deno: &Path, test: &Test, wanted: &Wanted, shim: &Shim) -> Verdict {
    let mut args = vec!["test", "-A", "--no-check", "--cached-only"];
    args.extend(imports(wanted));
    if test.file.starts_with("core/unsafe_tests") {
        args.push("--unsafely-ignore-certificate-errors");
    }
    let pattern = format!("/^{}$/", escaped(&test.name));
    args.extend(["--filter", &pattern, &test.file]);
    let said = isolated(
        deno,
        args,
        &wanted.checkout,
        shim.dir(),
        SECONDS_MAX,
        &surroundings(),
    );
    match said.ok {
        true if said.text.contains("ok | 0 passed") => Verdict::Skip,
        true => Verdict::Pass,
        false => Verdict::Fail,
    }
}

fn full(test: &Test) -> String {
    format!("{} {}", test.file, test.name)
}

/// A name as a pattern that only it matches.
fn escaped(name: &str) -> String {
    let mut pattern = String::new();
    for letter in name.chars() {
        if r".*+?^${}()|[]\/".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// Where Deno finds what the tests import, when that is not where the checkout says.
fn imports(wanted: &Wanted) -> impl Iterator<Item = &str> {
    let file = wanted.import_map.as_deref().and_then(Path::to_str);
    file.into_iter()
        .flat_map(|file| ["--no-config", "--import-map", file])
}

/// Every test, and on the way what the tests import.
fn list(deno: &Path, wanted: &Wanted) -> Vec<Test> {
    let scratch = tempfile::TempDir::new().expect("a temporary folder");
    let script = scratch.path().join("list.ts");
    std::fs::write(&script, include_str!("list.ts")).expect("a temporary folder can be written");
    let mut files: Vec<String> = Vec::new();
    for folder in FOLDERS {
        let entries = wanted.checkout.join(folder).read_dir();
        let entries = entries.expect("a checkout of nats.js has its tests");
        let names = entries.map(|entry| entry.expect("a readable folder").file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let tests = names.filter(|name| name.ends_with("_test.ts"));
        files.extend(tests.map(|name| format!("{folder}/{name}")));
    }
    files.sort();
    let out = Command::new(deno)
        .args(["run", "-A", "--no-check"])
        .args(imports(wanted))
        .arg(&script)
        .args(&files)
        .current_dir(&wanted.checkout)
        .envs(surroundings())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("deno can be started");
    assert!(out.status.success(), "the suite cannot be loaded");
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(file, name)| Test {
            file: file.to_owned(),
            name: name.to_owned(),
        })
        .collect()
}

/// The checkout's package.json is for Node, and its own tasks move it away before Deno's tests.
fn surroundings() -> [(&'static str, String); 3] {
    let cache = target_dir().join("peers/deno-cache");
    [
        ("DENO_DIR", cache.display().to_string()),
        ("DENO_NO_PACKAGE_JSON", "1".to_owned()),
        ("NO_COLOR", "1".to_owned()),
    ]
}

/// Deno, fetched once beside the other peers.
fn deno() -> PathBuf {
    let home = target_dir().join("peers/deno");
    let deno = home.join("node_modules/.bin/deno");
    if !deno.is_file() {
        let status = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(&home)
            .arg(DENO)
            .stdin(Stdio::null())
            .status()
            .expect("npm can be started");
        assert!(status.success(), "deno cannot be fetched");
    }
    deno
}
