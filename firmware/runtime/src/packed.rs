//! The frames that a link between two servers is packed in, once both agreed to.

use std::cell::RefCell;
use std::rc::Rc;

use frond_broker::{Pack, Packing};
use frond_s2::limits::FRAME_BYTES_WRITTEN;
use frond_s2::{Fault, FrameReader, Level, Packer, Writer};

use crate::limits::READ_BYTES;

/// Between what the wire carries and the bytes of the protocol. Between frames it holds no memory.
#[derive(Debug)]
pub(crate) struct Packed {
    reader: FrameReader,
    level: Level,
    /// Bytes of the outbox that go out as they are, before the first frame.
    bare_bytes: usize,
    has_begun: bool,
    /// Packed and not written.
    kept: Vec<u8>,
    /// The last taking left frames that have come.
    holds_more: bool,
    fault: Option<Fault>,
    tools: Rc<PackTools>,
}

/// What all packed connections of a thread share.
#[derive(Debug, Default)]
pub(crate) struct PackTools {
    packer: RefCell<Packer>,
    /// What is to be packed, in one piece.
    gathered: RefCell<Vec<u8>>,
    /// What was packed, until it is written.
    pub(crate) packed: RefCell<Vec<u8>>,
    /// What the wire carried, while it is unpacked.
    pub(crate) raw: RefCell<Vec<u8>>,
    /// What was in it.
    pub(crate) plain: RefCell<Vec<u8>>,
}

impl Packed {
    /// From here on, but for so many bytes of the outbox.
    pub(crate) fn new(pack: Pack, tools: Rc<PackTools>) -> Self {
        let mut reader = FrameReader::default();
        reader.set_writer(Writer::Stranger);
        Self {
            reader,
            level: level(pack.packing),
            bare_bytes: pack.bare_bytes,
            has_begun: false,
            kept: Vec::new(),
            holds_more: false,
            fault: None,
            tools,
        }
    }

    /// More or less is done from here on.
    pub(crate) const fn change(&mut self, packing: Packing) {
        self.level = level(packing);
    }

    /// Whether it is not known yet who packs: little is kept of it.
    pub(crate) fn is_strange(&self) -> bool {
        self.reader.writer() == Writer::Stranger
    }

    /// It is known.
    pub(crate) const fn is_known(&mut self) {
        self.reader.set_writer(Writer::Known);
    }

    /// The shared buffers.
    pub(crate) fn tools(&self) -> Rc<PackTools> {
        Rc::clone(&self.tools)
    }

    /// Bytes of memory it holds.
    pub(crate) const fn held_bytes(&self) -> usize {
        self.reader.held() + self.kept.capacity()
    }

    /// Whether there is something to take without reading.
    pub(crate) const fn holds_more(&self) -> bool {
        self.holds_more
    }

    /// What the peer had better not have sent.
    pub(crate) const fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Appends to `plain` what is in the frames that have come with `raw`; about as much as one
    /// read, whatever a frame unpacks to: the rest is held.
    ///
    /// # Errors
    /// When it is no frame; what came before is in `plain`.
    pub(crate) fn take(&mut self, raw: &[u8], plain: &mut Vec<u8>) -> Result<(), Fault> {
        let full = plain.len() + READ_BYTES;
        let taken = self.take_until(raw, full, plain);
        self.fault = taken.err();
        taken
    }

    fn take_until(&mut self, raw: &[u8], full: usize, plain: &mut Vec<u8>) -> Result<(), Fault> {
        self.reader.feed(raw)?;
        self.holds_more = false;
        while self.reader.next(plain)? {
            if plain.len() >= full {
                self.holds_more = true;
                break;
            }
        }
        Ok(())
    }

    /// Held to be taken with what is read next.
    pub(crate) fn hold(&mut self, early: &[u8]) {
        if !early.is_empty() {
            self.fault = self.reader.feed(early).err();
            self.holds_more = true;
        }
    }

    /// Of the outbox, so many bytes are written as they are, first.
    pub(crate) const fn bare_bytes(&self) -> usize {
        self.bare_bytes
    }

    /// So many of those were.
    pub(crate) const fn wrote_bare(&mut self, bytes: usize) {
        self.bare_bytes = self.bare_bytes.saturating_sub(bytes);
    }

    /// Packed before and not written.
    pub(crate) fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// So many of those bytes were written.
    pub(crate) fn wrote_kept(&mut self, bytes: usize) {
        self.kept.drain(..bytes.min(self.kept.len()));
        if self.kept.is_empty() {
            self.kept = Vec::new();
        }
    }

    /// Keeps what was packed and not written.
    pub(crate) fn keep(&mut self, rest: &[u8]) {
        self.kept.extend_from_slice(rest);
    }

    /// Whether what goes out next is not packed; `midway`: part of it is left.
    pub(crate) const fn is_bare(&self, midway: bool) -> bool {
        !self.has_begun && (self.bare_bytes > 0 || midway)
    }

    /// Packs a frame's worth of that, and tells how many bytes it was.
    pub(crate) fn pack<'a>(
        &mut self,
        slices: impl Iterator<Item = &'a [u8]>,
        out: &mut Vec<u8>,
    ) -> usize {
        let mut gathered = self.tools.gathered.borrow_mut();
        gathered.clear();
        for slice in slices {
            let room = FRAME_BYTES_WRITTEN - gathered.len();
            gathered.extend_from_slice(slice.get(..room).unwrap_or(slice));
        }
        if !self.has_begun {
            self.has_begun = true;
            Packer::begin(out);
        }
        let mut packer = self.tools.packer.borrow_mut();
        packer.frame(self.level, &gathered, out)
    }
}

const fn level(packing: Packing) -> Level {
    match packing {
        Packing::Uncompressed => Level::Plain,
        Packing::Fast | Packing::Better | Packing::Best => Level::Fast,
    }
}
