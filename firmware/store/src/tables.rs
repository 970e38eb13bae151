//! The block store's tables and keys. Keys are plain bytes, big-endian so that they sort;
//! values are sealed (`coding::seal`).

use frond_ledger::{ConsumerId, Seq, StreamId};
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction,
};

use crate::coding::{Cut, put_varint, seal, unseal};

pub(crate) type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;
pub(crate) type Bytes2<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// `stream | first sequence` to the heads of a block.
pub(crate) const HEADS: Definition = TableDefinition::new("heads");
/// The same key to the bodies of the block.
pub(crate) const BODIES: Definition = TableDefinition::new("bodies");
/// The same key to the sequences of the block that are gone.
pub(crate) const DEAD: Definition = TableDefinition::new("dead");
/// `stream` to its bounds and description; twice, for a damaged copy must not lose a stream.
pub(crate) const STREAMS: Definition = TableDefinition::new("streams");
pub(crate) const STREAMS_COPY: Definition = TableDefinition::new("streams-copy");
/// `stream | consumer` to its description; twice.
pub(crate) const CONSUMERS: Definition = TableDefinition::new("consumers");
pub(crate) const CONSUMERS_COPY: Definition = TableDefinition::new("consumers-copy");
/// `stream | consumer` to its last whole state.
pub(crate) const STATES: Definition = TableDefinition::new("states");
/// `stream | consumer | number` to a change since.
pub(crate) const CHANGES: Definition = TableDefinition::new("changes");
/// Name to value; twice.
pub(crate) const VALUES: Definition = TableDefinition::new("values");
pub(crate) const VALUES_COPY: Definition = TableDefinition::new("values-copy");
/// `stream` whose blocks are still being cleared away.
pub(crate) const REMOVED: Definition = TableDefinition::new("removed");
/// One row: [`Mark`]; twice.
pub(crate) const MARK: Definition = TableDefinition::new("mark");
pub(crate) const MARK_COPY: Definition = TableDefinition::new("mark-copy");

pub(crate) const ALL: [Definition; 14] = [
    HEADS,
    BODIES,
    DEAD,
    STREAMS,
    STREAMS_COPY,
    CONSUMERS,
    CONSUMERS_COPY,
    STATES,
    CHANGES,
    VALUES,
    VALUES_COPY,
    REMOVED,
    MARK,
    MARK_COPY,
];

/// Version byte of every sealed row but blocks, which have their own.
pub(crate) const ROW_V1: u8 = 1;
const MARK_KEY: &[u8] = b"mark";

/// How far the block store got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Everything in the journal before this is folded in.
    pub(crate) folded: u64,
    pub(crate) stream_ids_used: u32,
    pub(crate) consumer_ids_used: u32,
}

/// Makes the tables that are not there yet.
pub(crate) fn create(database: &Database) -> Result<(), redb::Error> {
    let there = {
        let read = database.begin_read()?;
        read.list_tables()?.count()
    };
    if there >= ALL.len() {
        return Ok(());
    }
    let write = begin(database)?;
    for definition in ALL {
        write.open_table(definition)?;
    }
    write.commit()?;
    Ok(())
}

/// A transaction that is on the medium when its commit returns and opens fast after a crash.
pub(crate) fn begin(database: &Database) -> Result<WriteTransaction, redb::Error> {
    let mut write = database.begin_write()?;
    write.set_durability(Durability::Immediate)?;
    write.set_quick_repair(true);
    Ok(write)
}

pub(crate) fn stream_key(stream: StreamId) -> [u8; 4] {
    stream.0.to_be_bytes()
}

pub(crate) fn block_key(stream: StreamId, first: Seq) -> [u8; 12] {
    let mut key = [0; 12];
    let bytes = stream
        .0
        .to_be_bytes()
        .into_iter()
        .chain(first.to_be_bytes());
    for (slot, byte) in key.iter_mut().zip(bytes) {
        *slot = byte;
    }
    key
}

pub(crate) fn consumer_key(stream: StreamId, consumer: ConsumerId) -> [u8; 8] {
    ((u64::from(stream.0) << 32) | u64::from(consumer.0)).to_be_bytes()
}

pub(crate) fn change_key(stream: StreamId, consumer: ConsumerId, number: u64) -> [u8; 16] {
    let high = (u64::from(stream.0) << 32) | u64::from(consumer.0);
    ((u128::from(high) << 64) | u128::from(number)).to_be_bytes()
}

/// The stream and first sequence of a block's key; `None` when the key is damaged.
pub(crate) fn parse_block_key(key: &[u8]) -> Option<(StreamId, Seq)> {
    let (stream, rest) = key.split_first_chunk::<4>()?;
    let first = rest.first_chunk::<8>().filter(|_| rest.len() == 8)?;
    Some((
        StreamId(u32::from_be_bytes(*stream)),
        Seq::from_be_bytes(*first),
    ))
}

/// The stream, consumer and number of a key of consumers, states or changes (number 0).
pub(crate) fn parse_consumer_key(key: &[u8]) -> Option<(StreamId, ConsumerId, u64)> {
    let (stream, rest) = key.split_first_chunk::<4>()?;
    let (consumer, rest) = rest.split_first_chunk::<4>()?;
    let number = match rest.first_chunk::<8>() {
        Some(number) if rest.len() == 8 => u64::from_be_bytes(*number),
        None if rest.is_empty() => 0,
        Some(_) | None => return None,
    };
    Some((
        StreamId(u32::from_be_bytes(*stream)),
        ConsumerId(u32::from_be_bytes(*consumer)),
        number,
    ))
}

/// The payload of a row kept twice: the first copy that is whole, else the second; with
/// whether a copy is damaged.
pub(crate) fn read_twice(
    first: &impl ReadableTable<&'static [u8], &'static [u8]>,
    second: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> Result<(Option<Vec<u8>>, bool), redb::Error> {
    let mut damaged = false;
    let mut found = None;
    for row in [first.get(key)?, second.get(key)?] {
        let payload =
            row.and_then(|row| unseal(key, ROW_V1, row.value()).map(|cut| cut.0.to_vec()));
        damaged |= payload.is_none();
        found = found.or(payload);
    }
    Ok((found, damaged))
}

impl Mark {
    pub(crate) fn read(
        first: &impl ReadableTable<&'static [u8], &'static [u8]>,
        second: &impl ReadableTable<&'static [u8], &'static [u8]>,
    ) -> Result<Option<Self>, redb::Error> {
        let (payload, _) = read_twice(first, second, MARK_KEY)?;
        Ok(payload.and_then(|payload| Self::decode(&payload)))
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let mut cut = Cut(payload);
        Some(Self {
            folded: cut.varint()?,
            stream_ids_used: cut.varint32()?,
            consumer_ids_used: cut.varint32()?,
        })
    }

    /// The sealed row and its key.
    pub(crate) fn row(&self) -> (&'static [u8], Vec<u8>) {
        let value = seal(MARK_KEY, ROW_V1, |out| {
            put_varint(out, self.folded);
            put_varint(out, u64::from(self.stream_ids_used));
            put_varint(out, u64::from(self.consumer_ids_used));
        });
        (MARK_KEY, value)
    }
}
