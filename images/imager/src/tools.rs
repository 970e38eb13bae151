use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Outcome, openly, quietly};

/// Makes sure of programs and files of Debian's packages: `(path, package)`. What is missing is
/// installed where that may be done.
///
/// # Errors
/// What to install, when it cannot be.
pub fn need(wanted: &[(&str, &str)]) -> Outcome<()> {
    let missing = wanted.iter().filter(|(path, _)| !Path::new(path).exists());
    let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    let hint = format!(
        "apt-get install --no-install-recommends {}",
        packages.join(" ")
    );
    if !rustix::process::geteuid().is_root() {
        return Err(Error::new(format!("there is something missing: {hint}")));
    }
    // One after another: apt-get refuses to be there twice.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    eprintln!("imager: {hint}");
    quietly(Command::new("apt-get").args(["update", "-qq"]))?;
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-y", "-qq", "--no-install-recommends"]);
    apt.args(["-o", "DPkg::Lock::Timeout=600"]);
    apt.args(&packages).env("DEBIAN_FRONTEND", "noninteractive");
    apt.stdout(std::process::Stdio::null());
    openly(&mut apt)
}
