//! Files of whoever looks after the boxes: at any time a file is what it was, or what it is to be.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

pub(super) fn read_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| said(path, &error))
}

pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| said(path, &error))
}

pub(super) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), String> {
    replace(path, bytes).map_err(|error| said(path, &error))
}

/// Makes another text of a file's, or of none when it is not there; `None`: it stays as it is.
/// Whoever does the same at the same time comes after.
pub(super) fn change(
    path: &Path,
    change: impl FnOnce(Option<String>) -> Result<Option<String>, String>,
) -> Result<(), String> {
    let dir = File::open(dir_of(&resolved(path)));
    let dir = dir.map_err(|error| said(path, &error))?;
    dir.lock().map_err(|error| said(path, &error))?;
    let before = match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(said(path, &error)),
    };
    match change(before)? {
        Some(text) => write_bytes(path, text.as_bytes()),
        None => Ok(()),
    }
}

fn said(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Whom a link names.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn dir_of(path: &Path) -> &Path {
    let dir = path.parent().filter(|it| !it.as_os_str().is_empty());
    dir.unwrap_or_else(|| Path::new("."))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let before = fs::metadata(path).ok();
    if before.as_ref().is_some_and(|it| !it.is_file()) {
        // A terminal or a pipe.
        return fs::write(path, bytes);
    }
    let path = resolved(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = write_new(&new, before.as_ref(), bytes).and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written?;
    File::open(dir_of(&path))?.sync_all()
}

/// Who could read the file that it takes the place of reads it too.
fn write_new(new: &Path, before: Option<&fs::Metadata>, bytes: &[u8]) -> io::Result<()> {
    let _ = fs::remove_file(new);
    let mut file = OpenOptions::new().write(true).create_new(true).open(new)?;
    if let Some(before) = before {
        let is = file.metadata()?;
        if (is.uid(), is.gid()) != (before.uid(), before.gid()) {
            fchown(&file, Some(before.uid()), Some(before.gid()))?;
        }
        file.set_permissions(before.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder that is gone with its test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir();
            let dir = dir.join(format!("frond-hub-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir(&dir).unwrap();
            Self(dir)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_never_half_of_what_it_is_to_be() {
        let dir = Folder::new("whole");
        let (path, link, before) = ["users", "link", "before"].map(|it| dir.0.join(it)).into();
        write_bytes(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        fs::hard_link(&path, &before).unwrap();
        write_bytes(&link, b"two").unwrap();
        // What was open or linked is the old one: it was not written into.
        assert_eq!(fs::read(&before).unwrap(), b"one");
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 3);
        write_bytes(Path::new("/dev/null"), b"nothing").unwrap();
    }

    #[test]
    fn who_changes_a_file_at_the_same_time_loses_nothing() {
        let dir = Folder::new("change");
        let path = dir.0.join("users");
        let grow = || {
            for _ in 0..20 {
                let more = |it: Option<String>| Ok(Some(it.unwrap_or_default() + "x"));
                change(&path, more).unwrap();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(grow);
            scope.spawn(grow);
        });
        assert_eq!(read_text(&path).unwrap().len(), 40);
        change(&path, |_| Ok(None)).unwrap();
        assert!(change(&path, |_| Err("no".to_owned())).is_err());
        assert_eq!(read_text(&path).unwrap().len(), 40);
    }
}
