//! The disk that the image is on: its partitions by name, and the boot state.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use frond_slot::limits::SECTOR_BYTES;
use frond_slot::{BootState, Gpt};
use std::io::{Seek as _, SeekFrom};

use crate::wait::wait_for;

const APPEARS_WITHIN: Duration = Duration::from_secs(30);
/// Partitions of all images have names of their own: a disk beside ours may be partitioned too.
const PREFIX: &str = "frond_";

/// The device of the image's partition of that name, when the kernel knows it.
pub(crate) fn partition(name: &str) -> Option<PathBuf> {
    let wanted = format!("PARTNAME={PREFIX}{name}");
    let all = std::fs::read_dir("/sys/class/block").ok()?;
    let mut all = all.filter_map(Result::ok).filter(|entry| {
        let told = std::fs::read_to_string(entry.path().join("uevent")).unwrap_or_default();
        told.lines().any(|line| line == wanted)
    });
    Some(Path::new("/dev").join(all.next()?.file_name()))
}

/// As [`partition`], but waits for a disk that takes its time.
pub(crate) fn wait_for_partition(name: &str) -> io::Result<PathBuf> {
    wait_for(APPEARS_WITHIN, || partition(name))
        .ok_or_else(|| io::Error::other(format!("no partition {PREFIX}{name} appears")))
}

/// The disk that a partition is on.
pub(crate) fn whole(partition: &Path) -> Option<PathBuf> {
    let name = partition.file_name()?;
    let real = std::fs::canonicalize(Path::new("/sys/class/block").join(name)).ok()?;
    Some(Path::new("/dev").join(real.parent()?.file_name()?))
}

/// Lets the last partition go to the end of the disk. Nothing of the disk may be in use.
pub(crate) fn grow(some_partition: &Path) -> io::Result<bool> {
    let path = whole(some_partition).ok_or_else(|| io::Error::other("no disk"))?;
    let mut disk = OpenOptions::new().read(true).write(true).open(&path)?;
    let mut table = Gpt::read(&mut disk).map_err(io::Error::other)?;
    let sectors = disk.seek(SeekFrom::End(0))? / SECTOR_BYTES as u64;
    if !table.grow_last(sectors) {
        return Ok(false);
    }
    table.write(&mut disk, sectors, |disk| disk.sync_all())?;
    drop(disk);
    let status = Command::new("/bin/busybox")
        .args(["blockdev", "--rereadpt"])
        .arg(&path)
        .status()?;
    if status.success() {
        Ok(true)
    } else {
        Err(io::Error::other("the kernel does not read the table again"))
    }
}

/// The boot state; a fresh one when there is none that is whole.
pub(crate) fn read_state() -> io::Result<BootState> {
    let mut device = File::open(wait_for_partition("bootstate")?)?;
    Ok(BootState::read(&mut device)?.unwrap_or_default())
}

/// Changes the boot state; when this returns it is on the medium. One process at a time: the first
/// one and `frond-slot` both write it, and neither may undo what the other did.
pub(crate) fn change_state(change: impl FnOnce(&mut BootState)) -> io::Result<BootState> {
    let path = wait_for_partition("bootstate")?;
    let mut device = OpenOptions::new().read(true).write(true).open(path)?;
    device.lock()?;
    let mut state = BootState::read(&mut device)?.unwrap_or_default();
    change(&mut state);
    state.write(&mut device, |device| device.sync_all())?;
    Ok(state)
}
