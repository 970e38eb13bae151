//! The Raspberry Pi's own way of two boot partitions: `autoboot.txt` on the first partition names
//! the confirmed one, and a restart with a word starts the other one once.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use frond_slot::{Slot, autoboot};

use crate::{disk, mounts};

/// What the firmware tells of the start: the number of the boot partition, big-endian.
const PARTITION: &str = "/proc/device-tree/chosen/bootloader/partition";
const AT: &str = "/run/choice";

/// The slot that the firmware started, where it is the one who chooses.
pub(crate) fn running() -> Option<Slot> {
    slot_of(&std::fs::read(PARTITION).ok()?)
}

fn slot_of(told: &[u8]) -> Option<Slot> {
    match told.first_chunk().copied().map(u32::from_be_bytes)? {
        2 => Some(Slot::A),
        3 => Some(Slot::B),
        _ => None,
    }
}

/// The slot is started from now on.
pub(crate) fn confirm(slot: Slot) -> io::Result<()> {
    std::fs::create_dir_all(AT)?;
    mounts::choice(&disk::wait_for_partition("select")?, AT)?;
    let written = write(&Path::new(AT).join("autoboot.txt"), slot);
    rustix::mount::unmount(AT, rustix::mount::UnmountFlags::empty())?;
    written
}

/// In place: both texts have the same length and fit into a sector, which a power cut leaves old
/// or new.
fn write(path: &Path, slot: Slot) -> io::Result<()> {
    let text = autoboot(slot);
    if std::fs::read_to_string(path)? == text {
        return Ok(());
    }
    let mut file: File = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Restarts into the other boot partition, once.
pub(crate) fn restart() -> io::Error {
    frond_restart::restart_with(c"0 tryboot")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_firmware_tells_a_number() {
        assert_eq!(slot_of(&[0, 0, 0, 2]), Some(Slot::A));
        assert_eq!(slot_of(&[0, 0, 0, 3]), Some(Slot::B));
        assert_eq!(slot_of(&[0, 0, 0, 0]), None);
        assert_eq!(slot_of(&[]), None);
    }

    #[test]
    fn the_choice_is_written_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("autoboot.txt");
        std::fs::write(&path, autoboot(Slot::A)).unwrap();
        write(&path, Slot::B).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), autoboot(Slot::B));
        assert_eq!(autoboot(Slot::A).len(), autoboot(Slot::B).len());
        assert!(write(&dir.path().join("none"), Slot::A).is_err());
    }
}
