//! How progress is written down. Each form has a version byte; old forms stay readable.

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::Seq;
use serde::{Deserialize, Serialize};

use super::progress::{Floor, Pending, Progress};

const V1: u8 = 1;

/// Frozen: a change needs a new version.
#[derive(Serialize, Deserialize)]
struct StateV1 {
    place: PlaceV1,
    pending: Vec<PendingV1>,
    redelivered: Vec<(u64, u32)>,
}

/// Frozen: a change needs a new version. Entries replace what the state says of their sequence.
#[derive(Serialize, Deserialize)]
struct ChangeV1 {
    place: PlaceV1,
    entries: Vec<EntryV1>,
}

/// Frozen.
#[derive(Serialize, Deserialize)]
struct PlaceV1 {
    next_stream: u64,
    next_delivery: u64,
    floor_delivery: u64,
    floor_stream: u64,
    list_end: Option<u64>,
}

/// Frozen.
#[derive(Serialize, Deserialize)]
struct PendingV1 {
    seq: u64,
    delivery: u64,
    at_ms: i64,
}

/// Frozen.
#[derive(Serialize, Deserialize)]
struct EntryV1 {
    seq: u64,
    pending: Option<(u64, i64)>,
    redelivered: u32,
}

/// Bytes that are no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("consumer progress of an unknown form")]
pub(crate) struct Unreadable;

impl Progress {
    /// All of it.
    pub(crate) fn encode_state(&self) -> Bytes {
        let pending = self.pending.iter().map(|(&seq, entry)| PendingV1 {
            seq,
            delivery: entry.delivery,
            at_ms: millis(entry.at),
        });
        versioned(&StateV1 {
            place: self.place(),
            pending: pending.collect(),
            redelivered: self.redelivered.iter().map(|(&s, &n)| (s, n)).collect(),
        })
    }

    /// Where we are, and what is true now of the sequences in `touched`.
    pub(crate) fn encode_change(&self, touched: impl Iterator<Item = Seq>) -> Bytes {
        let entries = touched.map(|seq| EntryV1 {
            seq,
            pending: self
                .pending
                .get(&seq)
                .map(|entry| (entry.delivery, millis(entry.at))),
            redelivered: self.redelivered.get(&seq).copied().unwrap_or(0),
        });
        versioned(&ChangeV1 {
            place: self.place(),
            entries: entries.collect(),
        })
    }

    /// Reads a whole state.
    ///
    /// # Errors
    /// When the bytes are none.
    pub(crate) fn decode_state(bytes: &[u8]) -> Result<Self, Unreadable> {
        let state: StateV1 = unversioned(bytes)?;
        let mut progress = Self::default();
        progress.set_place(&state.place);
        progress.pending = state
            .pending
            .into_iter()
            .map(|p| (p.seq, pending(p.delivery, p.at_ms)))
            .collect();
        progress.redelivered = state.redelivered.into_iter().collect();
        Ok(progress)
    }

    /// Applies a change that was written after this state.
    ///
    /// # Errors
    /// When the bytes are none; nothing is applied then.
    pub(crate) fn apply_change(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        let change: ChangeV1 = unversioned(bytes)?;
        self.set_place(&change.place);
        for entry in change.entries {
            match entry.pending {
                Some((delivery, at)) => self.pending.insert(entry.seq, pending(delivery, at)),
                None => self.pending.remove(&entry.seq),
            };
            match entry.redelivered {
                0 => self.redelivered.remove(&entry.seq),
                count => self.redelivered.insert(entry.seq, count),
            };
        }
        Ok(())
    }

    const fn place(&self) -> PlaceV1 {
        PlaceV1 {
            next_stream: self.next_stream,
            next_delivery: self.next_delivery,
            floor_delivery: self.floor.delivery,
            floor_stream: self.floor.stream,
            list_end: self.list_end,
        }
    }

    fn set_place(&mut self, place: &PlaceV1) {
        self.next_stream = place.next_stream.max(1);
        self.next_delivery = place.next_delivery.max(1);
        self.floor = Floor {
            delivery: place.floor_delivery,
            stream: place.floor_stream,
        };
        self.list_end = place.list_end;
    }
}

const fn millis(at: Timestamp) -> i64 {
    at.as_nanos().div_euclid(1_000_000)
}

const fn pending(delivery: u64, at_ms: i64) -> Pending {
    Pending {
        delivery,
        at: Timestamp::from_nanos(at_ms.saturating_mul(1_000_000)),
    }
}

fn versioned<T: Serialize>(value: &T) -> Bytes {
    // Writing to memory cannot fail; if it did, an empty record would be refused when read.
    postcard::to_extend(value, vec![V1])
        .unwrap_or_default()
        .into()
}

fn unversioned<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, Unreadable> {
    match bytes.split_first() {
        Some((&V1, rest)) => postcard::from_bytes(rest).map_err(|_| Unreadable),
        Some(_) | None => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        let mut progress = Progress::starting_at(5, None);
        for seq in 5..9 {
            progress.deliver(seq, Timestamp::from_nanos(1_700_000_000_000_000_000), true);
            progress.advance(seq + 1);
        }
        progress.ack(5);
        progress.count_again(7);
        progress
    }

    fn hex(bytes: &[u8]) -> String {
        data_encoding::HEXLOWER.encode(bytes)
    }

    #[test]
    fn the_bytes_of_version_one_stay() {
        let progress = progress();
        assert_eq!(hex(&progress.encode_state()), STATE_V1);
        assert_eq!(hex(&progress.encode_change([5, 7].into_iter())), CHANGE_V1);
    }

    #[test]
    fn what_was_written_is_read() {
        let mut before = progress();
        before.take_touched();
        let state = before.encode_state();
        assert_eq!(Progress::decode_state(&state), Ok(before.clone()));

        let mut after = before.clone();
        after.ack(7);
        after.deliver(9, Timestamp::from_nanos(2_000_000), true);
        after.advance(10);
        let touched = after.take_touched();
        let change = after.encode_change(touched.into_iter());
        before.apply_change(&change).unwrap();
        assert_eq!(before, after);
    }

    #[test]
    fn foreign_bytes_are_refused() {
        for bytes in [&b""[..], b"\x02", b"\x01", b"\x01\xff\xff"] {
            assert_eq!(Progress::decode_state(bytes), Err(Unreadable));
            assert_eq!(Progress::default().apply_change(bytes), Err(Unreadable));
        }
    }

    const STATE_V1: &str = "01090501050003060280a0abfef962070380a0abfef962080480a0abfef962010701";
    const CHANGE_V1: &str = "0109050105000205000007010380a0abfef96201";
}
