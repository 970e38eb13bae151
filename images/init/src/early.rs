//! The first process of the initial file system: modules, the disk, the root.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::command_line::CommandLine;
use crate::message::{grumble, say};
use crate::{disk, modules, mounts};

/// Only the initial file system has it: how the root of this boot partition is checked.
const VERITY: &str = "/etc/verity";
/// Where the root is put before it becomes the root.
const ROOT: &str = "/root";

/// Whether this is the initial file system.
pub(crate) fn is_initial() -> bool {
    Path::new(VERITY).exists()
}

/// Goes on to the root's own first process. When that cannot be, the kernel is left to panic: it
/// restarts the box, and the boot loader counts.
pub(crate) fn run() -> ExitCode {
    let error = go_on();
    say(&format!("the root cannot be started: {error}"));
    ExitCode::FAILURE
}

fn go_on() -> io::Error {
    match prepare() {
        Ok(()) => Command::new("/sbin/init").exec(),
        Err(error) => error,
    }
}

fn prepare() -> io::Result<()> {
    mounts::kernel_file_systems()?;
    modules::load("/etc/modules");
    let line = CommandLine::read();
    let slot = line.slot.ok_or_else(|| io::Error::other("no slot"))?;
    let name = format!("root_{}", slot.letter());
    let bare = disk::wait_for_partition(&name)?;
    if let Some(true) = grumble("growing the data partition", disk::grow(&bare)) {
        say("the data partition goes to the end of the disk");
    }
    mounts::root(&checked(&name)?, ROOT)?;
    for name in ["/proc", "/sys", "/dev"] {
        mounts::relocate(name, &format!("{ROOT}{name}"))?;
    }
    // What lies in the initial file system is memory.
    for name in ["/usr", "/lib", "/bin", "/sbin", "/etc"] {
        let _ = std::fs::remove_dir_all(name).or_else(|_| std::fs::remove_file(name));
    }
    rustix::process::chdir(ROOT)?;
    mounts::relocate(".", "/")?;
    rustix::process::chroot(".")?;
    Ok(rustix::process::chdir("/")?)
}

/// The root with every block checked against the hash tree behind it, whose own root hash is in
/// the boot partition.
fn checked(name: &str) -> io::Result<PathBuf> {
    let device = disk::wait_for_partition(name)?;
    let table = std::fs::read_to_string(VERITY)?;
    let table = table.trim().replace("DEVICE", &device.to_string_lossy());
    let status = Command::new("/sbin/dmsetup")
        .args([
            "create",
            "root",
            "--readonly",
            "--noudevsync",
            "--noudevrules",
            "--table",
        ])
        .arg(&table)
        .env("LD_LIBRARY_PATH", "/lib")
        .status()?;
    if status.success() {
        // The kernel's own name for the first one: there is no udev to give it another.
        Ok(PathBuf::from("/dev/dm-0"))
    } else {
        Err(io::Error::other("the root's hash tree is refused"))
    }
}
