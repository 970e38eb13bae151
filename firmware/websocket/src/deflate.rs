//! permessage-deflate without context: each message is compressed by itself, so that one
//! compressor serves every connection. spec: RFC 7692 7.

use core::fmt;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::limits::{INFLATE_ROOM_BYTES, INFLATIONS_MAX};

/// Compresses whole messages, for any number of connections.
pub struct Deflater {
    engine: Compress,
}

/// Where messages are inflated, for any number of connections.
pub struct Inflater {
    room: Box<[u8]>,
    /// An engine nobody uses now.
    spare: Option<Decompress>,
    /// Messages in the middle of being inflated.
    open: usize,
}

/// One message that is being inflated.
pub(crate) struct Inflation {
    engine: Decompress,
    state: Inflated,
    compressed: u64,
    inflated: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inflated {
    /// More can come out.
    Open,
    /// Its last block was seen: what follows means nothing.
    Ended,
}

/// What one step of inflating took and made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stepped {
    pub(crate) taken: usize,
    pub(crate) made: usize,
}

/// What a sender leaves away at the end of a message, and an empty last block.
/// spec: RFC 7692 7.2.2.
pub(crate) const TAIL: [u8; 9] = [0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff];

/// Of [`TAIL`], what a sender leaves away.
const LEFT_AWAY_BYTES: usize = 4;

impl Default for Deflater {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deflater").finish_non_exhaustive()
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater")
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Inflation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflation")
            .field("inflated", &self.inflated)
            .finish_non_exhaustive()
    }
}

impl Deflater {
    /// A compressor that prefers speed, as nats-server's does.
    #[must_use]
    pub fn new() -> Self {
        Self {
            engine: Compress::new(Compression::fast(), false),
        }
    }

    /// Appends the compressed form of the parts as one message to `out`. False, with `out` as
    /// it was, when the library fails.
    pub fn deflate(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let total: usize = parts.iter().map(|part| part.len()).sum();
        // With room for the worst case no call leaves something for the next one.
        out.reserve(total + total / 8 + 256);
        self.engine.reset();
        let mut whole = true;
        for part in parts {
            whole &= self.feed(part, FlushCompress::None, out);
        }
        whole &= self.feed(&[], FlushCompress::Sync, out);
        let end = TAIL.get(..LEFT_AWAY_BYTES).unwrap_or_default();
        let made = out.get(start..).unwrap_or_default();
        let Some(rest) = made.strip_suffix(end).filter(|_| whole) else {
            out.truncate(start);
            return false;
        };
        let len = rest.len();
        out.truncate(start + len);
        true
    }

    /// True when all of it was taken.
    fn feed(&mut self, part: &[u8], flush: FlushCompress, out: &mut Vec<u8>) -> bool {
        let before = self.engine.total_in();
        let done = self.engine.compress_vec(part, out, flush).is_ok();
        let taken = self.engine.total_in() - before;
        done && usize::try_from(taken) == Ok(part.len())
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}

impl Inflater {
    /// With room for what comes out of one step.
    #[must_use]
    pub fn new() -> Self {
        Self {
            room: vec![0; INFLATE_ROOM_BYTES].into_boxed_slice(),
            spare: None,
            open: 0,
        }
    }

    /// A message begins; `None` when too many are open already.
    pub(crate) fn begin(&mut self) -> Option<Inflation> {
        if self.open >= INFLATIONS_MAX {
            return None;
        }
        self.open += 1;
        let mut engine = self.spare.take().unwrap_or_else(|| Decompress::new(false));
        engine.reset(false);
        Some(Inflation {
            engine,
            state: Inflated::Open,
            compressed: 0,
            inflated: 0,
        })
    }

    /// A message ended, or its connection did.
    pub(crate) fn end(&mut self, inflation: Inflation) {
        self.open = self.open.saturating_sub(1);
        self.spare = Some(inflation.engine);
    }

    /// Inflates into the room as far as it goes; `None` for what is no deflated data.
    pub(crate) fn step(&mut self, inflation: &mut Inflation, input: &[u8]) -> Option<Stepped> {
        if inflation.state == Inflated::Ended {
            return Some(Stepped {
                taken: input.len(),
                made: 0,
            });
        }
        let engine = &mut inflation.engine;
        let (was_in, was_out) = (engine.total_in(), engine.total_out());
        let status = engine
            .decompress(input, &mut self.room, FlushDecompress::None)
            .ok()?;
        let taken = usize::try_from(engine.total_in() - was_in).ok()?;
        let made = usize::try_from(engine.total_out() - was_out).ok()?;
        if status == Status::StreamEnd {
            inflation.state = Inflated::Ended;
        }
        inflation.inflated += u64::try_from(made).unwrap_or(u64::MAX);
        Some(Stepped { taken, made })
    }

    /// The first bytes of the room.
    pub(crate) fn room(&self, made: usize) -> &[u8] {
        self.room.get(..made).unwrap_or_default()
    }
}

impl Inflation {
    /// Counts compressed bytes of the message that arrived.
    pub(crate) fn arrived(&mut self, bytes: usize) -> u64 {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.compressed = self.compressed.saturating_add(bytes);
        self.compressed
    }

    /// Bytes that came out so far.
    pub(crate) const fn inflated(&self) -> u64 {
        self.inflated
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.state == Inflated::Ended
    }
}
