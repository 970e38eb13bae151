//! The block device beneath a folder, from the system's statistics.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const SECTOR_BYTES: u64 = 512;

/// A block device that shows its statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    stat: PathBuf,
}

/// What a device has been given to do since the system started. Other programs write too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes of the device's cache.
    pub flushes: u64,
}

impl Device {
    /// The whole device under a folder; none when the system doesn't show it (overlays, containers, tmpfs).
    #[must_use]
    pub fn beneath(folder: &Path) -> Option<Self> {
        let dev = std::fs::metadata(folder).ok()?.dev();
        let (major, minor) = (
            (dev >> 8) & 0xfff,
            (dev & 0xff) | ((dev >> 12) & 0xffff_ff00),
        );
        let mut place = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
        if place.join("partition").exists() {
            place.pop();
        }
        let this = Self {
            stat: place.join("stat"),
        };
        this.counters().map(|_| this)
    }

    /// The counters now; none when the system is too old to count flushes.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        counters(&std::fs::read_to_string(&self.stat).ok()?)
    }
}

/// Fields of `/sys/block/<device>/stat`: the 7th counts written sectors, the 16th flushes.
fn counters(stat: &str) -> Option<Counters> {
    let fields: Vec<u64> = stat
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    Some(Counters {
        written_bytes: fields.get(6)? * SECTOR_BYTES,
        flushes: *fields.get(15)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_and_flushes_are_found() {
        let stat = "1 2 3 4 5 6 10 8 9 10 11 12 13 14 15 77 17\n";
        assert_eq!(
            counters(stat),
            Some(Counters {
                written_bytes: 5120,
                flushes: 77
            })
        );
        assert_eq!(counters("1 2 3 4 5 6 7 8 9 10 11"), None);
    }
}
