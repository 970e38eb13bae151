//! Streams leave as backups and come back from them, in pieces that somebody takes or gives.

mod advisory;
mod finish;
mod restore;
mod restore_request;
mod restores;
mod snapshot;
mod snapshot_request;
mod snapshots;

use std::collections::BTreeMap;

pub(crate) use restore::RestoreId;
pub(crate) use snapshot::SnapshotId;

/// Those on their way.
#[derive(Debug, Default)]
pub(crate) struct Backups {
    last: u64,
    snapshots: BTreeMap<SnapshotId, snapshot::Snapshot>,
    restores: BTreeMap<RestoreId, restore::Restore>,
}

impl Backups {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn len(&self) -> usize {
        self.snapshots.len() + self.restores.len()
    }
}
