//! Mounts, in the one way an image has them.

use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, mount, mount_move};

/// What the kernel shows of itself.
pub(crate) fn kernel_file_systems() -> io::Result<()> {
    let strict = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    put("proc", "/proc", "proc", strict, "")?;
    put("sysfs", "/sys", "sysfs", strict, "")?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    put("devtmpfs", "/dev", "devtmpfs", flags, "mode=0755")
}

/// What is gone at the next start; both are small, so that nothing eats the memory.
pub(crate) fn memory_file_systems() -> io::Result<()> {
    let strict = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    put("tmpfs", "/run", "tmpfs", strict, "mode=0755,size=8m")?;
    put("tmpfs", "/tmp", "tmpfs", strict, "mode=1777,size=16m")
}

/// The root: read-only, whatever happens.
pub(crate) fn root(device: &Path, at: &str) -> io::Result<()> {
    put(
        device,
        at,
        "squashfs",
        MountFlags::RDONLY | MountFlags::NODEV,
        "",
    )
}

/// What is kept.
pub(crate) fn kept(device: &Path, at: &str) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOATIME;
    put(device, at, "ext4", flags, "errors=remount-ro")
}

/// What somebody else made: a stick, a boot partition.
pub(crate) fn foreign(device: &Path, at: &str) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    put(device, at, "vfat", flags, "")
}

/// The first partition, for the one file on it that is ever changed.
pub(crate) fn choice(device: &Path, at: &str) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOATIME;
    put(device, at, "vfat", flags, "")
}

/// Moves what is mounted at `from`.
pub(crate) fn relocate(from: &str, to: &str) -> io::Result<()> {
    Ok(mount_move(from, to)?)
}

fn put(
    source: impl AsRef<Path>,
    at: &str,
    kind: &str,
    flags: MountFlags,
    options: &str,
) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    let mounted = mount(source.as_ref(), at, kind, flags, options.as_c_str());
    mounted.map_err(|error| io::Error::other(format!("{at}: {error}")))
}
