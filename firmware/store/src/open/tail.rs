//! The journal's side of a start.

use frond_ledger::{Damage, StreamId};
use std::collections::BTreeMap;

use super::Opener;
use crate::blocks::Blocks;
use crate::checkpointer::fold_into;
use crate::delta::Delta;
use crate::disk::Disk;
use crate::error::StoreError;
use crate::journal::{self, Found, Journal};
use crate::limits::{LOST_RECORD_BYTES_MIN, SEQUENCES_AHEAD};
use crate::load::Loaded;
use crate::names::{self, Names};
use crate::ranges::Ranges;
use crate::recall::{Recalled, recall};
use crate::replay::{End, Replay, replay};

/// What the journal still tells.
pub(super) struct OpenTail<F> {
    /// Not there any more, or of no use.
    journal: Option<Journal<F>>,
    pub(super) delta: Delta,
    pub(super) lost: BTreeMap<StreamId, Ranges>,
    pub(super) damage: Vec<Damage>,
    /// Where in the journal the tail begins.
    pub(super) folded: u64,
    /// Where it ends.
    pub(super) head: u64,
    end: End,
}

impl<D: Disk> Opener<'_, D> {
    /// Where nothing is yet the journal is made first: a missing one was there.
    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        for name in [journal::NAME, super::BLOCKS_NAME]
            .iter()
            .chain(&names::FILES)
        {
            self.clear_way(name)?;
        }
        let there = self.io("listing it", self.disk.list())?;
        let is_begun = |name: &String| {
            [journal::NAME, super::BLOCKS_NAME].contains(&name.as_str())
                || names::FILES.contains(&name.as_str())
        };
        if !there.iter().any(is_begun) && self.damage.is_empty() {
            self.io(
                "looking for a journal",
                Journal::find(&self.disk, &self.vault),
            )?;
            self.make_journal()?;
        }
        Ok(())
    }

    /// A directory where a file should be goes out of the way.
    fn clear_way(&mut self, name: &str) -> Result<(), StoreError> {
        let there = self.io("listing it", self.disk.list())?;
        if !there.iter().any(|other| other == name) {
            return Ok(());
        }
        match self.disk.open(name) {
            Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {
                let aside = format!("{name}.damaged-{:016x}", self.options.nonce);
                let moved = self.disk.rename(name, &aside);
                self.io("moving a directory aside", moved)?;
                self.note(format!(
                    "{name} is a directory: it was moved to {aside}, nothing in it was touched"
                ));
                Ok(())
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Reads the journal; `loaded` says from where on.
    pub(super) fn open_tail(
        &mut self,
        loaded: &mut Loaded,
    ) -> Result<OpenTail<D::File>, StoreError> {
        let mut journal = self.find_journal()?;
        if self.fresh_blocks && loaded.mark == Some(Default::default()) {
            loaded.mark = None;
        }
        let start = loaded.mark.map(|mark| mark.folded);
        let replayed = match &mut journal {
            Some(journal) => self.io("reading the journal", replay(journal, start))?,
            None => Replay::missing(start.unwrap_or(0)),
        };
        let unreadable = journal.as_ref().map_or(0, Journal::unreadable);
        if unreadable > 0 {
            self.note(format!(
                "{unreadable} pages of the journal cannot be read; it is made anew"
            ));
        }
        let was_used = replayed.head > 0 || replayed.end == End::Missing;
        if self.fresh_blocks && was_used {
            self.note(
                "the block store is missing: nothing that was folded into it is left".to_owned(),
            );
        }
        if replayed.end == End::Torn {
            tracing::info!(
                "a journal frame was cut off by the last stop; it was never acknowledged"
            );
        }
        let ring_bytes = journal
            .as_ref()
            .map_or(self.options.journal_bytes, Journal::ring_bytes);
        let ahead = SEQUENCES_AHEAD.max(ring_bytes / LOST_RECORD_BYTES_MIN);
        let (folded, head, end) = (replayed.start, replayed.head, replayed.end);
        let Recalled {
            delta,
            lost,
            damage,
        } = recall(replayed, loaded, ahead);
        Ok(OpenTail {
            journal,
            delta,
            lost,
            damage,
            folded,
            head,
            end,
        })
    }

    /// The journal; `None` when nothing of it can be read.
    fn find_journal(&mut self) -> Result<Option<Journal<D::File>>, StoreError> {
        match self.io(
            "opening the journal",
            Journal::find(&self.disk, &self.vault),
        )? {
            Found::Whole(journal, repaired) => {
                let missing = journal.missing_bytes();
                if missing > 0 {
                    self.note(format!(
                        "the journal is {missing} bytes shorter than it was made; what is left of \
                         it was read"
                    ));
                } else if repaired {
                    self.note("one copy of the journal's description was damaged".into());
                }
                Ok(Some(journal))
            }
            Found::Missing => {
                self.note(
                    "the journal is missing: what was acknowledged since the last checkpoint is \
                     lost"
                        .into(),
                );
                Ok(None)
            }
            Found::Damaged => {
                let aside = Journal::set_aside(&self.disk, self.options.nonce);
                let aside = self.io("moving the damaged journal aside", aside)?;
                self.note(format!(
                    "the journal cannot be read; it was moved to {aside} and is kept there: what was \
                     acknowledged since the last checkpoint is lost"
                ));
                Ok(None)
            }
            Found::Newer(found) => Err(StoreError::Newer {
                directory: self.disk.name(),
                found,
            }),
        }
    }

    /// A journal to go on with. One that is not whole says no more at the next start what was lost
    /// of it: what follows from that is in the block store before.
    pub(super) fn settle(
        &mut self,
        tail: &mut OpenTail<D::File>,
        (blocks, names): (&Blocks, &mut Names),
    ) -> Result<(Journal<D::File>, u64), StoreError> {
        let mut added_bytes = 0;
        let is_old = tail.journal.as_ref().is_some_and(|journal| {
            journal.unreadable() > 0 || journal.ring_bytes() < self.options.journal_bytes
        });
        if tail.end == End::Missing {
            added_bytes = self.fold_all(tail, (blocks, names))?;
        } else if is_old {
            match self.fold_all(tail, (blocks, names)) {
                Ok(bytes) => added_bytes = bytes,
                Err(error) => {
                    tracing::warn!(%error, "the journal stays as it is");
                    return Ok((self.whole_journal(tail)?, 0));
                }
            }
        }
        if is_old {
            match self.make_journal() {
                Ok(journal) => return Ok((journal, added_bytes)),
                Err(error) => tracing::warn!(%error, "the journal stays as it is"),
            }
        }
        Ok((self.whole_journal(tail)?, added_bytes))
    }

    /// Puts all of the tail into the block store; how many bytes that grew by.
    fn fold_all(
        &self,
        tail: &mut OpenTail<D::File>,
        (blocks, names): (&Blocks, &mut Names),
    ) -> Result<u64, StoreError> {
        let folded = fold_into(blocks, &tail.delta, usize::MAX);
        let folded = folded.map_err(|fault| self.fault("folding the journal", fault))?;
        if let Err(error) = names.keep(&self.disk, blocks, &tail.delta) {
            tracing::warn!(%error, "the second copy of what names the streams is old");
        }
        tail.folded = tail.head;
        tail.delta = Delta {
            end_lsn: tail.head,
            ..Delta::default()
        };
        Ok(folded.added_bytes)
    }

    /// The journal that is there, made whole, or a new one.
    fn whole_journal(&self, tail: &mut OpenTail<D::File>) -> Result<Journal<D::File>, StoreError> {
        let Some(mut journal) = tail.journal.take() else {
            return self.make_journal();
        };
        if journal.missing_bytes() > 0 {
            let mended = journal.mend();
            self.room("making the journal whole", journal.missing_bytes(), mended)?;
        }
        Ok(journal)
    }

    fn make_journal(&self) -> Result<Journal<D::File>, StoreError> {
        let bytes = self.options.journal_bytes;
        let made = Journal::create(&self.disk, &self.vault, bytes, self.options.nonce);
        self.room("making the journal", bytes, made)
    }
}
