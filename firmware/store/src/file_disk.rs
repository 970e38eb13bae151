use core::num::NonZeroU64;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, FlockOperation, fadvise, fallocate, flock, statvfs};
use rustix::io::Errno;

use crate::disk::{Disk, DiskFile, Guard};

const LOCK_NAME: &str = "lock";
const CHUNK_BYTES: usize = 4096;
/// What a system may hold of a file in one piece in memory, at most.
const CACHED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A directory of the file system.
#[derive(Clone, Debug)]
pub struct FileDisk {
    directory: PathBuf,
}

impl FileDisk {
    /// The store in `directory`, which is made when it is not there.
    ///
    /// # Errors
    /// When it cannot be made or is not a directory.
    pub fn open(directory: impl AsRef<Path>) -> io::Result<Self> {
        let directory = directory.as_ref().to_path_buf();
        make_private(&directory)?;
        Ok(Self { directory })
    }
}

/// Messages are nobody's but this server's. What is there already is left as its owner has it.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Makes a directory, and those above it, that only this user may look into.
///
/// # Errors
/// When that is not possible.
pub fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)
}

impl Disk for FileDisk {
    type File = File;

    fn name(&self) -> String {
        self.directory.display().to_string()
    }

    fn open(&self, name: &str) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(self.directory.join(name))
            .map_err(|error| named(&self.directory.join(name), error))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = fs::read_dir(&self.directory)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.directory.join(from), self.directory.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this file is the store's only door to the file system"
    )]
    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.directory)?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let stat = statvfs(&self.directory)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        let file = Disk::open(self, LOCK_NAME)?;
        if let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            let error = io::Error::from(error);
            if error.kind() == io::ErrorKind::WouldBlock {
                return Err(io::Error::new(error.kind(), holder(&file)));
            }
            return Err(error);
        }
        // Only for the words above: a medium that takes no more is no reason to stop here.
        let pid = std::process::id().to_string();
        let _ =
            DiskFile::set_len(&file, 0).and_then(|()| DiskFile::write_at(&file, pid.as_bytes(), 0));
        Ok(Box::new(FileLock { _file: file }))
    }
}

/// Who holds the lock: it wrote its number into the file.
fn holder(file: &File) -> String {
    let mut bytes = [0; 10];
    let read = FileExt::read_at(file, &mut bytes, 0).unwrap_or_default();
    let pid = core::str::from_utf8(bytes.get(..read).unwrap_or_default());
    match pid.ok().and_then(|pid| pid.parse::<u32>().ok()) {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

/// A directory in the way is named.
fn named(path: &Path, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::IsADirectory {
        return io::Error::new(error.kind(), format!("{} is a directory", path.display()));
    }
    error
}

/// The system drops the lock with the last handle, also when the process dies.
#[derive(Debug)]
struct FileLock {
    _file: File,
}

impl Guard for FileLock {}

impl DiskFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        // The unit of this count is fixed, whatever the file system's blocks are.
        Ok(self.metadata()?.blocks().saturating_mul(512))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buf, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(data, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        Self::sync_data(self)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        match fallocate(self, FallocateFlags::empty(), 0, len) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            done => return Ok(done?),
        }
        // Bytes that no file system takes for a hole.
        for at in (0..len).step_by(CHUNK_BYTES) {
            let size = (len - at).min(CHUNK_BYTES as u64) as usize;
            self.write_all_at([0x5A; CHUNK_BYTES].get(..size).unwrap_or_default(), at)?;
        }
        Ok(())
    }

    fn forget_cached(&self) {
        // Only a hint: where the system does not know it, the read comes from its cache.
        let _ = fadvise(self, 0, None, Advice::DontNeed);
    }

    fn forget_range(&self, offset: u64, len: u64) {
        // The system keeps what it holds in one piece, unless all of that is named.
        let start = offset - offset % CACHED_BYTES_MAX;
        let end = (offset + len).next_multiple_of(CACHED_BYTES_MAX);
        let _ = fadvise(self, start, NonZeroU64::new(end - start), Advice::DontNeed);
    }

    fn reads_ahead(&self, ahead: bool) {
        let advice = if ahead {
            Advice::Normal
        } else {
            Advice::Random
        };
        let _ = fadvise(self, 0, None, advice);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Others on this machine have no business with messages.
    #[test]
    fn what_is_made_is_for_this_user_alone() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("a/b");
        let disk = FileDisk::open(&directory).unwrap();
        disk.open("journal").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&base.path().join("a")), 0o700);
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&directory.join("journal")), 0o600);
    }
}
