//! What starts found damaged, until an operator has seen it: they say so by removing the file.

use std::io;

use frond_ledger::Damage;

use crate::disk::{Disk, DiskFile as _};
use crate::limits::{REPORTS_BYTES_MAX, REPORTS_MAX};

pub(crate) const NAME: &str = "damage";

/// Adds `found` to the file; all that stands there.
pub(crate) fn keep<D: Disk>(disk: &D, found: &[Damage]) -> Vec<Box<str>> {
    let mut all = read(disk).unwrap_or_else(|error| {
        tracing::warn!(%error, "the file of reported damage cannot be read");
        Vec::new()
    });
    let before = all.len();
    for damage in found {
        let line = match damage.stream {
            Some(stream) => format!("stream number {}: {}", stream.0, damage.text),
            None => damage.text.clone(),
        };
        let line = line.replace('\n', " ").into_boxed_str();
        if all.len() < REPORTS_MAX && !all.contains(&line) {
            all.push(line);
        }
    }
    let new = all.get(before..).unwrap_or_default();
    if let Err(error) = append(disk, new) {
        tracing::warn!(%error, "damage cannot be reported again after the next start");
    }
    all
}

fn read<D: Disk>(disk: &D) -> io::Result<Vec<Box<str>>> {
    if !disk.list()?.iter().any(|name| name == NAME) {
        return Ok(Vec::new());
    }
    let file = disk.open(NAME)?;
    let mut bytes = vec![0; file.len()?.min(REPORTS_BYTES_MAX) as usize];
    file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.take(REPORTS_MAX).map(Box::from).collect())
}

fn append<D: Disk>(disk: &D, lines: &[Box<str>]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let file = disk.open(NAME)?;
    file.write_at(text.as_bytes(), file.len()?)?;
    file.sync_data()?;
    disk.sync_dir()
}
