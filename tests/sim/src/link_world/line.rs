use std::collections::VecDeque;

use frond_broker::Conn;
use frond_clock::Rng;

use super::topics::End;

/// One connection between the two servers.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) leaf: Conn,
    pub(super) hub: Conn,
    to_hub: Pipe,
    to_leaf: Pipe,
}

/// One direction of it.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    queue: VecDeque<Chunk>,
    last_at: u64,
    /// Bytes vanish, and nobody is told.
    pub(crate) silent: bool,
    /// Bytes that still get through before the line is cut.
    pub(crate) cut_after: Option<usize>,
}

#[derive(Debug)]
pub(crate) enum Chunk {
    Bytes(Vec<u8>),
    End,
}

impl Line {
    pub(super) fn new(leaf: Conn, hub: Conn) -> Self {
        Self {
            leaf,
            hub,
            to_hub: Pipe::default(),
            to_leaf: Pipe::default(),
        }
    }

    pub(super) const fn conn(&self, end: End) -> Conn {
        match end {
            End::Leaf => self.leaf,
            End::Hub => self.hub,
        }
    }

    pub(super) const fn is_silent(&self, end: End) -> bool {
        match end {
            End::Leaf => self.to_leaf.silent,
            End::Hub => self.to_hub.silent,
        }
    }

    /// The direction that ends at `end`.
    pub(super) const fn pipe(&mut self, end: End) -> &mut Pipe {
        match end {
            End::Leaf => &mut self.to_leaf,
            End::Hub => &mut self.to_hub,
        }
    }
}

impl Pipe {
    /// Puts a chunk on its way, which takes `late` at worst; when it arrives, in nanoseconds.
    pub(crate) fn push(&mut self, now: u64, late: u64, chunk: Chunk, rng: &mut Rng) -> Option<u64> {
        if self.silent {
            return None;
        }
        let latency = match rng.below(10) {
            0 => rng.below(late),
            _ => rng.below(20 * MILLI),
        };
        self.last_at = (now + latency).max(self.last_at);
        self.queue.push_back(chunk);
        Some(self.last_at)
    }

    /// What arrives now, and whether the line breaks behind it.
    pub(crate) fn pop(&mut self) -> Option<(Chunk, bool)> {
        let mut chunk = self.queue.pop_front()?;
        if self.silent {
            return None;
        }
        let mut breaks = false;
        if let (Some(left), Chunk::Bytes(bytes)) = (&mut self.cut_after, &mut chunk) {
            breaks = bytes.len() >= *left;
            bytes.truncate(*left);
            *left -= bytes.len();
        }
        Some((chunk, breaks))
    }
}

pub(crate) const MILLI: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MILLI;
