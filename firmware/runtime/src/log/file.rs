use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::clock::wall_clock;

/// Who may read it: it tells of users, addresses and the code that a box is claimed with.
const LOG_FILE_MODE: u32 = 0o640;

/// A log file that is moved aside when it grows past its limit.
/// spec: nats-server v2.15.1 logger/log.go `fileLogger`.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// Past so many bytes it is rotated; `None` never.
    bytes_max: Option<u64>,
    /// Files kept, the current one included; `None` keeps all.
    files_max: Option<u64>,
}

impl LogFile {
    pub(super) fn open(
        path: &Path,
        bytes_max: Option<u64>,
        files_max: Option<u64>,
    ) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(LOG_FILE_MODE);
        let file = options.open(path)?;
        Ok(Self {
            bytes: file.metadata()?.len(),
            path: path.to_owned(),
            file,
            bytes_max,
            files_max,
        })
    }

    pub(super) fn reopen(&mut self) -> io::Result<()> {
        *self = Self::open(&self.path, self.bytes_max, self.files_max)?;
        Ok(())
    }

    /// Writes a line; `said` makes one of the words about a rotation that follows.
    pub(super) fn write(&mut self, line: &str, said: impl Fn(&str) -> String) {
        if self.file.write_all(line.as_bytes()).is_err() {
            return;
        }
        self.bytes += line.len() as u64;
        let Some(limit) = self.bytes_max.filter(|limit| self.bytes > *limit) else {
            return;
        };
        let words = match self.rotate() {
            Ok(words) => words,
            Err(error) => {
                self.bytes_max = Some(limit.saturating_mul(2));
                vec![format!(
                    "Unable to rotate the log file ({error}), will attempt next rotation at size {}",
                    limit.saturating_mul(2)
                )]
            }
        };
        for words in words {
            let line = said(&words);
            let _ = self.file.write_all(line.as_bytes());
            self.bytes += line.len() as u64;
        }
    }

    /// Moves the file aside and starts another; what to say about it.
    fn rotate(&mut self) -> io::Result<Vec<String>> {
        let (year, month, day, hour, minute, second, nanos) = wall_clock().civil();
        let backup = format!(
            "{}.{year:04}.{month:02}.{day:02}.{hour:02}.{minute:02}.{second:02}.{nanos:09}",
            self.path.display()
        );
        fs::rename(&self.path, &backup)?;
        self.reopen()?;
        let mut said = vec![format!("Rotated log, backup saved as {backup:?}")];
        said.extend(self.purge());
        Ok(said)
    }

    /// Removes the oldest backups beyond those to keep.
    fn purge(&self) -> Vec<String> {
        let Some(kept) = self.files_max.and_then(|max| max.checked_sub(1)) else {
            return Vec::new();
        };
        let mut backups = self.backups().unwrap_or_default();
        backups.sort();
        let surplus = backups
            .len()
            .saturating_sub(usize::try_from(kept).unwrap_or(usize::MAX));
        backups.truncate(surplus);
        let purge = |path: PathBuf| match fs::remove_file(&path) {
            Ok(()) => format!("Purged log file {:?}", path.display().to_string()),
            Err(error) => format!("Unable to remove log file {:?}: {error}", path.display()),
        };
        backups.into_iter().map(purge).collect()
    }

    fn backups(&self) -> io::Result<Vec<PathBuf>> {
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let mut found = Vec::new();
        for entry in fs::read_dir(dir.unwrap_or_else(|| Path::new(".")))? {
            let path = entry?.path();
            let other = path.file_name().unwrap_or_default().to_string_lossy();
            let rest = other
                .strip_prefix(&*name)
                .and_then(|rest| rest.strip_prefix('.'));
            if rest.is_some_and(is_stamp) {
                found.push(path);
            }
        }
        Ok(found)
    }
}

/// Whether an ending is one a rotation gives: `2026.11.29.23.01.02.000000003`.
fn is_stamp(ending: &str) -> bool {
    let mut parts = ending.split('.');
    parts.clone().count() == 7 && parts.all(|part| part.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_full_file_is_moved_aside_and_only_so_many_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        fs::write(dir.path().join("x.log.old"), "not ours").unwrap();
        let mut log = LogFile::open(&path, Some(100), Some(3)).unwrap();
        for _ in 0..20 {
            log.write(&format!("{}\n", "a".repeat(60)), |words| {
                format!("{words}\n")
            });
        }
        let names = names(dir.path());
        assert_eq!(
            names.len(),
            4,
            "the log, two backups and a stranger: {names:?}"
        );
        assert!(names.contains(&"x.log.old".to_owned()));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o137, 0, "{mode:o}");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("Rotated log, backup saved as"), "{text}");
        assert!(text.contains("Purged log file"), "{text}");
    }

    #[test]
    fn a_file_that_was_there_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        fs::write(&path, "b".repeat(99)).unwrap();
        let mut log = LogFile::open(&path, Some(100), None).unwrap();
        log.write("cc\n", str::to_owned);
        assert_eq!(names(dir.path()).len(), 2);
    }
}
