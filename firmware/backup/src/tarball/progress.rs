//! A consumer's progress as a file: `o.dat`.
//!
//! spec: nats-server v2.15.1 server/filestore.go `decodeConsumerState`

use crate::archive::unzigzag;
use crate::item::{ConsumerKept, PendingAck};
use crate::limits::ENTRIES_MAX;
use crate::uvarint::{Uvarint, uvarint};

const MAGIC: u8 = 22;
const SECOND_NS: i64 = 1_000_000_000;

/// Numbers one after the other.
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl Numbers<'_> {
    pub(super) fn next(&mut self) -> Option<u64> {
        let Uvarint::Value(value, len) = uvarint(self.0) else {
            return None;
        };
        self.0 = self.0.get(len..)?;
        Some(value)
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        self.next().map(unzigzag)
    }
}

/// Reads it into a consumer; `None` when it is none.
pub(super) fn read(bytes: &[u8], consumer: &mut ConsumerKept) -> Option<()> {
    let ([magic, version], rest) = bytes.split_first_chunk::<2>()?;
    if *magic != MAGIC || !matches!(version, 1 | 2) {
        return None;
    }
    let is_old = *version == 1;
    let mut numbers = Numbers(rest);
    consumer.ack_floor.consumer_seq = numbers.next()?;
    consumer.ack_floor.stream_seq = numbers.next()?;
    consumer.delivered.consumer_seq = numbers.next()?;
    consumer.delivered.stream_seq = numbers.next()?;
    let floor = consumer.ack_floor;
    if is_old {
        // It counted from the floor, to the next one.
        let less = |floor: u64| floor.saturating_sub(1);
        let delivered = &mut consumer.delivered;
        delivered.consumer_seq = delivered
            .consumer_seq
            .checked_add(less(floor.consumer_seq))?;
        delivered.stream_seq = delivered.stream_seq.checked_add(less(floor.stream_seq))?;
    }
    let count = at_most(numbers.next()?)?;
    let base = if count > 0 { numbers.signed()? } else { 0 };
    for _ in 0..count {
        let seq = numbers.next()?.checked_add(floor.stream_seq)?;
        let sequence = match is_old {
            true => 0,
            false => numbers.next()?.checked_add(floor.consumer_seq)?,
        };
        let less = numbers.signed()?;
        let seconds = match is_old {
            true => base.checked_add(less)?,
            false => base.checked_sub(less)?,
        };
        let timestamp = seconds.checked_mul(SECOND_NS)?;
        consumer.pending.insert(
            seq,
            PendingAck {
                sequence,
                timestamp,
            },
        );
    }
    for _ in 0..at_most(numbers.next()?)? {
        let (seq, count) = (numbers.next()?, numbers.next()?);
        if seq > 0 && count > 0 {
            let seq = seq.checked_add(floor.stream_seq)?;
            consumer.redelivered.insert(seq, count);
        }
    }
    Some(())
}

fn at_most(count: u64) -> Option<u64> {
    (count <= ENTRIES_MAX as u64).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Pair;
    use crate::uvarint::put_uvarint;

    #[test]
    fn progress_is_read_relative_to_its_floor() {
        let bytes = [
            22, 2, 3, 10, 7, 15, 2, 0x90, 0x4e, 1, 1, 0, 4, 2, 6, 1, 4, 2,
        ];
        let mut consumer = ConsumerKept::default();
        assert_eq!(read(&bytes, &mut consumer), Some(()));
        let pair = |consumer_seq, stream_seq| Pair {
            consumer_seq,
            stream_seq,
        };
        assert_eq!(consumer.ack_floor, pair(3, 10));
        assert_eq!(consumer.delivered, pair(7, 15));
        let at = |sequence, seconds: i64| PendingAck {
            sequence,
            timestamp: seconds * SECOND_NS,
        };
        assert_eq!(
            consumer.pending,
            [(11, at(4, 5000)), (14, at(5, 4997))].into()
        );
        assert_eq!(consumer.redelivered, [(14, 2)].into());
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut], &mut ConsumerKept::default()), None);
        }
    }

    #[test]
    fn more_entries_than_may_be_are_refused() {
        for (entries, expected) in [(ENTRIES_MAX, Some(())), (ENTRIES_MAX + 1, None)] {
            let mut bytes = vec![22, 2, 0, 0, 0, 0, 0];
            put_uvarint(&mut bytes, entries as u64);
            for seq in 1..=entries {
                put_uvarint(&mut bytes, seq as u64);
                bytes.push(1);
            }
            let mut consumer = ConsumerKept::default();
            assert_eq!(read(&bytes, &mut consumer), expected);
        }
    }
}
