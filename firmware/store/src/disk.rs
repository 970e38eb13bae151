use core::fmt::Debug;
use std::io;

/// The one directory a store lives in: the seam between the store and the medium.
///
/// Names are plain file names without separators.
pub trait Disk: Clone + Debug + Send + Sync + 'static {
    /// An open file of it.
    type File: DiskFile;

    /// What an operator calls it, usually a path.
    fn name(&self) -> String;

    /// Opens a file to read and write, creating it empty when it is not there.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// The names of all files.
    ///
    /// # Errors
    /// The system's.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Gives a file another name, replacing what had it.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns when created, renamed and removed names are on the medium.
    ///
    /// # Errors
    /// The system's.
    fn sync_dir(&self) -> io::Result<()>;

    /// Bytes that can still be written by this process.
    ///
    /// # Errors
    /// The system's.
    fn free_bytes(&self) -> io::Result<u64>;

    /// Keeps every other process out until the guard is dropped.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when somebody else has it; the system's otherwise.
    fn lock(&self) -> io::Result<Box<dyn Guard>>;
}

/// Holds a [`Disk`]'s lock while it lives.
pub trait Guard: Debug + Send + Sync {}

/// One open file.
pub trait DiskFile: Debug + Send + Sync + 'static {
    /// Its length in bytes.
    ///
    /// # Errors
    /// The system's.
    fn len(&self) -> io::Result<u64>;

    /// Whether it has no bytes.
    ///
    /// # Errors
    /// The system's.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Bytes of the medium that it holds: less than its length when it has holes.
    ///
    /// # Errors
    /// The system's.
    fn allocated_bytes(&self) -> io::Result<u64> {
        self.len()
    }

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::UnexpectedEof`] past the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `data` at `offset`.
    ///
    /// # Errors
    /// The system's; some of it may have been written then.
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when all that was written is on the medium.
    ///
    /// # Errors
    /// The system's; what was written since the last good sync is unknown then.
    fn sync_data(&self) -> io::Result<()>;

    /// Cuts or grows it; new bytes are zero.
    ///
    /// # Errors
    /// The system's.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes it so long and holds the medium's bytes for all of that, so that writing to them
    /// cannot run out of space.
    ///
    /// # Errors
    /// The system's; it may hold some of them then.
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    /// Asks that the next read comes from the medium and not from memory. A hint.
    fn forget_cached(&self) {}

    /// The same, where only these bytes will be read before long. A hint.
    fn forget_range(&self, _offset: u64, _len: u64) {
        self.forget_cached();
    }

    /// Whether reads go on behind what was read last, or only what is asked for is wanted. A hint.
    fn reads_ahead(&self, _ahead: bool) {}
}
