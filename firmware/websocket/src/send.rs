//! The stream as frames, ahead of a vectored write.
//! spec: nats-server v2.15.1 server/websocket.go `wsCollapsePtoNB`.

use crate::frame::{FrameHead, Masking, Opcode};
use crate::limits::{
    BROWSER_FRAME_BYTES_MAX, CONTROLS_WAITING_BYTES_MAX, PLAIN_BYTES_MAX, STAGED_BYTES_MAX,
};
use crate::mask::Mask;
use crate::{Browser, CloseFrame, Deflater};

/// How frames go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// A side that dials masks.
    pub masking: Masking,
    /// Whether messages may be compressed.
    pub compression: bool,
    /// Who is at the other end.
    pub browser: Browser,
}

/// Writes the frames of one connection.
///
/// A plain server's frame is a few bytes of head before what waits, which is written from where
/// it lies. Only masked, compressed and small frames are copied, [`STAGED_BYTES_MAX`] at a time.
#[derive(Debug)]
pub struct Sender {
    style: Style,
    /// Framed bytes, of which `written` are gone.
    staged: Vec<u8>,
    written: usize,
    /// Bytes of the stream that the frame begun last still needs.
    owed: usize,
    /// Framed control messages that wait for the end of a frame.
    controls: Vec<u8>,
    farewell: Farewell,
}

/// How far the end is.
#[derive(Debug)]
enum Farewell {
    None,
    /// To be said when nothing else waits.
    Wanted(CloseFrame),
    /// Nothing may follow.
    Said,
}

impl Sender {
    /// Bytes it holds.
    #[must_use]
    pub const fn held_bytes(&self) -> usize {
        self.staged.capacity() + self.controls.capacity()
    }

    /// For a connection that has just been upgraded.
    #[must_use]
    pub const fn new(style: Style) -> Self {
        Self {
            style,
            staged: Vec::new(),
            written: 0,
            owed: 0,
            controls: Vec::new(),
            farewell: Farewell::None,
        }
    }

    /// Whether messages may be compressed.
    #[must_use]
    pub const fn compresses(&self) -> bool {
        self.style.compression
    }

    /// Puts bytes before everything else, as they are: the answer to an upgrade.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.staged.extend_from_slice(bytes);
    }

    /// Answers a ping. Of too many only the latest is answered.
    pub fn pong(&mut self, payload: &[u8], key: [u8; 4]) {
        if self.controls.len() >= CONTROLS_WAITING_BYTES_MAX {
            self.controls.clear();
        }
        let frame = self.control(Opcode::Pong, payload, key);
        self.controls.extend_from_slice(&frame);
    }

    /// Says goodbye once everything that waits is written. The first one counts.
    pub fn close(&mut self, frame: CloseFrame) {
        if let Farewell::None = self.farewell {
            self.farewell = Farewell::Wanted(frame);
        }
    }

    /// Whether goodbye was said, or will be.
    #[must_use]
    pub const fn is_closing(&self) -> bool {
        match self.farewell {
            Farewell::None => false,
            Farewell::Wanted(_) | Farewell::Said => true,
        }
    }

    /// Whether bytes of its own wait; `waiting` are those of the stream.
    #[must_use]
    pub const fn wants_to_write(&self, waiting: usize) -> bool {
        let farewell = match self.farewell {
            // Half a frame was promised and its rest was dropped: nothing can follow it.
            Farewell::Wanted(_) => self.owed <= waiting,
            Farewell::None | Farewell::Said => false,
        };
        self.written < self.staged.len() || farewell || !self.controls.is_empty() || waiting > 0
    }

    /// Makes ready what comes next. `stream` is what waits, `waiting` bytes of it; returns how
    /// many were copied and are to be dropped from it. `key` is where masks come from.
    pub fn prepare<'a>(
        &mut self,
        stream: impl Iterator<Item = &'a [u8]>,
        waiting: usize,
        deflater: &mut Deflater,
        mut key: impl FnMut() -> [u8; 4],
    ) -> usize {
        if self.written < self.staged.len() || self.owed > 0 {
            return 0;
        }
        self.staged = Vec::new();
        self.written = 0;
        if let Farewell::Said = self.farewell {
            return waiting;
        }
        self.staged.append(&mut self.controls);
        let small = self.style.browser != Browser::No;
        let masked = self.style.masking == Masking::Masked;
        let compressed = self.style.compression && waiting > PLAIN_BYTES_MAX;
        if waiting == 0 {
            if let Farewell::Wanted(frame) = core::mem::replace(&mut self.farewell, Farewell::None)
            {
                let frame = self.control(Opcode::Close, &frame.payload(), key());
                self.staged.extend_from_slice(&frame);
                self.farewell = Farewell::Said;
            }
            return 0;
        }
        if !(masked || compressed || small) {
            let len = u64::try_from(waiting).unwrap_or(u64::MAX);
            FrameHead::whole(Opcode::Binary, None, len).encode(&mut self.staged);
            self.owed = waiting;
            return 0;
        }
        let (parts, taken) = first_bytes(stream, STAGED_BYTES_MAX);
        let mut deflated = Vec::new();
        if compressed && deflater.deflate(&parts, &mut deflated) {
            let max = match self.style.browser {
                Browser::Yes => BROWSER_FRAME_BYTES_MAX,
                Browser::No | Browser::Safari => usize::MAX,
            };
            self.frames(&deflated, max, true, &mut key);
        } else {
            let max = if small {
                BROWSER_FRAME_BYTES_MAX
            } else {
                usize::MAX
            };
            self.frames(&parts.concat(), max, false, &mut key);
        }
        taken
    }

    /// What to write first.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.staged.get(self.written..).unwrap_or_default()
    }

    /// How many bytes of the stream to write after [`Sender::head`].
    #[must_use]
    pub const fn body(&self) -> usize {
        self.owed
    }

    /// `bytes` of head and body were written; returns how many were of the stream.
    pub fn wrote(&mut self, bytes: usize) -> usize {
        let head = self.head().len().min(bytes);
        self.written += head;
        if self.written == self.staged.len() {
            self.staged = Vec::new();
            self.written = 0;
        }
        let body = (bytes - head).min(self.owed);
        self.owed -= body;
        body
    }

    /// One frame for each `max` bytes. A compressed message is cut into fragments, a plain one
    /// into messages, as nats-server does.
    fn frames(
        &mut self,
        bytes: &[u8],
        max: usize,
        compressed: bool,
        key: &mut impl FnMut() -> [u8; 4],
    ) {
        let count = bytes.len().div_ceil(max);
        for (i, piece) in bytes.chunks(max).enumerate() {
            let whole = !compressed;
            let mask = (self.style.masking == Masking::Masked).then(&mut *key);
            let head = FrameHead {
                opcode: if whole || i == 0 {
                    Opcode::Binary
                } else {
                    Opcode::Continuation
                },
                last: whole || i + 1 == count,
                compressed: compressed && i == 0,
                mask,
                len: u64::try_from(piece.len()).unwrap_or(u64::MAX),
            };
            append(&mut self.staged, &head, piece);
        }
    }

    fn control(&self, opcode: Opcode, payload: &[u8], key: [u8; 4]) -> Vec<u8> {
        let mask = (self.style.masking == Masking::Masked).then_some(key);
        let len = u64::try_from(payload.len()).unwrap_or(u64::MAX);
        let mut frame = Vec::new();
        append(&mut frame, &FrameHead::whole(opcode, mask, len), payload);
        frame
    }
}

fn append(out: &mut Vec<u8>, head: &FrameHead, payload: &[u8]) {
    head.encode(out);
    let start = out.len();
    out.extend_from_slice(payload);
    if let (Some(mask), Some(payload)) = (head.mask, out.get_mut(start..)) {
        Mask::new(mask).apply(payload);
    }
}

/// The first `max` bytes of what waits.
fn first_bytes<'a>(stream: impl Iterator<Item = &'a [u8]>, max: usize) -> (Vec<&'a [u8]>, usize) {
    let (mut parts, mut taken) = (Vec::new(), 0);
    for slice in stream {
        let room = max - taken;
        let part = slice.get(..room.min(slice.len())).unwrap_or_default();
        taken += part.len();
        parts.push(part);
        if taken == max {
            break;
        }
    }
    (parts, taken)
}

#[cfg(test)]
mod tests;
