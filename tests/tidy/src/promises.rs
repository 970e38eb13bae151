//! What `SECURITY.md` says is shown by tests that are there.

use std::collections::BTreeSet;

use crate::tree::Tree;

const PROMISES: &str = "SECURITY.md";

/// Every test that a table of `SECURITY.md` names in its last column is in a source file.
#[must_use]
pub fn promises(tree: &Tree) -> Vec<String> {
    let tests: BTreeSet<_> = tree
        .sources("")
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| {
            let (_, rest) = line.split_once("fn ")?;
            rest.split_once('(').map(|(name, _)| name.trim())
        })
        .collect();
    let text = tree.files().find(|(path, _)| *path == PROMISES);
    let rows = text.map_or("", |(_, text)| text).lines().enumerate();
    let rows = rows.filter(|(_, line)| line.starts_with('|'));
    let named = rows.flat_map(|(at, line)| {
        let shown_by = line.trim_end_matches('|').rsplit('|').next();
        let names = shown_by.unwrap_or_default().split('`').skip(1).step_by(2);
        names.map(move |name| (at + 1, name))
    });
    named
        .filter(|(_, name)| !name.contains('/') && !tests.contains(name))
        .map(|(line, name)| format!("{PROMISES}:{line} names {name}, which is no test here"))
        .collect()
}
