//! Updates from a stick: a FAT volume that is not ours and has a `*.frondimg` at its top.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::{disk, mounts};

/// Where a stick is mounted, read-only.
const AT: &str = "/run/stick";

/// Sticks that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Sticks {
    seen: BTreeSet<PathBuf>,
}

impl Sticks {
    /// A bundle on a stick that was not there when it was last looked. The stick stays mounted
    /// until [`Sticks::done`].
    pub(crate) fn look(&mut self) -> Option<PathBuf> {
        let there = volumes();
        self.seen.retain(|device| there.contains(device));
        for device in there {
            if !self.seen.insert(device.clone()) {
                continue;
            }
            let _ = std::fs::create_dir_all(AT);
            if mounts::foreign(&device, AT).is_err() {
                continue;
            }
            match bundle(Path::new(AT)) {
                Some(path) => return Some(path),
                None => Self::done(),
            }
        }
        None
    }

    /// It is not needed any more.
    pub(crate) fn done() {
        let _ = rustix::mount::unmount(AT, rustix::mount::UnmountFlags::DETACH);
    }
}

/// Everything that may hold a file system and is not on the image's disk.
fn volumes() -> BTreeSet<PathBuf> {
    let own = disk::partition("bootstate").and_then(|path| disk::whole(&path));
    let own = own
        .as_deref()
        .and_then(Path::file_name)
        .map(|it| it.to_owned());
    let entries = std::fs::read_dir("/sys/class/block").into_iter().flatten();
    let names = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name());
    let names = names.filter(|name| {
        let name = name.to_string_lossy();
        let is_ours = own
            .as_ref()
            .is_some_and(|own| name.starts_with(&*own.to_string_lossy()));
        let is_medium = ["sd", "vd", "mmcblk"]
            .iter()
            .any(|kind| name.starts_with(kind));
        is_medium && !is_ours && !name.contains("boot")
    });
    names.map(|name| Path::new("/dev").join(name)).collect()
}

/// The bundle whose name comes last, as versions are written with leading zeros or dates.
fn bundle(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "frondimg"))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_by_name_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(bundle(dir.path()), None);
        for name in ["a-001.frondimg", "a-002.frondimg", "z.txt"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(bundle(dir.path()), Some(dir.path().join("a-002.frondimg")));
    }
}
