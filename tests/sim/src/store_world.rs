//! One store on a disk that fails: random batches, checkpoints and power cuts, and after each
//! reopening exactly what was acknowledged.

mod model;
mod rig;
mod work;

use core::time::Duration;

use frond_clock::Rng;
use frond_ledger::{Batch, DiskFault, Receipt, Recovered, commit};
use frond_store::{Checkpointer, Options, Reader, Store, StoreError};

pub use rig::{Plain, Rig, Rotating};

use crate::{SimDisk, Trace};
use model::{Ever, Model, remember};

const STEPS: u64 = 40;

/// What broke a promise, in words.
pub type Broken = String;

/// A seeded run.
struct StoreWorld<R: Rig> {
    rng: Rng,
    disk: SimDisk,
    trace: Trace,
    open: Option<Open<R>>,
    /// Everything acknowledged.
    model: Model,
    /// The same after each commit before: a bit flipped in the last one looks like a torn frame.
    before: Vec<Model>,
    ever: Ever,
    /// Whether this world's disk also flips bits of the journal.
    flips: bool,
    phase: Phase,
    opens: u64,
    /// How often the encryption changed.
    keys: u64,
    tickets: u64,
    cuts: u64,
    acked: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Faults,
    /// No new faults; what older ones did may still come to light.
    Healing,
    /// Exactly what was acknowledged, again.
    Settled,
}

struct Open<R: Rig> {
    engine: R::Engine,
    checkpointer: Checkpointer<R::Disk>,
    reader: Reader,
}

/// Runs the world of `seed`; the hash of all that happened.
///
/// # Errors
/// The promise that was broken.
pub fn run<R: Rig>(seed: u64) -> Result<Trace, Broken> {
    let mut world = StoreWorld::<R>::seeded(seed);
    world.reopen(&[])?;
    for _ in 0..STEPS {
        world.step()?;
    }
    world.heal()?;
    Ok(world.trace)
}

/// What one world went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How often the power went.
    pub cuts: u64,
    /// Batches that were acknowledged.
    pub acked: u64,
}

/// The world of `seed` with the plug pulled more often; how often.
///
/// # Errors
/// The promise that was broken.
pub fn run_counted<R: Rig>(seed: u64) -> Result<Counted, Broken> {
    let mut world = StoreWorld::<R>::seeded(seed);
    world.reopen(&[])?;
    for _ in 0..STEPS {
        world.step()?;
        if world.rng.below(4) == 0 {
            world.cut(&[])?;
        }
    }
    world.heal()?;
    Ok(Counted {
        cuts: world.cuts,
        acked: world.acked,
    })
}

impl<R: Rig> StoreWorld<R> {
    fn seeded(seed: u64) -> Self {
        let mut rng = Rng::seeded(seed);
        Self {
            // What a cut start found damaged is told by it alone.
            flips: rng.below(8) == 0 && R::encryption(1).is_none(),
            phase: Phase::Faults,
            rng,
            disk: SimDisk::new(),
            trace: Trace::default(),
            open: None,
            model: Model::default(),
            before: Vec::new(),
            ever: Ever::new(),
            opens: 0,
            keys: 0,
            tickets: 0,
            cuts: 0,
            acked: 0,
        }
    }

    fn step(&mut self) -> Result<(), Broken> {
        match self.rng.below(32) {
            0..=17 => self.append(),
            18..=22 => self.checkpoint(),
            23 | 24 => {
                let syncs = self.rng.below(6);
                self.disk.cut_in(syncs);
                Ok(())
            }
            25 => {
                let syncs = self.rng.below(6);
                self.disk.fail_sync_in(syncs);
                Ok(())
            }
            26 | 27 => {
                let full = self.rng.below(2) == 0;
                self.disk.set_full(full);
                Ok(())
            }
            28 => self.restart(&[]),
            29 => self.cut(&[]),
            _ => self.read_live(),
        }
    }

    /// Commits some batches; what they do is certain only when it succeeds.
    fn append(&mut self) -> Result<(), Broken> {
        let count = 1 + self.rng.below(3);
        let batches = self.batches(count);
        remember(&mut self.ever, &batches);
        let Some(open) = &mut self.open else {
            return self.restart(&[]);
        };
        match commit(&mut open.engine, &batches) {
            Ok(receipts) => {
                self.trace.note("acked");
                let tickets = batches.iter().map(|batch| batch.ticket);
                if !receipts.iter().map(Receipt::ticket).eq(tickets) {
                    return Err("receipts for other batches".into());
                }
                self.acked += batches.len() as u64;
                self.before.push(self.model.clone());
                self.model.apply_all(&batches);
                Ok(())
            }
            // Refused before anything was written.
            Err(DiskFault::Full) => {
                self.trace.note("full");
                self.checkpoint()
            }
            Err(DiskFault::TooLarge(text)) => Err(text),
            Err(DiskFault::ReadOnly | DiskFault::Failed(_)) if self.disk.is_off() => {
                self.trace.note("power");
                self.cut(&batches)
            }
            Err(DiskFault::ReadOnly | DiskFault::Failed(_)) => {
                self.trace.note("failed");
                if self.rng.below(2) == 0 {
                    self.cut(&batches)
                } else {
                    self.restart(&batches)
                }
            }
        }
    }

    fn checkpoint(&mut self) -> Result<(), Broken> {
        let Some(open) = &mut self.open else {
            return self.restart(&[]);
        };
        let done = open.checkpointer.checkpoint();
        self.trace.note(&format!("checkpoint {done:?}"));
        match done {
            Err(_) if self.disk.is_off() => self.cut(&[]),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Everything acknowledged can be read while the store is open.
    fn read_live(&mut self) -> Result<(), Broken> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        for (&stream, model) in &self.model.streams {
            let seqs = model.messages.keys().copied().collect();
            let fetched = open.reader.fetch(&frond_ledger::Query {
                stream,
                seqs,
                again: None,
            });
            let same = fetched
                .messages
                .into_iter()
                .map(|stored| (stored.seq, (stored.time, stored.body)))
                .eq(model.messages.iter().map(|(&seq, m)| (seq, m.clone())));
            if !same && !self.disk.is_off() {
                return Err(format!(
                    "live reads of {stream:?} miss {:?}",
                    fetched.missing
                ));
            }
        }
        self.trace.note("read");
        Ok(())
    }

    /// The plug is pulled, and put in again.
    fn cut(&mut self, unsure: &[Batch]) -> Result<(), Broken> {
        self.open = None;
        self.cuts += 1;
        self.disk.reboot(&mut self.rng);
        if self.flips && self.phase == Phase::Faults && self.rng.below(2) == 0 {
            self.disk.flip_bit("journal", 8192, &mut self.rng);
        }
        self.reopen(unsure)
    }

    /// The program ends and starts again; the system keeps what it has in memory.
    fn restart(&mut self, unsure: &[Batch]) -> Result<(), Broken> {
        self.open = None;
        if self.disk.is_off() {
            return self.cut(unsure);
        }
        self.reopen(unsure)
    }

    fn reopen(&mut self, unsure: &[Batch]) -> Result<(), Broken> {
        loop {
            self.opens += 1;
            let options = Options {
                journal_bytes: 64 * 1024,
                cache_bytes: 64 * 1024,
                reserve_bytes: 4096,
                room_wait: Duration::ZERO,
                nonce: self.opens.wrapping_mul(0x9E37_79B9_7F4A_7C15),
                encryption: R::encryption(self.keys),
            };
            let store = match Store::open(R::disk(&self.disk), &options) {
                Ok((store, recovered)) => {
                    self.check(&recovered, &store.reader, unsure)?;
                    // Until a start went well the keys before are needed.
                    self.keys += u64::from(self.opens.is_multiple_of(2));
                    store
                }
                Err(error) => {
                    self.refused(&error)?;
                    continue;
                }
            };
            self.trace.note("open");
            self.open = Some(Open {
                engine: R::engine(store.writer),
                checkpointer: store.checkpointer,
                reader: store.reader,
            });
            return Ok(());
        }
    }

    /// Opening may fail only for a fault of the disk, and not for ever.
    fn refused(&mut self, error: &StoreError) -> Result<(), Broken> {
        self.trace.note("refused");
        match error {
            StoreError::Io { .. } | StoreError::Full { .. } if self.opens < 1000 => {}
            StoreError::Io { .. }
            | StoreError::Full { .. }
            | StoreError::InUse { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Newer { .. }
            | StoreError::WrongKey { .. }
            | StoreError::NoKey { .. }
            | StoreError::Options(_) => return Err(format!("it does not open: {error}")),
        }
        if self.disk.is_off() {
            self.disk.reboot(&mut self.rng);
        } else {
            // Someone makes room, or tries another time.
            self.disk.set_full(false);
        }
        Ok(())
    }

    /// What the store tells is what was acknowledged, with or without the commit in doubt.
    fn check(
        &mut self,
        recovered: &Recovered,
        reader: &Reader,
        unsure: &[Batch],
    ) -> Result<(), Broken> {
        let found = Model::of(recovered, reader)?;
        let mut with = self.model.clone();
        with.apply_all(unsure);
        found.trace(&mut self.trace);
        let exact = found == self.model || found == with;
        let told = self.flips && self.phase != Phase::Settled;
        let before = self.before.last();
        let before = before.map(|before| before.taken_out(&found, &self.model));
        let torn_by_flip = told && before.as_ref() == Some(&found);
        let told = told && !recovered.damage.is_empty() && found.messages_within(&self.ever);
        if !(exact && (self.flips || recovered.damage.is_empty()) || torn_by_flip || told) {
            return Err(format!(
                "{}; with the commit in doubt: {}; damage {:?}",
                self.model.difference(&found),
                with.difference(&found),
                recovered.damage
            ));
        }
        if torn_by_flip {
            self.before.pop();
        } else if found != self.model {
            let before = core::mem::replace(&mut self.model, found);
            self.before.push(before);
            return Ok(());
        }
        self.model = found;
        Ok(())
    }

    /// Faults off: everything works again, and nothing is lost by it.
    fn heal(&mut self) -> Result<(), Broken> {
        self.disk.heal();
        self.phase = Phase::Healing;
        self.cut(&[])
            .map_err(|broken| format!("healed: {broken}"))?;
        for _ in 0..3 {
            self.append()?;
            self.checkpoint()?;
            self.read_live()?;
        }
        let unfolded = self
            .open
            .as_ref()
            .map(|open| open.reader.counts().unfolded_bytes);
        if unfolded != Some(0) {
            return Err(format!(
                "healed, and {unfolded:?} bytes cannot be checkpointed"
            ));
        }
        self.phase = Phase::Settled;
        self.restart(&[])
    }
}
