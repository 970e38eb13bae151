use std::io;

use frond_ledger::DiskFault;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else has it open.
    #[error("data directory {directory} is in use by {holder}")]
    InUse {
        /// The directory.
        directory: String,
        /// Who has it, as far as that is known.
        holder: String,
    },
    /// It cannot be written.
    #[error("data directory {directory} is read-only or not ours to write: {source}")]
    ReadOnly {
        /// The directory.
        directory: String,
        /// The system's words.
        source: io::Error,
    },
    /// No space for the journal or an empty block store.
    #[error("no space left for data directory {directory} while {doing}{room}")]
    Full {
        /// The directory.
        directory: String,
        /// What was being done.
        doing: &'static str,
        /// How many bytes that needs and how many are free, where that is known.
        room: String,
    },
    /// The system refused.
    #[error("data directory {directory}: {doing}: {source}")]
    Io {
        /// The directory.
        directory: String,
        /// What was being done.
        doing: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// It is encrypted with a key that was not given.
    #[error(
        "error decrypting our stream metafile: {file} of data directory {directory} is encrypted \
         with another key; give that as prev_key to have it written anew"
    )]
    WrongKey {
        /// The directory.
        directory: String,
        /// The first file of that kind.
        file: &'static str,
    },
    /// It is encrypted and no key was given.
    #[error(
        "encryption not enabled: {file} of data directory {directory} is encrypted; give its key \
         (jetstream {{ key: ... }})"
    )]
    NoKey {
        /// The directory.
        directory: String,
        /// The first file of that kind.
        file: &'static str,
    },
    /// Written by a later version of this program.
    #[error("data directory {directory} was written by a newer version ({found})")]
    Newer {
        /// The directory.
        directory: String,
        /// The format found.
        found: u32,
    },
    /// The options contradict each other.
    #[error("store options: {0}")]
    Options(&'static str),
}

impl StoreError {
    pub(crate) fn io(directory: String, doing: &'static str, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        #[expect(clippy::wildcard_enum_match_arm, reason = "the system's enum is open")]
        match source.kind() {
            Kind::WouldBlock => Self::InUse {
                directory,
                holder: source.to_string(),
            },
            Kind::ReadOnlyFilesystem | Kind::PermissionDenied => {
                Self::ReadOnly { directory, source }
            }
            Kind::StorageFull | Kind::QuotaExceeded => Self::Full {
                directory,
                doing,
                room: String::new(),
            },
            _ => Self::Io {
                directory,
                doing,
                source,
            },
        }
    }
}

/// What an error of the system means for what was being kept.
pub(crate) fn fault_of(error: &io::Error) -> DiskFault {
    use io::ErrorKind as Kind;
    #[expect(clippy::wildcard_enum_match_arm, reason = "the system's enum is open")]
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => DiskFault::Full,
        Kind::ReadOnlyFilesystem => DiskFault::ReadOnly,
        _ => DiskFault::Failed(error.to_string()),
    }
}

/// The same for an error of the block store.
pub(crate) fn fault_of_blocks(error: &redb::Error) -> DiskFault {
    if let redb::Error::Io(error) = error {
        fault_of(error)
    } else {
        DiskFault::Failed(error.to_string())
    }
}
