//! What one durable message costs the disk when it comes alone.
//!
//! `/proc/<pid>/io` is no measure of it: with large folios a page counts as all of its folio.

use interop::Server;

use crate::device::{Counters, Device};
use crate::stream_load::Publisher;

/// Costs per message, each from where it can be seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lone {
    /// Bytes and flushes at the device, everything else on the machine included; none when not shown.
    pub device: Option<(f64, f64)>,
    /// Bytes and syncs as the server counts them itself; none when it doesn't.
    pub counted: Option<(f64, f64)>,
}

/// Publishes one message after another, each acked before the next, and gives the costs of one.
///
/// # Panics
/// When a publish is refused.
#[must_use]
pub fn lone_publishes(
    server: &Server,
    messages: u32,
    counted: impl Fn() -> Option<Counters>,
) -> Lone {
    let device = Device::beneath(server.dir());
    let at_device = || device.as_ref().and_then(Device::counters);
    let mut publisher = Publisher::new(server, 0);
    // The first message makes files and tables; it is not what the others cost.
    publisher.one();
    let before = (at_device(), counted());
    for _ in 0..messages {
        publisher.one();
    }
    let after = (at_device(), counted());
    Lone {
        device: per_message(before.0, after.0, messages),
        counted: per_message(before.1, after.1, messages),
    }
}

fn per_message(
    before: Option<Counters>,
    after: Option<Counters>,
    messages: u32,
) -> Option<(f64, f64)> {
    let (before, after) = (before?, after?);
    let bytes = each(before.written_bytes, after.written_bytes, messages);
    Some((bytes, each(before.flushes, after.flushes, messages)))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a run are far below 2^52"
)]
fn each(before: u64, after: u64, messages: u32) -> f64 {
    after.saturating_sub(before) as f64 / f64::from(messages)
}
