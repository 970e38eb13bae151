use std::collections::VecDeque;
use std::fmt;

/// Everything that happened, as a hash, and the last of it in words.
#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    tail: VecDeque<String>,
}

impl Trace {
    pub(crate) const fn new() -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            tail: VecDeque::new(),
        }
    }

    pub(crate) fn note(&mut self, what: fmt::Arguments<'_>) {
        let words = what.to_string();
        self.add(words.as_bytes());
        if self.tail.len() == TAIL_MAX {
            self.tail.pop_front();
        }
        self.tail.push_back(words);
    }

    /// Bytes that are too many to be shown whole.
    pub(crate) fn note_bytes(&mut self, what: fmt::Arguments<'_>, bytes: &[u8]) {
        self.add(bytes);
        let shown = bytes.get(..SHOWN_BYTES_MAX).unwrap_or(bytes);
        let (text, len) = (String::from_utf8_lossy(shown), bytes.len());
        self.note(format_args!("{what} {len} bytes {text:?}"));
    }

    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(crate) fn tail(&self) -> Vec<String> {
        self.tail.iter().cloned().collect()
    }
}

const TAIL_MAX: usize = 4_000;
const SHOWN_BYTES_MAX: usize = 200;
