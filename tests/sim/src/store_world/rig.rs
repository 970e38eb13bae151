use frond_ledger::{DiskFault, Engine};
use frond_store::{Cipher, Disk, Encryption, Secret, Writer};

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
    /// How the store is encrypted for the `generation`th time that it changes; not at all.
    fn encryption(_generation: u64) -> Option<Encryption> {
        None
    }
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

/// The store with keys that change as often as it opens well; in the clear at first.
#[derive(Debug)]
pub struct Rotating;

impl Rig for Rotating {
    type Disk = SimDisk;
    type Engine = Writer<<SimDisk as Disk>::File>;

    fn disk(disk: &SimDisk) -> SimDisk {
        disk.clone()
    }

    fn engine(writer: Self::Engine) -> Self::Engine {
        writer
    }

    fn encryption(generation: u64) -> Option<Encryption> {
        let key = |generation: u64| Secret::new(generation.to_le_bytes());
        let previous = generation.checked_sub(1)?;
        Some(Encryption {
            cipher: if generation.is_multiple_of(3) {
                Cipher::Aes
            } else {
                Cipher::ChaCha
            },
            key: key(generation),
            previous: Some(key(previous)),
        })
    }
}
