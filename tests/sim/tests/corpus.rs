//! What fuzzing once found worth keeping, replayed with each change.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that reads files and names the one that fails"
)]

use std::fs;
use std::path::Path;

/// More would slow every test run; `cargo fuzz cmin` makes room.
const FILES_MAX: usize = 40;

fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let files: Vec<_> = fs::read_dir(corpus.join(target))
        .expect("a corpus")
        .map(|entry| entry.expect("a file of the corpus").path())
        .collect();
    assert!((1..=FILES_MAX).contains(&files.len()), "{}", files.len());
    for file in files {
        println!("{}", file.display());
        run(&fs::read(&file).expect("a readable file"));
    }
}

#[test]
fn wire() {
    replay("wire", sim::fuzz::wire);
}

#[test]
fn subject() {
    replay("subject", sim::fuzz::subject);
}

#[test]
fn config() {
    replay("config", sim::fuzz::config);
}

#[test]
fn websocket() {
    replay("websocket", sim::fuzz::websocket);
}

#[test]
fn backup() {
    replay("backup", sim::fuzz::backup);
}

#[test]
fn store() {
    replay("store", sim::fuzz::store);
}

#[test]
fn ocsp() {
    replay("ocsp", sim::fuzz::ocsp);
}

#[test]
fn ota() {
    replay("ota", sim::fuzz::ota);
}

#[test]
fn s2() {
    replay("s2", sim::fuzz::s2);
}
