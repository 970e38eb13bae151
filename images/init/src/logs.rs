//! Logs in memory, bounded: two files for each service, the newer one is written to.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

/// Of one file; there are two for each service.
const LOG_BYTES_MAX: u64 = 512 * 1024;
/// A line that is longer is cut there.
const LINE_BYTES_MAX: u64 = 8 * 1024;

/// The log of one service.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Log {
    pub(crate) fn open(folder: &Path, name: &str) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}.log"));
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes })
    }

    /// Adds a line, and begins a new file when this one is full.
    pub(crate) fn add(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes >= LOG_BYTES_MAX {
            std::fs::rename(&self.path, self.path.with_extension("log.old"))?;
            self.file = File::create(&self.path)?;
            self.bytes = 0;
        }
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }
}

/// Takes what a service says until it ends; with `is_chatty` the console hears it too.
pub(crate) fn follow(mut log: Log, from: impl Read, is_chatty: bool) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match from
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // A log that cannot be written must not stop who writes it.
        let _ = log.add(&line);
        if is_chatty {
            let _ = io::stdout().write_all(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_takes_more_than_two_files() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), "x").unwrap();
        let text = "0123456789abcdef\n".repeat(200_000);
        follow(log, text.as_bytes(), false);
        let sizes: Vec<u64> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), 2);
        assert!(
            sizes
                .iter()
                .all(|size| *size <= LOG_BYTES_MAX + LINE_BYTES_MAX)
        );
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(dir.path(), "x").unwrap();
        follow(log, [b'a'; 20_000].as_slice(), false);
        let size = dir.path().join("x.log").metadata().unwrap().len();
        assert_eq!(size, 20_000);
    }
}
