//! The latest time this box knew, kept over a loss of power: a line in a file beside the data.

use std::fs;
use std::path::{Path, PathBuf};

use frond_clock::Timestamp;

/// Where it is kept.
pub(crate) fn path(base: &Path) -> PathBuf {
    base.join("known-time")
}

/// What was kept; a file that is not there or cannot be read is nothing.
pub(crate) fn read(path: &Path) -> Option<Timestamp> {
    Timestamp::parse_rfc3339(fs::read_to_string(path).ok()?.trim())
}

/// Keeps it: the old or the new is there whenever the power goes.
pub(crate) fn write(path: &Path, time: Timestamp) -> std::io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, format!("{time}\n"))?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_read_and_rubbish_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = path(dir.path());
        assert_eq!(read(&file), None);
        let time = Timestamp::from_nanos(1_800_000_000_123_456_789);
        write(&file, time).unwrap();
        assert_eq!(read(&file), Some(time));
        fs::write(&file, "x").unwrap();
        assert_eq!(read(&file), None);
    }
}
