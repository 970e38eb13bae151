//! The worlds find engines and disks that break a promise: the harness can fail.

use std::io;

use frond_ledger::{Batch, DiskFault, Engine, Record};
use frond_store::{Disk, DiskFile, Guard, Writer};
use sim::store_world::{Rig, run};
use sim::{SimDisk, SimFile};

/// How many of the first worlds a fault may hide from.
const SEEDS: u64 = 60;

fn found<R: Rig>() -> bool {
    (0..SEEDS).any(|seed| run::<R>(seed).is_err())
}

type Plain = Writer<SimFile>;

/// Acknowledges what it took and never syncs.
struct NoSync(Plain);

impl Engine for NoSync {
    type Error = DiskFault;
    fn write(&mut self, batch: &Batch) -> Result<(), DiskFault> {
        self.0.write(batch)
    }
    fn sync(&mut self) -> Result<(), DiskFault> {
        Ok(())
    }
}

/// Acknowledges a commit when the one before it is synced.
struct EarlyAck {
    writer: Plain,
    held: Vec<Batch>,
    next: Vec<Batch>,
}

impl Engine for EarlyAck {
    type Error = DiskFault;
    fn write(&mut self, batch: &Batch) -> Result<(), DiskFault> {
        self.next.push(batch.clone());
        Ok(())
    }
    fn sync(&mut self) -> Result<(), DiskFault> {
        for batch in core::mem::replace(&mut self.held, core::mem::take(&mut self.next)) {
            self.writer.write(&batch)?;
        }
        self.writer.sync()
    }
}

/// Forgets that sequences were used up by messages that are gone.
struct NoFloor(Plain);

impl Engine for NoFloor {
    type Error = DiskFault;
    fn write(&mut self, batch: &Batch) -> Result<(), DiskFault> {
        let mut batch = batch.clone();
        let is_floor = |record: &Record| matches!(record, Record::Floor { .. });
        batch.records.retain(|record| !is_floor(record));
        self.0.write(&batch)
    }
    fn sync(&mut self) -> Result<(), DiskFault> {
        self.0.sync()
    }
}

/// Says that a failed sync went well.
struct Hides(Plain);

impl Engine for Hides {
    type Error = DiskFault;
    fn write(&mut self, batch: &Batch) -> Result<(), DiskFault> {
        self.0.write(batch)
    }
    fn sync(&mut self) -> Result<(), DiskFault> {
        match self.0.sync() {
            Err(DiskFault::Failed(text)) if text.contains("sync failed") => Ok(()),
            result => result,
        }
    }
}

macro_rules! bent {
    ($name:ident, $make:expr) => {
        impl Rig for $name {
            type Disk = SimDisk;
            type Engine = Self;
            fn disk(disk: &SimDisk) -> SimDisk {
                disk.clone()
            }
            fn engine(writer: Plain) -> Self {
                let make: fn(Plain) -> Self = $make;
                make(writer)
            }
        }
    };
}

bent!(NoSync, Self);
bent!(NoFloor, Self);
bent!(Hides, Self);
bent!(EarlyAck, |writer| Self {
    writer,
    held: Vec::new(),
    next: Vec::new(),
});

#[test]
fn an_engine_that_does_not_sync_is_found() {
    assert!(found::<NoSync>());
}

#[test]
fn an_engine_that_acknowledges_before_its_sync_is_found() {
    assert!(found::<EarlyAck>());
}

#[test]
fn an_engine_that_forgets_floors_is_found() {
    assert!(found::<NoFloor>());
}

#[test]
fn an_engine_that_hides_a_failed_sync_is_found() {
    assert!(found::<Hides>());
}

/// A disk whose syncs of one file do nothing.
#[derive(Clone, Debug)]
struct Lying<const JOURNAL: bool>(SimDisk);

#[derive(Debug)]
struct LyingFile {
    file: SimFile,
    lies: bool,
}

impl<const JOURNAL: bool> Disk for Lying<JOURNAL> {
    type File = LyingFile;

    fn name(&self) -> String {
        self.0.name()
    }
    fn open(&self, name: &str) -> io::Result<LyingFile> {
        let file = self.0.open(name)?;
        let lied_about = if JOURNAL { "journal" } else { "blocks.redb" };
        let lies = name == lied_about;
        Ok(LyingFile { file, lies })
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn sync_dir(&self) -> io::Result<()> {
        self.0.sync_dir()
    }
    fn free_bytes(&self) -> io::Result<u64> {
        self.0.free_bytes()
    }
    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        self.0.lock()
    }
}

impl DiskFile for LyingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(data, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        if self.lies {
            return Ok(());
        }
        self.file.sync_data()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}

impl<const JOURNAL: bool> Rig for Lying<JOURNAL> {
    type Disk = Self;
    type Engine = Writer<LyingFile>;
    fn disk(disk: &SimDisk) -> Self {
        Self(disk.clone())
    }
    fn engine(writer: Writer<LyingFile>) -> Writer<LyingFile> {
        writer
    }
}

#[test]
fn a_journal_that_is_not_synced_is_found() {
    assert!(found::<Lying<true>>());
}

/// The journal's pages are then used again while the blocks are not on the medium.
#[test]
fn journal_pages_reused_before_their_checkpoint_is_safe_are_found() {
    assert!(found::<Lying<false>>());
}
