//! The latest time this box knew, kept over a loss of power: a line in a file beside the data.
//! Each line after it is a span in which time was not believed: from, until, lag in nanoseconds.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use frond_clock::{Gap, Timestamp};

/// Where it is kept.
pub(crate) fn path(base: &Path) -> PathBuf {
    base.join("known-time")
}

/// What was kept; a file that is not there or cannot be read is nothing, and damage is said.
pub(crate) fn read(path: &Path) -> (Option<Timestamp>, Vec<Gap>) {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            let path = path.display();
            tracing::warn!(
                "{path} is damaged, the latest time known here is lost ({error}): \
                 it is written anew; check the clock of this machine"
            );
            String::new()
        }
    };
    let mut lines = text.lines();
    let known = lines
        .next()
        .and_then(|line| Timestamp::parse_rfc3339(line.trim()));
    (known, lines.filter_map(gap).collect())
}

fn gap(line: &str) -> Option<Gap> {
    let mut words = line.split_whitespace();
    Some(Gap {
        from: Timestamp::parse_rfc3339(words.next()?)?,
        until: Timestamp::parse_rfc3339(words.next()?)?,
        lag: Duration::from_nanos(words.next()?.parse().ok()?),
    })
}

/// Keeps it: the old or the new is there whenever the power goes.
pub(crate) fn write(path: &Path, time: Timestamp, gaps: &[Gap]) -> std::io::Result<()> {
    let mut text = format!("{time}\n");
    for gap in gaps {
        let _ = writeln!(text, "{} {} {}", gap.from, gap.until, gap.lag.as_nanos());
    }
    let new = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_read_and_rubbish_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = path(dir.path());
        assert_eq!(read(&file), (None, Vec::new()));
        let time = Timestamp::from_nanos(1_800_000_000_123_456_789);
        let gap = Gap {
            from: Timestamp::from_nanos(1_700_000_000_000_000_000),
            until: time,
            lag: Duration::from_nanos(99_999_999_999_999_999),
        };
        write(&file, time, &[gap, gap]).unwrap();
        assert_eq!(read(&file), (Some(time), vec![gap, gap]));
        fs::write(&file, "x\ny").unwrap();
        assert_eq!(read(&file), (None, Vec::new()));
    }
}
