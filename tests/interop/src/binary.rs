//! Which server is meant, and where its binary is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::say::say;

/// A server under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `frond`, the leaf binary.
    Leaf,
    /// `frond-hub`.
    Hub,
    /// nats-server 2.15.1, the one to agree with.
    Real,
}

impl Kind {
    /// What to call it in a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaf => "frond",
            Self::Hub => "frond-hub",
            Self::Real => "nats-server",
        }
    }

    /// The binary's path. `FROND_BIN` and `FROND_HUB_BIN` name others to be put to the same tests (another profile, or
    /// nats-server itself to prove a test).
    ///
    /// # Panics
    /// When the binary can't be built or fetched.
    #[must_use]
    pub fn binary(self) -> PathBuf {
        let (package, variable) = match self {
            Self::Leaf => ("frond", "FROND_BIN"),
            Self::Hub => ("frond-hub", "FROND_HUB_BIN"),
            Self::Real => return crate::real_server(),
        };
        if let Some(given) = std::env::var_os(variable) {
            return PathBuf::from(given);
        }
        built(package)
    }
}

/// The folder cargo builds into, found from the running test's own path.
///
/// # Panics
/// When the running program doesn't sit in a cargo target folder.
#[must_use]
pub fn target_dir() -> PathBuf {
    profile_dir()
        .parent()
        .expect("a profile folder sits in the target folder")
        .to_path_buf()
}

/// `target/<profile>`: tests run from its `deps`, examples from `examples`, binaries from itself.
fn profile_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("path of the running program");
    let dir = exe.parent().expect("a program sits in a folder");
    let nested = ["deps", "examples"].iter().any(|name| dir.ends_with(name));
    if nested {
        dir.parent().expect("nested").to_path_buf()
    } else {
        dir.to_path_buf()
    }
}

fn built(package: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let profile = profile_dir();
    let name = profile
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    BUILT.get_or_init(|| build(if name == "debug" { "dev" } else { &name }));
    found(&profile, package)
}

/// The release binary of a package, built if need be: what a budget on the product is held against.
///
/// # Panics
/// When it can't be built.
#[must_use]
pub fn release_binary(package: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| build("release"));
    found(&target_dir().join("release"), package)
}

fn found(profile: &Path, package: &str) -> PathBuf {
    let path = profile.join(package);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build -p {package}`",
        path.display()
    );
    path
}

/// One build for both binaries; cargo's own lock makes concurrent test processes wait for each other.
fn build(profile: &str) {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--quiet",
        "-p",
        "frond",
        "-p",
        "frond-hub",
        "--profile",
        profile,
    ]);
    cargo.arg("--target-dir").arg(target_dir());
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    say(&format!("building frond and frond-hub ({profile})"));
    let status = cargo.status().expect("cargo can be started");
    assert!(
        status.success(),
        "frond and frond-hub don't build; see cargo's words above"
    );
}
