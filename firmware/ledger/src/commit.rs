use crate::{Batch, Ticket};

/// What holds the bytes.
pub trait Engine {
    /// Why a write or a sync failed.
    type Error;

    /// Takes one batch into the order of things to be synced. All of it survives or none of it.
    ///
    /// # Errors
    /// When the batch cannot be taken; then nothing of it is kept.
    fn write(&mut self, batch: &Batch) -> Result<(), Self::Error>;

    /// Returns when everything written so far is on the medium.
    ///
    /// # Errors
    /// When that is not certain. It is never tried again: what was written since the last good
    /// sync is unknown until the next start.
    fn sync(&mut self) -> Result<(), Self::Error>;
}

/// Proof that one batch is on the medium. Only [`commit`] makes one.
#[derive(Debug, PartialEq, Eq)]
pub struct Receipt {
    ticket: Ticket,
}

impl Receipt {
    /// The batch it proves.
    #[must_use]
    pub const fn ticket(&self) -> Ticket {
        self.ticket
    }
}

/// Writes `batches` in order, syncs once, and mints one receipt for each.
///
/// # Errors
/// The engine's error; then no batch of this call has a receipt.
pub fn commit<E: Engine>(engine: &mut E, batches: &[Batch]) -> Result<Vec<Receipt>, E::Error> {
    for batch in batches {
        engine.write(batch)?;
    }
    engine.sync()?;
    Ok(batches
        .iter()
        .map(|batch| Receipt {
            ticket: batch.ticket,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Need;

    struct Paper {
        lines: Vec<&'static str>,
        fails: &'static str,
    }

    impl Engine for Paper {
        type Error = &'static str;
        fn write(&mut self, _: &Batch) -> Result<(), Self::Error> {
            self.lines.push("write");
            if self.fails == "write" {
                Err("write")
            } else {
                Ok(())
            }
        }
        fn sync(&mut self) -> Result<(), Self::Error> {
            self.lines.push("sync");
            if self.fails == "sync" {
                Err("sync")
            } else {
                Ok(())
            }
        }
    }

    fn two() -> Vec<Batch> {
        [1, 2]
            .map(|n| Batch {
                ticket: Ticket(n),
                need: Need::Sync,
                records: vec![],
            })
            .into()
    }

    #[test]
    fn receipts_come_after_one_sync_for_all() {
        let mut paper = Paper {
            lines: vec![],
            fails: "",
        };
        let receipts = commit(&mut paper, &two()).unwrap();
        assert_eq!(paper.lines, ["write", "write", "sync"]);
        assert_eq!(
            receipts.iter().map(Receipt::ticket).collect::<Vec<_>>(),
            [Ticket(1), Ticket(2)]
        );
    }

    #[test]
    fn a_failure_mints_nothing() {
        for fails in ["write", "sync"] {
            let mut paper = Paper {
                lines: vec![],
                fails,
            };
            assert_eq!(commit(&mut paper, &two()), Err(fails));
        }
    }
}
