//! What fits on the medium: messages stop early enough that everything else goes on.

use crate::limits::FOLD_BYTES;

/// The file of the block store, and what is known of the space in it.
#[derive(Debug, Default)]
pub(crate) struct Space {
    /// Bytes that the rows of the block store hold, about.
    live_bytes: u64,
    /// The last checkpoint found less space than was believed.
    is_doubted: bool,
}

impl Space {
    pub(crate) fn new(live_bytes: u64) -> Self {
        Self {
            live_bytes,
            is_doubted: false,
        }
    }

    pub(crate) const fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// A checkpoint went through that added and removed so much.
    pub(crate) fn folded(&mut self, added_bytes: u64, removed_bytes: u64) {
        self.live_bytes = (self.live_bytes + added_bytes).saturating_sub(removed_bytes);
        self.is_doubted = false;
    }

    /// A checkpoint ran out of space that was believed to be there.
    pub(crate) fn ran_out(&mut self) {
        self.is_doubted = true;
    }

    /// Bytes of a file that has so many which no row holds, about and rather less.
    pub(crate) fn slack_bytes(&self, allocated_bytes: u64) -> u64 {
        if self.is_doubted {
            return 0;
        }
        let held = self.live_bytes + self.live_bytes / 4 + FOLD_BYTES;
        allocated_bytes.saturating_sub(held)
    }
}

/// Bytes that one row of `len` bytes holds: redb gives a large one pages by powers of two.
pub(crate) const fn row_bytes(len: usize) -> u64 {
    let bytes = len as u64 + 64;
    if bytes > 4096 {
        pages_bytes(len)
    } else {
        bytes
    }
}

/// Bytes of the pages that a row of `len` bytes needs for itself.
pub(crate) const fn pages_bytes(len: usize) -> u64 {
    let bytes = (len as u64 + 64).next_power_of_two();
    if bytes > 4096 { bytes } else { 4096 }
}

/// Bytes that folding messages of so many bytes may take: copy-on-write needs the new pages and
/// the path to them before any old one is free.
pub(crate) const fn fold_bytes(message_bytes: u64) -> u64 {
    message_bytes * 2 + FOLD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_rows_make_room_until_a_checkpoint_runs_out() {
        let mut space = Space::new(0);
        space.folded(10 << 20, 0);
        assert_eq!(space.slack_bytes(11 << 20), 0);
        space.folded(0, 8 << 20);
        let slack = space.slack_bytes(11 << 20);
        assert!(slack > 8 << 20 && slack < 9 << 20, "{slack}");
        space.ran_out();
        assert_eq!(space.slack_bytes(11 << 20), 0);
    }
}
