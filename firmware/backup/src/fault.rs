/// Why a backup cannot be read; the words are nats-server's where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A frame is damaged, or these are no frames.
    #[error("s2: corrupt input")]
    Frames,
    /// The archive of 2.15 is damaged.
    #[error("archive: invalid archive stream")]
    Archive,
    /// The tar is damaged, or there is none.
    #[error("archive/tar: invalid tar header")]
    Tar,
    /// It ends before its end.
    #[error("backup was truncated")]
    Truncated,
    /// A part is missing, or is where it must not be.
    #[error("{0}")]
    Content(String),
    /// A record of a message block is damaged.
    #[error("message block {block}: {what} at offset {offset}")]
    Record {
        /// The block's number.
        block: u32,
        /// Where the record begins, in bytes.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// More came than may wait.
    #[error("too much data at once")]
    Flood,
}

impl From<frond_s2::Fault> for Fault {
    fn from(fault: frond_s2::Fault) -> Self {
        match fault {
            frond_s2::Fault::Frames => Self::Frames,
            frond_s2::Fault::Flood => Self::Flood,
        }
    }
}

impl Fault {
    /// A part is missing, or is where it must not be.
    pub(crate) fn content(text: &str) -> Self {
        Self::Content(text.to_owned())
    }
}
