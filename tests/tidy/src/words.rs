//! What may not stand in a source, and what has to.

use crate::arrows::PURE;
use crate::tree::Tree;

/// Words nobody writes, why, and the files that may.
const BANNED: &[(&str, &str, &[&str])] = &[
    (
        "sleep(",
        "wait for a state with a bound, or drive the clock",
        &[
            "tests/interop/src/wait.rs",
            "firmware/runtime/src/clock.rs",
            "images/init/src/wait.rs",
        ],
    ),
    (
        "cfg(feature",
        "binaries choose in main what they carry",
        &[],
    ),
    ("todo!", "do it, or leave it out", &[]),
    ("unimplemented!", "do it, or leave it out", &[]),
    ("#[ignore", "a test runs, or is not there", &[]),
    ("TODO", "an issue, or now", &[]),
    ("FIXME", "an issue, or now", &[]),
];

/// What a pure crate's sources would need to reach outside.
const OUTSIDE: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "std::fs",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "std::thread",
    "std::env",
    "thread_local!",
    "async fn",
    ".await",
];

/// Crates that follow a written protocol say which passage, at the code.
const CITING: &[&str] = &["config", "jetstream", "leaf", "monitor", "wire"];

/// This crate has to spell out what it forbids.
const SELF: &str = "tests/tidy/";

/// No banned word in any source.
#[must_use]
pub fn banned_words(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.sources("").filter(|(path, _)| !path.starts_with(SELF)) {
        for (word, instead, _) in BANNED.iter().filter(|(_, _, may)| !may.contains(&path)) {
            let lines = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.contains(word));
            wrong.extend(lines.map(|(at, _)| format!("{path}:{}: `{word}`: {instead}", at + 1)));
        }
    }
    wrong
}

/// Pure crates reach for nothing outside themselves.
#[must_use]
pub fn pure_sources(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for folder in PURE.iter().map(|folder| format!("{folder}/src/")) {
        for (path, text) in tree.sources(&folder) {
            let code = text
                .lines()
                .enumerate()
                .filter(|(_, line)| !line.trim_start().starts_with("//"));
            for (at, line) in code {
                let found = OUTSIDE.iter().filter(|word| names(line, word));
                wrong.extend(
                    found.map(|word| format!("{path}:{}: `{word}` in a pure crate", at + 1)),
                );
            }
        }
    }
    wrong
}

/// Whether a line holds a word that doesn't go on.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let next = line[at + word.len()..].chars().next();
        !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Protocol crates cite what they follow, as `spec: …`. A crate of one file is not begun yet.
#[must_use]
pub fn citations(tree: &Tree) -> Vec<String> {
    let folders = CITING.iter().map(|name| format!("firmware/{name}/src/"));
    folders
        .filter(|folder| tree.sources(folder).count() > 1)
        .filter(|folder| {
            !tree
                .sources(folder)
                .any(|(_, text)| text.contains("spec: "))
        })
        .map(|folder| format!("{folder} follows a protocol and cites none (`spec: …`)"))
        .collect()
}
