//! What is different for a WebSocket, packed or not.

use std::io;

use frond_broker::Outbox;

use super::{Line, Written, first_of};
use crate::frames::Frames;
use crate::limits::READ_BYTES;
use crate::packed::Packed;

impl Line {
    /// Reads what is there and appends what was in its frames; 0 at the end. `WouldBlock` also
    /// when that was nothing.
    ///
    /// # Errors
    /// As [`Line::read_secured`], and when what packs the frames is broken.
    pub(crate) fn read_framed(&self, plain: &mut Vec<u8>) -> io::Result<usize> {
        let Some(frames) = &self.frames else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut frames = frames.borrow_mut();
        let before = plain.len();
        if frames.holds_more() {
            frames.take_held(plain);
        } else {
            let tools = frames.tools();
            let mut raw = tools.raw.borrow_mut();
            raw.clear();
            let read = if self.is_packed() {
                self.read_packed(&mut raw)
            } else {
                raw.reserve(READ_BYTES);
                self.read_raw(&mut raw)
            };
            // Also when it broke: what came before that is good.
            frames.take(&mut raw, plain);
            if read? == 0 {
                return Ok(0);
            }
        }
        match plain.len() - before {
            0 if !frames.is_ended() => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    pub(super) fn write_framed(
        &self,
        frames: &mut Frames,
        outbox: &mut Outbox,
    ) -> io::Result<Written> {
        while frames.wants_to_write(outbox.len()) {
            let all = outbox.len();
            if self.write_frame(frames, outbox, all)?.is_none() {
                return Ok(Written::Part);
            }
        }
        self.write_kept()
    }

    /// Writes of a frame, or of the next one with so many bytes of the outbox in it; how many of
    /// them are gone. `None` when the socket is full.
    fn write_frame(
        &self,
        frames: &mut Frames,
        outbox: &mut Outbox,
        bytes: usize,
    ) -> io::Result<Option<usize>> {
        let before = outbox.len();
        frames.prepare(outbox, bytes);
        let (head, body) = frames.ready();
        let head = core::iter::once(head).filter(|head| !head.is_empty());
        let taken = self.send(head.chain(first_of(outbox, body)))?;
        frames.wrote(taken.unwrap_or(0), outbox);
        Ok(taken.map(|_| before - outbox.len()))
    }

    /// Packed is what the frames are, not what is in them.
    ///
    /// spec: nats-server v2.15.1 server/client.go `flushOutbound` compresses what `collapsePtoNB` gives
    pub(super) fn write_framed_packed(
        &self,
        frames: &mut Frames,
        packed: &mut Packed,
        outbox: &mut Outbox,
    ) -> io::Result<Written> {
        let tools = packed.tools();
        loop {
            let goes_on = if !packed.kept().is_empty() {
                let taken = self.send(core::iter::once(packed.kept()))?;
                packed.wrote_kept(taken.unwrap_or(0));
                taken.is_some()
            } else if packed.is_bare(frames.is_midway()) {
                let before = outbox.len();
                let bare = packed.bare_bytes().min(before);
                let taken = self.write_frame(frames, outbox, bare)?;
                packed.wrote_bare(before - outbox.len());
                taken.is_some()
            } else if !frames.wants_to_write(outbox.len()) {
                return self.write_kept();
            } else {
                let mut packs = tools.packed.borrow_mut();
                packs.clear();
                let all = outbox.len();
                frames.prepare(outbox, all);
                let (head, body) = frames.ready();
                let framed = core::iter::once(head).chain(first_of(outbox, body));
                let gone = packed.pack(framed, &mut packs);
                frames.wrote(gone, outbox);
                let taken = self.send(core::iter::once(packs.as_slice()))?;
                packed.keep(packs.get(taken.unwrap_or(0)..).unwrap_or_default());
                taken.is_some()
            };
            if !goes_on {
                return Ok(Written::Part);
            }
        }
    }
}
