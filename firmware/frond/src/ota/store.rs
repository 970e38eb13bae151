use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use frond_ota::limits::RECORD_BYTES_MAX;
use frond_ota::{Digest, File, Shelf};

/// The updater's files: a folder, and another one for what is kept in two places.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    dir: PathBuf,
    second: PathBuf,
}

const BUNDLE: &str = "bundle-";

impl Store {
    /// In these folders, which need not be there yet.
    pub(crate) fn new(dir: &str, second: Option<&str>) -> Self {
        Self {
            dir: PathBuf::from(dir),
            second: PathBuf::from(second.unwrap_or(dir)),
        }
    }

    /// Makes the folders; what cannot be made is told when it is written to.
    pub(crate) fn make(&self) {
        for dir in [&self.dir, &self.second] {
            let _ = fs::create_dir_all(dir);
        }
    }

    /// The socket at which people ask.
    pub(crate) fn control(&self) -> PathBuf {
        self.dir.join("control")
    }

    /// Replaces a file whole: whenever the power goes, the old or the new one is there.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(crate) fn write(&self, file: File, bytes: &[u8]) -> Result<(), String> {
        let path = self.path(file);
        let named = |error: io::Error| format!("{}: {error}", path.display());
        write_whole(&path, bytes).map_err(named)
    }

    /// Removes a file; one that is not there is as good.
    pub(crate) fn remove(&self, file: File) {
        let _ = fs::remove_file(self.path(file));
    }

    fn path(&self, file: File) -> PathBuf {
        match file {
            File::RecordA => self.dir.join("record-a"),
            File::RecordB => self.dir.join("record-b"),
            File::Floor => self.second.join("frond-floor"),
            File::Bundle(digest) => self.dir.join(format!("{BUNDLE}{digest}")),
        }
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(dir)?;
    let beside = path.with_extension("new");
    let mut file = fs::File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    fs::File::open(dir)?.sync_all()
}

impl Shelf for Store {
    fn read(&self, file: File) -> Result<Option<Vec<u8>>, String> {
        let path = self.path(file);
        let read = fs::File::open(&path).and_then(|file| {
            let most = u64::try_from(RECORD_BYTES_MAX).unwrap_or(u64::MAX);
            let mut bytes = Vec::new();
            // One that is longer is damaged, and is seen to be.
            file.take(most + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn bundles(&self) -> Result<Vec<Digest>, String> {
        let named = |error: io::Error| format!("{}: {error}", self.dir.display());
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(named(error)),
        };
        let mut digests = Vec::new();
        for entry in entries {
            let name = entry.map_err(named)?.file_name();
            let name = name.to_str().and_then(|name| name.strip_prefix(BUNDLE));
            digests.extend(name.and_then(Digest::parse));
        }
        Ok(digests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_strangers_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("a"), dir.path().join("b"));
        let store = Store::new(first.to_str().unwrap(), second.to_str());
        let digest = Digest::of(b"x");
        for file in [
            File::RecordA,
            File::RecordB,
            File::Floor,
            File::Bundle(digest),
        ] {
            assert_eq!(store.read(file), Ok(None));
            store.write(file, b"one").unwrap();
            store.write(file, b"two").unwrap();
            assert_eq!(store.read(file), Ok(Some(b"two".to_vec())));
        }
        fs::write(first.join("bundle-x"), "").unwrap();
        assert_eq!(store.bundles(), Ok(vec![digest]));
        store.remove(File::Bundle(digest));
        assert_eq!(store.bundles(), Ok(Vec::new()));
        // What is there and cannot be read is not absent.
        fs::create_dir(first.join(format!("bundle-{digest}"))).unwrap();
        store.read(File::Bundle(digest)).unwrap_err();
        assert!(second.join("frond-floor").is_file());
    }
}
