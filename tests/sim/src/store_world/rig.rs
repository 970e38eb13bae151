use frond_ledger::{DiskFault, Engine};
use frond_store::{Disk, Writer};

use crate::SimDisk;

/// What stands between the world and the store: nothing, or a fault of ours that the world
/// must find.
pub trait Rig {
    /// The disk the store sees.
    type Disk: Disk;
    /// The engine that `commit` sees.
    type Engine: Engine<Error = DiskFault>;
    /// Wraps the disk.
    fn disk(disk: &SimDisk) -> Self::Disk;
    /// Wraps the writer.
    fn engine(writer: Writer<<Self::Disk as Disk>::File>) -> Self::Engine;
}

/// The store as it is.
#[derive(Debug)]
pub struct Plain;

impl Rig for Plain {
    type Disk = SimDisk;
    type Engine = Writer<<SimDisk as Disk>::File>;

    fn disk(disk: &SimDisk) -> SimDisk {
        disk.clone()
    }

    fn engine(writer: Self::Engine) -> Self::Engine {
        writer
    }
}
