//! The disk that the image is on: its partitions by name, and the boot state.

use std::ffi::OsStr;
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
/// Where the kernel shows block devices.
const SYS: &str = "/sys/class/block";
/// What the root is once it is checked, block by block.
const ROOT: &str = "dm-0";

/// The device of the image's partition of that name, when the kernel knows it.
pub(crate) fn partition(name: &str) -> Option<PathBuf> {
    Blocks(Path::new(SYS)).partition(name)
}

/// As [`partition`], but waits for a disk that takes its time.
pub(crate) fn wait_for_partition(name: &str) -> io::Result<PathBuf> {
    wait_for(APPEARS_WITHIN, || partition(name))
        .ok_or_else(|| io::Error::other(format!("no partition {PREFIX}{name} appears")))
}

/// The disk that a partition is on.
pub(crate) fn whole(partition: &Path) -> Option<PathBuf> {
    let disk = Blocks(Path::new(SYS)).disk(partition.file_name()?)?;
    Some(Path::new("/dev").join(disk.file_name()?))
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

/// Block devices as the kernel shows them below a folder.
struct Blocks<'a>(&'a Path);

impl Blocks<'_> {
    /// A box may find the card of another in a reader, or one that was made to look like its own:
    /// what is beside the checked root is ours and nothing else is. Before there is one, what was
    /// built in goes before what was plugged in, and then the kernel's order counts.
    fn partition(&self, name: &str) -> Option<PathBuf> {
        let wanted = format!("PARTNAME={PREFIX}{name}");
        let all = std::fs::read_dir(self.0).ok()?.filter_map(Result::ok);
        let named = all.filter(|entry| {
            let told = std::fs::read_to_string(entry.path().join("uevent")).unwrap_or_default();
            told.lines().any(|line| line == wanted)
        });
        let mut found: Vec<_> = named.map(|entry| entry.file_name()).collect();
        if let Some(own) = self.disk_of_root() {
            found.retain(|device| self.disk(device).as_ref() == Some(&own));
        }
        found.sort_by_key(|device| (self.is_plugged_in(device), device.clone()));
        Some(Path::new("/dev").join(found.into_iter().next()?))
    }

    /// Where the kernel has the disk that a partition is on.
    fn disk(&self, partition: &OsStr) -> Option<PathBuf> {
        let real = std::fs::canonicalize(self.0.join(partition)).ok()?;
        Some(real.parent()?.to_owned())
    }

    fn disk_of_root(&self) -> Option<PathBuf> {
        let below = std::fs::read_dir(self.0.join(ROOT).join("slaves")).ok()?;
        let first = below.filter_map(Result::ok).next()?;
        self.disk(&first.file_name())
    }

    fn is_plugged_in(&self, device: &OsStr) -> bool {
        let real = std::fs::canonicalize(self.0.join(device)).unwrap_or_default();
        let mut on = real.components();
        on.any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"usb"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    /// A disk with partitions, and what the kernel shows of it.
    fn plug(sys: &Path, bus: &str, disk: &str, partitions: &[(&str, &str)]) {
        for (partition, name) in partitions {
            let real = sys
                .join("devices")
                .join(bus)
                .join("block")
                .join(disk)
                .join(partition);
            create_dir_all(&real).unwrap();
            write(
                real.join("uevent"),
                format!("DEVTYPE=partition\nPARTNAME={name}\n"),
            )
            .unwrap();
            symlink(&real, sys.join("class").join(partition)).unwrap();
        }
    }

    #[test]
    fn what_was_plugged_in_is_never_taken_for_ours() {
        let sys = tempfile::tempdir().unwrap();
        let sys = sys.path();
        create_dir_all(sys.join("class")).unwrap();
        let class = sys.join("class");
        let blocks = Blocks(&class);
        let found = |name| blocks.partition(name);
        assert_eq!(found("root_a"), None);
        let usb = "platform/usb1/1-1";
        let all = [
            ("sda5", "frond_root_a"),
            ("sda6", "frond_root_b"),
            ("sda8", "frond_data"),
        ];
        plug(sys, usb, "sda", &all);
        // A box may be started from a stick.
        assert_eq!(found("root_a"), Some("/dev/sda5".into()));
        plug(
            sys,
            "platform/mmc",
            "mmcblk0",
            &[("mmcblk0p5", "frond_root_a")],
        );
        assert_eq!(found("root_a"), Some("/dev/mmcblk0p5".into()));
        // The root is there: what its disk lacks is not taken from another.
        let root = sys.join("devices/virtual/block/dm-0");
        create_dir_all(root.join("slaves")).unwrap();
        symlink(class.join("mmcblk0p5"), root.join("slaves/mmcblk0p5")).unwrap();
        symlink(&root, class.join("dm-0")).unwrap();
        assert_eq!(found("root_a"), Some("/dev/mmcblk0p5".into()));
        assert_eq!(found("data"), None);
        assert_eq!(found("root_b"), None);
        plug(
            sys,
            "platform/mmc",
            "mmcblk0",
            &[("mmcblk0p8", "frond_data")],
        );
        assert_eq!(found("data"), Some("/dev/mmcblk0p8".into()));
    }
}
