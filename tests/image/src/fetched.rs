use std::path::PathBuf;
use std::process::Command;

use interop::{say, target_dir};

/// A Python environment with these packages of PyPI, fetched once.
///
/// # Panics
/// When they cannot be had.
#[must_use]
pub fn fetched(name: &str, packages: &[&str]) -> PathBuf {
    let folder = target_dir().join("image").join(name);
    let done = folder.join("done");
    if std::fs::read_to_string(&done).ok() == Some(packages.join(" ")) {
        return folder;
    }
    say(&format!("fetching {}", packages.join(" ")));
    let run = |command: &mut Command| {
        let output = command.output().expect("Python 3 with venv");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {said}");
    };
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&folder));
    run(Command::new(folder.join("bin/pip"))
        .args(["install", "--quiet"])
        .args(packages));
    std::fs::write(&done, packages.join(" ")).expect("target folder can be written");
    folder
}
