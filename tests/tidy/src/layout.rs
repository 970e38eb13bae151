//! Where things lie and how long they are.

use crate::manifest::Manifest;
use crate::tree::Tree;

const FOLDERS: &[&str] = &[
    "board-support",
    "firmware",
    "hub",
    "images",
    "tests",
    "yocto",
];
const FILES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "rust-toolchain.toml",
];
const LINES_MAX: usize = 500;

/// The top level is the design's, dotfiles aside.
#[must_use]
pub fn top_level(tree: &Tree) -> Vec<String> {
    let mut wrong: Vec<String> = FOLDERS
        .iter()
        .filter(|folder| {
            !tree
                .files()
                .any(|(path, _)| path.starts_with(&format!("{folder}/")))
        })
        .chain(
            FILES
                .iter()
                .filter(|file| !tree.files().any(|(path, _)| path == **file)),
        )
        .map(|name| format!("{name} is missing at the top level"))
        .collect();
    for (path, _) in tree.files() {
        let (name, known) = path
            .split_once('/')
            .map_or((path, FILES), |(folder, _)| (folder, FOLDERS));
        let text = format!("{name} doesn't belong at the top level");
        if !known.contains(&name) && !name.starts_with('.') && !wrong.contains(&text) {
            wrong.push(text);
        }
    }
    wrong
}

/// The workspace lists every crate, as a member or as excluded, and nothing that isn't there.
#[must_use]
pub fn members(tree: &Tree) -> Vec<String> {
    let root = tree
        .files()
        .find(|(path, _)| *path == "Cargo.toml")
        .map_or("", |(_, text)| text);
    let listed = [list(root, "members = ["), list(root, "exclude = [")].concat();
    let manifests = Manifest::all(tree);
    let absent = listed
        .iter()
        .filter(|name| !manifests.iter().any(|m| m.folder == **name));
    let unlisted = manifests
        .iter()
        .filter(|m| !listed.contains(&m.folder.as_str()));
    absent
        .map(|name| format!("{name} is a member but not there"))
        .chain(unlisted.map(|m| format!("{} is there but no member", m.folder)))
        .collect()
}

fn list<'a>(root: &'a str, start: &str) -> Vec<&'a str> {
    let list = root
        .split_once(start)
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("", |(list, _)| list);
    list.split(',')
        .map(|item| item.trim().trim_matches('"'))
        .filter(|item| !item.is_empty())
        .collect()
}

/// No source file grows past what a reader takes in.
#[must_use]
pub fn file_length(tree: &Tree) -> Vec<String> {
    let lengths = tree
        .sources("")
        .map(|(path, text)| (path, text.lines().count()));
    lengths
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(path, lines)| format!("{path} has {lines} lines, {LINES_MAX} are the most"))
        .collect()
}

/// Crates that have `unsafe`, which the workspace's lints forbid, and say why in their manifest.
const WITH_UNSAFE: &[&str] = &["board-support/patience", "firmware/trim", "images/restart"];

/// Every crate is held to the workspace's lints.
#[must_use]
pub fn lints_opted_in(tree: &Tree) -> Vec<String> {
    let manifests = Manifest::all(tree).into_iter();
    manifests
        .filter(|m| !m.lints && !WITH_UNSAFE.contains(&m.folder.as_str()))
        .map(|m| format!("{} lacks `[lints] workspace = true`", m.folder))
        .collect()
}
