use frond_ledger::Seq;

use super::index::{Index, Slot};

/// So many are kept unpacked at most, and half of them are packed when they are more.
const YOUNG_MAX: usize = 32 * 1024;

/// Messages on their way into an [`Index`] at a start, ascending, the newest still unpacked: the
/// next of a subject changes the one before it, which mostly is among them, and so a chunk is
/// packed once instead of being widened message by message.
#[derive(Debug, Default)]
pub(crate) struct Young {
    slots: Vec<(Seq, Slot)>,
}

impl Young {
    /// Adds one that is above all before.
    pub(super) fn push(&mut self, seq: Seq, slot: Slot, index: &mut Index) {
        self.slots.push((seq, slot));
        if self.slots.len() == YOUNG_MAX {
            let packed = self.pack(YOUNG_MAX / 2, index);
            self.slots.drain(..packed);
        }
    }

    /// One of them, to change it.
    pub(super) fn get_mut(&mut self, seq: Seq) -> Option<&mut Slot> {
        let first = self.slots.first()?.0;
        let guess = usize::try_from(seq.checked_sub(first)?).ok()?;
        let place = match self.slots.get(guess) {
            Some((found, _)) if *found == seq => guess,
            Some(_) | None => self.slots.binary_search_by_key(&seq, |it| it.0).ok()?,
        };
        self.slots.get_mut(place).map(|it| &mut it.1)
    }

    /// No more will come.
    pub(super) fn finish(self, index: &mut Index) {
        self.pack(usize::MAX, index);
    }

    /// Packs chunks until so many are packed; how many that were.
    fn pack(&self, at_least: usize, index: &mut Index) -> usize {
        let mut packed = 0;
        let is_one =
            |one: &(Seq, Slot), two: &(Seq, Slot)| Index::chunk_of(one.0) == Index::chunk_of(two.0);
        for chunk in self.slots.chunk_by(is_one) {
            if packed >= at_least {
                break;
            }
            index.insert_chunk(chunk);
            packed += chunk.len();
        }
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::config::Storage;
    use crate::stream::contents::{Arrival, Contents};
    use frond_clock::{Rng, Timestamp};

    /// Subjects that come again at once, after a while, and after more than are kept unpacked.
    #[test]
    fn what_is_taken_over_is_what_would_have_been_inserted() {
        let mut rng = Rng::seeded(5);
        let empty = || Contents::starting_after(Storage::File, 0);
        let (mut taken, mut inserted, mut young) = (empty(), empty(), Young::default());
        let mut seq = 0;
        for n in 0..3 * YOUNG_MAX as u64 {
            seq += 1 + rng.below(3) * rng.below(300) * u64::from(rng.below(50) == 0);
            let subject = match rng.below(3) {
                0 => "often".to_owned(),
                1 => format!("seldom.{}", rng.below(40_000)),
                _ => format!("sometimes.{}", n % 700),
            };
            let new = Arrival {
                seq,
                time: Timestamp::from_nanos((n * 1_000_003).cast_signed()),
                subject: &subject,
                header_len: u32::try_from(rng.below(2)).unwrap(),
                payload_len: u32::try_from(rng.below(3000)).unwrap(),
            };
            inserted.insert(new);
            let number = taken.number(&subject);
            taken.take_over(number, &new, &mut young);
        }
        taken.taken_over(young);
        let all = |it: &Contents| it.from(0).collect::<Vec<_>>();
        assert!(all(&taken) == all(&inserted));
        let sums = |it: &Contents| {
            (
                it.messages(),
                it.bytes(),
                it.first(),
                it.last(),
                it.last_time(),
            )
        };
        assert_eq!(sums(&taken), sums(&inserted));
        for subject in inserted.subjects().iter() {
            assert_eq!(taken.subjects().find(subject.name), Some(subject));
        }
        assert!(taken.memory_bytes() <= inserted.memory_bytes());
        // What comes after goes on from there.
        let next = Arrival {
            seq: seq + 1,
            time: Timestamp::default(),
            subject: "often",
            header_len: 0,
            payload_len: 1,
        };
        assert_eq!(taken.insert(next), inserted.insert(next));
        assert!(all(&taken) == all(&inserted));
    }

    /// A damaged store may tell one twice.
    #[test]
    fn what_does_not_ascend_is_left_out() {
        let (mut contents, mut young) =
            (Contents::starting_after(Storage::File, 0), Young::default());
        for seq in [4, 4, 2, 5] {
            let new = Arrival {
                seq,
                time: Timestamp::default(),
                subject: "s",
                header_len: 0,
                payload_len: 1,
            };
            let number = contents.number("s");
            contents.take_over(number, &new, &mut young);
        }
        contents.taken_over(young);
        assert_eq!(contents.from(0).map(|it| it.0).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(
            (contents.messages(), contents.first(), contents.last()),
            (2, 4, 5)
        );
    }
}
