//! How progress is written down. Each form has a version byte; old forms stay readable.
//!
//! Behind each form stands the number of the save it is, so that a save that is missing shows, and
//! behind that how far the consumer is settled, where that is less far than it has looked. Servers
//! from before read the forms and pass over what they do not know of that.

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

/// What stands behind a form.
#[derive(Clone, Copy, Debug, Default)]
struct After {
    /// Which save it is; 0 when it was written without.
    number: u64,
    /// How far it is settled, where that is not as far as it has looked.
    settled: Option<Seq>,
}

/// Progress that cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// Bytes that are no progress.
    #[error("consumer progress of an unknown form")]
    Form,
    /// A save before this one was lost: what it said of deliveries nobody knows.
    #[error("a part of its progress is missing: what was delivered since is delivered again")]
    Gap,
}

impl Progress {
    /// All of it, as the save with this number; 0 for none that others follow.
    pub(crate) fn encode_state(&self, number: u64) -> Bytes {
        let pending = self.pending.iter().map(|(&seq, entry)| PendingV1 {
            seq,
            delivery: entry.delivery,
            at_ms: millis(entry.at),
        });
        let state = StateV1 {
            place: self.place(),
            pending: pending.collect(),
            redelivered: self.redelivered.iter().map(|(&s, &n)| (s, n)).collect(),
        };
        versioned(&state, self.after(number))
    }

    /// Where we are, and what is true now of the sequences in `touched`, as the save with this
    /// number.
    pub(crate) fn encode_change(&self, number: u64, touched: impl Iterator<Item = Seq>) -> Bytes {
        let entries = touched.map(|seq| EntryV1 {
            seq,
            pending: self
                .pending
                .get(&seq)
                .map(|entry| (entry.delivery, millis(entry.at))),
            redelivered: self.redelivered.get(&seq).copied().unwrap_or(0),
        });
        let change = ChangeV1 {
            place: self.place(),
            entries: entries.collect(),
        };
        versioned(&change, self.after(number))
    }

    /// Reads a whole state.
    ///
    /// # Errors
    /// When the bytes are none.
    pub(crate) fn decode_state(bytes: &[u8]) -> Result<Self, Unreadable> {
        let (state, after): (StateV1, After) = unversioned(bytes)?;
        let mut progress = Self::default();
        progress.saves = after.number;
        progress.set_place(&state.place, after.settled);
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
    /// When the bytes are none, or one before it is missing; nothing is applied then.
    pub(crate) fn apply_change(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        let (change, after): (ChangeV1, After) = unversioned(bytes)?;
        let number = after.number;
        if number > 0 {
            if number <= self.saves {
                return Ok(());
            }
            if number > self.saves + 1 {
                return Err(Unreadable::Gap);
            }
            self.saves = number;
        }
        self.set_place(&change.place, after.settled);
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

    fn after(&self, number: u64) -> After {
        let is_behind = self.settled > 0 && self.settled < self.next_stream;
        After {
            number,
            settled: is_behind.then_some(self.settled),
        }
    }

    fn set_place(&mut self, place: &PlaceV1, settled: Option<Seq>) {
        self.next_stream = place.next_stream.max(1);
        self.settled = settled.map_or(self.next_stream, |seq| seq.clamp(1, self.next_stream));
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

fn versioned<T: Serialize>(value: &T, after: After) -> Bytes {
    // Writing to memory cannot fail; if it did, an empty record would be refused when read.
    let bytes = postcard::to_extend(value, vec![V1]).unwrap_or_default();
    let numbers = match after {
        After { number: 0, .. } => return bytes.into(),
        After {
            settled: Some(seq), ..
        } => vec![after.number, seq],
        After { settled: None, .. } => vec![after.number],
    };
    let add = |bytes, number| postcard::to_extend(&number, bytes).unwrap_or_default();
    numbers.into_iter().fold(bytes, add).into()
}

/// The value, and what stands behind it.
fn unversioned<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<(T, After), Unreadable> {
    let Some((&V1, rest)) = bytes.split_first() else {
        return Err(Unreadable::Form);
    };
    let (value, rest) = postcard::take_from_bytes(rest).map_err(|_| Unreadable::Form)?;
    if rest.is_empty() {
        return Ok((value, After::default()));
    }
    let (number, rest) = postcard::take_from_bytes(rest).map_err(|_| Unreadable::Form)?;
    // Whatever may be written behind it in time is not for this server.
    let settled = postcard::from_bytes(rest).ok();
    Ok((value, After { number, settled }))
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
        let change = |number| hex(&progress.encode_change(number, [5, 7].into_iter()));
        assert_eq!(hex(&progress.encode_state(0)), STATE_V1);
        assert_eq!(change(0), CHANGE_V1);
        assert_eq!(hex(&progress.encode_state(300)), format!("{STATE_V1}ac02"));
        assert_eq!(change(1), format!("{CHANGE_V1}01"));
    }

    #[test]
    fn what_was_written_is_read() {
        let mut before = progress();
        before.take_touched();
        let state = before.encode_state(0);
        assert_eq!(Progress::decode_state(&state), Ok(before.clone()));

        let mut after = before.clone();
        after.ack(7);
        after.deliver(9, Timestamp::from_nanos(2_000_000), true);
        after.advance(10);
        let touched = after.take_touched();
        let change = after.encode_change(0, touched.into_iter());
        before.apply_change(&change).unwrap();
        assert_eq!(before, after);
    }

    #[test]
    fn foreign_bytes_are_refused() {
        for bytes in [&b""[..], b"\x02", b"\x01", b"\x01\xff\xff"] {
            let refused = Err(Unreadable::Form);
            assert_eq!(Progress::decode_state(bytes), refused.map(|()| progress()));
            assert_eq!(Progress::default().apply_change(bytes), refused);
        }
    }

    #[test]
    fn a_save_that_is_missing_shows_in_those_after_it() {
        let before = progress();
        let state = before.encode_state(7);
        let change = |number| before.encode_change(number, [5].into_iter());
        let mut read = Progress::decode_state(&state).unwrap();
        assert_eq!(read.apply_change(&change(9)), Err(Unreadable::Gap));
        assert_eq!(read.apply_change(&change(8)), Ok(()));
        // Told twice is told once.
        assert_eq!(read.apply_change(&change(8)), Ok(()));
        assert_eq!(read.apply_change(&change(9)), Ok(()));
        // Those of a server from before have no number.
        assert_eq!(read.apply_change(&change(0)), Ok(()));
        assert_eq!(read.apply_change(&change(10)), Ok(()));
    }

    #[test]
    fn how_far_it_is_settled_is_kept_where_it_has_looked_further() {
        let mut before = progress();
        before.skip_to(20);
        before.take_touched();
        let state = before.encode_state(300);
        assert!(hex(&state).ends_with("ac0209"), "{}", hex(&state));
        let mut read = Progress::decode_state(&state).unwrap();
        assert_eq!((read.next_stream, read.settled), (20, 9));

        before.skip_to(30);
        let change = before.encode_change(301, core::iter::empty());
        read.apply_change(&change).unwrap();
        assert_eq!((read.next_stream, read.settled), (30, 9));
        read.look_again();
        assert_eq!(read.next_stream, 9);

        before.advance(30);
        let change = before.encode_change(302, core::iter::empty());
        read.apply_change(&change).unwrap();
        assert_eq!((read.next_stream, read.settled), (30, 30));
    }

    const STATE_V1: &str = "01090501050003060280a0abfef962070380a0abfef962080480a0abfef962010701";
    const CHANGE_V1: &str = "0109050105000205000007010380a0abfef96201";
}
