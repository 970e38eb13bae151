use frond_s2::FrameReader;

use crate::archive::{ArchiveReader, MAGIC};
use crate::buffer::Buffer;
use crate::fault::Fault;
use crate::item::Item;
use crate::limits::MESSAGE_BYTES_MAX;
use crate::tarball::TarReader;

/// Reads a backup of either form, as its bytes come.
///
/// Feed it with [`Reader::feed`], then take what is ready with [`Reader::next`] until there is
/// nothing. It holds what was fed and not taken, and one message or description at most.
#[derive(Debug)]
pub struct Reader {
    frames: FrameReader,
    plain: Buffer,
    form: Form,
    payload_bytes_max: usize,
}

#[derive(Debug, Default)]
enum Form {
    /// Too little has come to tell.
    #[default]
    Unknown,
    Archive(ArchiveReader),
    Tar(Box<TarReader>),
}

impl Default for Reader {
    fn default() -> Self {
        Self::new(MESSAGE_BYTES_MAX)
    }
}

impl Reader {
    /// With a bound for the header and payload of a message, in bytes; only the archive of 2.15
    /// is held to it, as by nats-server.
    #[must_use]
    pub fn new(payload_bytes_max: usize) -> Self {
        Self {
            payload_bytes_max,
            frames: FrameReader::default(),
            plain: Buffer::default(),
            form: Form::default(),
        }
    }

    /// Takes bytes in pieces of any size; those after the end are dropped.
    ///
    /// # Errors
    /// When more wait than may.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.is_over() {
            return Ok(());
        }
        Ok(self.frames.feed(bytes)?)
    }

    /// Bytes that it takes, about.
    #[must_use]
    pub fn held(&self) -> usize {
        let form = match &self.form {
            Form::Unknown | Form::Archive(_) => 0,
            Form::Tar(tar) => tar.held(),
        };
        self.frames.held() + self.plain.held() + form
    }

    /// The next part; `None` when more bytes are needed, and after [`Item::End`].
    ///
    /// # Errors
    /// When the backup is damaged: it is of no use from there on.
    #[expect(
        clippy::should_implement_trait,
        reason = "`None` is no end: more may come"
    )]
    pub fn next(&mut self) -> Result<Option<Item>, Fault> {
        loop {
            if let Some(item) = self.step()? {
                return Ok(Some(item));
            }
            if self.is_over() {
                return Ok(None);
            }
            if !self.frames.next(self.plain.room())? {
                return Ok(None);
            }
        }
    }

    /// No more comes.
    ///
    /// # Errors
    /// When the end was not there, or is preceded by half a frame.
    pub fn finish(&mut self) -> Result<Option<Item>, Fault> {
        if self.is_over() {
            return Ok(None);
        }
        let is_whole = self.plain.is_empty() && self.frames.is_at_border();
        match &mut self.form {
            // A tar may end with its last file.
            Form::Tar(tar) if is_whole => tar.end(),
            Form::Unknown | Form::Archive(_) | Form::Tar(_) => Err(Fault::Truncated),
        }
    }

    fn is_over(&self) -> bool {
        match &self.form {
            Form::Unknown => false,
            Form::Archive(archive) => archive.is_over(),
            Form::Tar(tar) => tar.is_over(),
        }
    }

    fn step(&mut self) -> Result<Option<Item>, Fault> {
        if matches!(self.form, Form::Unknown) {
            match self.plain.rest().first_chunk::<8>() {
                None => return Ok(None),
                Some(MAGIC) => {
                    self.form = Form::Archive(ArchiveReader::new(self.payload_bytes_max));
                }
                Some(_) => self.form = Form::Tar(Box::default()),
            }
        }
        match &mut self.form {
            Form::Unknown => Ok(None),
            Form::Archive(archive) => archive.step(&mut self.plain),
            Form::Tar(tar) => tar.step(&mut self.plain),
        }
    }
}
