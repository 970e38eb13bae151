use core::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a store did since it was opened; readable from any thread.
        #[derive(Debug, Default)]
        pub struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        /// The counters at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            /// All of them as they are now.
            #[must_use]
            pub fn now(&self) -> Counts {
                Counts { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Syncs of the journal.
    syncs,
    /// Bytes the journal wrote to the device, padding included.
    journal_bytes,
    /// Frames written.
    frames,
    /// Messages made safe.
    messages,
    /// Subject, header and payload bytes of those messages.
    message_bytes,
    /// Checkpoints that succeeded.
    checkpoints,
    /// Checkpoints that did not.
    checkpoints_failed,
    /// Bytes the block store wrote to the device.
    block_bytes,
    /// Syncs of the block store.
    block_syncs,
    /// Blocks read to give messages out.
    blocks_read,
    /// Bytes of the journal not yet in the block store.
    unfolded_bytes,
    /// Times that all folded messages were looked through.
    scrub_passes,
    /// Bytes of them that were.
    scrub_bytes,
    /// Messages that were found damaged by it.
    scrub_damaged,
    /// When the last pass ended, in seconds since 1970; 0: none did.
    scrubbed_at,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, by: u64) {
        counter.fetch_add(by, Ordering::Relaxed);
    }
}
