//! The meta layer is what bitbake reads and what its linter finds nothing wrong with.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads files and fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use image::fetched;

/// Fewer crates than that would mean that the list is cut.
const CRATES_MIN: &str = "150";

/// Rules that are not for here: the network is not asked, sources are this repository, and
/// variables of other layers are known to those.
const SUPPRESSED: [&str; 6] = [
    "oelint.vars.homepageping",
    "oelint.vars.autorev",
    "oelint.vars.mispell.unknown",
    "oelint.var.licenseremotefile",
    "oelint.var.suggestedvar.BUGTRACKER",
    "oelint.var.bbclassextend",
];

fn layer() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../yocto/meta-frond")
}

fn recipes(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            recipes(&path, found);
        } else if path
            .extension()
            .is_some_and(|it| it == "bb" || it == "bbappend")
        {
            found.push(path);
        }
    }
}

#[test]
fn bitbake_s_own_parser_takes_the_layer() {
    let venv = fetched("bitbake", &["bitbake-setup==2.19.0"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("py/parse_layer.py");
    let mut python = Command::new(venv.join("bin/python"));
    let output = python
        .arg(script)
        .arg(layer())
        .arg(CRATES_MIN)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    let mut found = Vec::new();
    recipes(&layer(), &mut found);
    assert_eq!(said.matches("parsed ").count(), found.len(), "{said}");
}

#[test]
fn the_linter_finds_nothing() {
    let venv = fetched("oelint", &["oelint-adv==9.11.2"]);
    let mut found = Vec::new();
    recipes(&layer(), &mut found);
    let mut lint = Command::new(venv.join("bin/oelint-adv"));
    lint.args(["--quiet", "--release", "wrynose"]);
    for rule in SUPPRESSED {
        lint.args(["--suppress", rule]);
    }
    let output = lint.args(found).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}

#[test]
fn what_follows_from_the_sources_does() {
    let place = imager::Place::here().unwrap();
    for (path, text) in imager::generated(&place).unwrap() {
        let is = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            is == text,
            "{} is old: cargo run -p imager -- yocto",
            path.display()
        );
    }
}
