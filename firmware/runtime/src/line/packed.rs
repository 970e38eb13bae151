//! What is different once a link is packed.

use std::io;
use std::rc::Rc;

use frond_broker::{Outbox, Pack};

use super::{Line, Written, first_of};
use crate::limits::READ_BYTES;
use crate::packed::{PackTools, Packed};

impl Line {
    /// From here on what it carries is packed, but for so many bytes of the outbox. False when it
    /// was before: then only how much is done changes.
    pub(crate) fn pack(&self, pack: Pack, tools: &Rc<PackTools>) -> bool {
        let mut packed = self.packed.borrow_mut();
        if let Some(packed) = packed.as_deref_mut() {
            packed.change(pack.packing);
            return false;
        }
        let mut new = Packed::new(pack, Rc::clone(tools));
        if let Some(frames) = &self.frames {
            new.hold(&frames.borrow_mut().take_raw());
        }
        *packed = Some(Box::new(new));
        true
    }

    /// Whether it is packed: then [`Line::read_packed`] reads.
    pub(crate) fn is_packed(&self) -> bool {
        self.packed.borrow().is_some()
    }

    /// Whether it is not known yet who packs what it carries.
    pub(crate) fn is_packed_by_stranger(&self) -> bool {
        let packed = self.packed.borrow();
        packed.as_ref().is_some_and(|packed| packed.is_strange())
    }

    /// It is known from here on.
    pub(crate) fn is_packed_by_known(&self) {
        if let Some(packed) = self.packed.borrow_mut().as_deref_mut() {
            packed.is_known();
        }
    }

    /// Takes what was read of frames before.
    pub(crate) fn hold_packed(&self, early: &[u8]) {
        if let Some(packed) = self.packed.borrow_mut().as_deref_mut() {
            packed.hold(early);
        }
    }

    /// Whether frames came that were not unpacked.
    pub(crate) fn holds_packed(&self) -> bool {
        let packed = self.packed.borrow();
        packed.as_ref().is_some_and(|packed| packed.holds_more())
    }

    /// Bytes on their way to the socket that the outbox no longer holds.
    pub(crate) fn unsent_bytes(&self) -> usize {
        let tls = self.tls.borrow();
        let tls = tls.as_ref().map_or(0, |tls| tls.session.waiting().len());
        let packed = self.packed.borrow();
        tls + packed.as_ref().map_or(0, |packed| packed.kept().len())
    }

    /// What was wrong with what the peer packed.
    pub(crate) fn pack_fault(&self) -> Option<frond_s2::Fault> {
        self.packed.borrow().as_ref()?.fault()
    }

    /// Reads what is there and appends what was packed in it; 0 at the end. `WouldBlock` also when
    /// that was nothing.
    ///
    /// # Errors
    /// As [`Line::read_secured`], and when it is not packed.
    pub(crate) fn read_packed(&self, plain: &mut Vec<u8>) -> io::Result<usize> {
        let mut packed = self.packed.borrow_mut();
        let Some(packed) = packed.as_deref_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let before = plain.len();
        let tools = packed.tools();
        let mut raw = tools.raw.borrow_mut();
        raw.clear();
        if !packed.holds_more() {
            raw.reserve(READ_BYTES);
            if self.read_raw(&mut raw)? == 0 {
                return Ok(0);
            }
        }
        packed.take(&raw, plain).map_err(io::Error::other)?;
        match plain.len() - before {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    pub(super) fn write_packed(
        &self,
        packed: &mut Packed,
        outbox: &mut Outbox,
    ) -> io::Result<Written> {
        let tools = packed.tools();
        loop {
            let taken = if !packed.kept().is_empty() {
                let taken = self.send(core::iter::once(packed.kept()))?;
                packed.wrote_kept(taken.unwrap_or(0));
                taken
            } else if outbox.is_empty() {
                return self.write_kept();
            } else if packed.bare_bytes() > 0 {
                let taken = self.send(first_of(outbox, packed.bare_bytes()))?;
                outbox.advance(taken.unwrap_or(0));
                packed.wrote_bare(taken.unwrap_or(0));
                taken
            } else {
                let mut frames = tools.packed.borrow_mut();
                frames.clear();
                let gone = packed.pack(outbox.slices(), &mut frames);
                outbox.advance(gone);
                let taken = self.send(core::iter::once(frames.as_slice()))?;
                packed.keep(frames.get(taken.unwrap_or(0)..).unwrap_or_default());
                taken
            };
            if taken.is_none() {
                return Ok(Written::Part);
            }
        }
    }
}
