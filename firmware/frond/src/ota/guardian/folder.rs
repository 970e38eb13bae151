use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use frond_ota::limits::BUNDLE_BYTES_MAX;
use frond_runtime::steward::{News, Wish};

/// A folder that bundles may be put into, such as a stick's.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// What was tried: a path, a length and a time.
    seen: BTreeSet<String>,
}

/// Bundles that are looked at, at once.
const FILES_MAX: usize = 32;
/// Names that are looked at, at once.
const ENTRIES_MAX: usize = 20_000;
/// How the name of a bundle ends.
const ENDING: &str = "frond";

impl Folder {
    pub(super) fn new(path: &str) -> Self {
        Self {
            path: PathBuf::from(path),
            seen: BTreeSet::new(),
        }
    }

    /// Looks for bundles that were not tried yet.
    pub(super) fn look(&self) -> Wish {
        let (path, seen) = (self.path.clone(), self.seen.clone());
        Wish::Do(Box::new(move || News::Found(unseen(&path, &seen))))
    }

    /// The next one to try of those that were found.
    pub(super) fn next(&mut self, files: Vec<(String, Vec<u8>)>) -> Option<Vec<u8>> {
        let (key, bytes) = files.into_iter().next()?;
        self.seen.insert(key);
        Some(bytes)
    }
}

fn unseen(path: &PathBuf, seen: &BTreeSet<String>) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    // A stick has other things on it as well.
    let entries = entries.filter_map(Result::ok).take(ENTRIES_MAX);
    let bundles = entries.filter(|it| it.path().extension().is_some_and(|it| it == ENDING));
    for entry in bundles.take(FILES_MAX) {
        let path = entry.path();
        let Ok(about) = entry.metadata() else {
            continue;
        };
        if !about.is_file() {
            continue;
        }
        let changed = about
            .modified()
            .ok()
            .and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        let key = format!("{} {} {changed:?}", path.display(), about.len());
        if seen.contains(&key) {
            continue;
        }
        let most = u64::try_from(BUNDLE_BYTES_MAX).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let read =
            fs::File::open(&path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
        if read.is_ok() {
            found.push((key, bytes));
        }
    }
    found.sort();
    found.truncate(1);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_found_among_many_other_files() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..200 {
            fs::write(dir.path().join(format!("{n}.jpg")), "").unwrap();
        }
        fs::write(dir.path().join("new.frond"), "bundle").unwrap();
        let mut folder = Folder::new(dir.path().to_str().unwrap());
        let found = unseen(&folder.path, &folder.seen);
        assert_eq!(folder.next(found), Some(b"bundle".to_vec()));
        assert_eq!(unseen(&folder.path, &folder.seen), []);
    }
}
