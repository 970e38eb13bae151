use std::collections::BTreeMap;

use frond_ledger::{Seq, StreamId};
use redb::{ReadableTable, WriteTransaction};

use crate::block::{Messages, Packing, decode_bodies, decode_heads, decode_summary, encode_blocks};
use crate::coding::{seal, unseal};
use crate::delta::StreamDelta;
use crate::fold::Fingerprint;
use crate::limits::{BLOCK_BYTES_SMALL, BLOCK_MESSAGES_MAX};
use crate::ranges::Ranges;
use crate::space::row_bytes;
use crate::tables::{self, Bytes2, ROW_V1, block_key, parse_block_key};

/// Changes blocks of messages inside one transaction.
pub(crate) struct BlockFold<'t> {
    heads: Bytes2<'t>,
    bodies: Bytes2<'t>,
    dead: Bytes2<'t>,
    /// Of the stream that is being changed.
    pub(crate) packing: Packing,
    /// Checksums of the heads and bodies of the blocks written, by key.
    written: BTreeMap<[u8; 12], [u32; 2]>,
    /// Blocks that may still be taken out at once.
    pub(crate) budget: usize,
    /// Bytes of rows put in and taken out.
    pub(crate) added_bytes: u64,
    pub(crate) removed_bytes: u64,
}

impl<'t> BlockFold<'t> {
    pub(crate) fn new(write: &'t WriteTransaction, budget: usize) -> Result<Self, redb::Error> {
        Ok(Self {
            heads: write.open_table(tables::HEADS)?,
            bodies: write.open_table(tables::BODIES)?,
            dead: write.open_table(tables::DEAD)?,
            packing: Packing::default(),
            written: BTreeMap::new(),
            budget,
            added_bytes: 0,
            removed_bytes: 0,
        })
    }

    /// Takes out what `change` says is gone: whole blocks where it can, marks where it must. It
    /// stops when it may take out no more.
    pub(crate) fn drop_ranges(
        &mut self,
        stream: StreamId,
        change: &StreamDelta,
    ) -> Result<(), redb::Error> {
        let mut gone = change.drops.clone();
        if change.floor > 0 {
            gone.add(0, change.floor - 1);
        }
        let mut edges: BTreeMap<Seq, Ranges> = BTreeMap::new();
        for (first, last) in gone.iter() {
            let touched = self.blocks_touching(stream, first, last)?;
            let nexts = touched.iter().skip(1).map(Some).chain([None]);
            for (&block, next) in touched.iter().zip(nexts) {
                if block >= first && next.is_some() {
                    let Some(left) = self.budget.checked_sub(1) else {
                        return Ok(());
                    };
                    self.budget = left;
                    self.remove_block(stream, block)?;
                } else {
                    edges.entry(block).or_default().add(first, last);
                }
            }
        }
        for (block, gone) in edges {
            self.mark_dead(stream, block, &gone)?;
        }
        Ok(())
    }

    /// Appends `puts`, filling up a small last block.
    pub(crate) fn append(&mut self, stream: StreamId, puts: &Messages) -> Result<(), redb::Error> {
        let Some((&first_new, _)) = puts.first_key_value() else {
            return Ok(());
        };
        let mut merged = Messages::new();
        while let Some((block, value)) = self.last_block(stream)? {
            let key = block_key(stream, block);
            let small = match decode_summary(&key, block, &value) {
                Some(summary) if summary.last >= first_new => true,
                Some(summary) => {
                    merged.is_empty()
                        && summary.body_bytes < BLOCK_BYTES_SMALL
                        && summary.messages < BLOCK_MESSAGES_MAX
                }
                None => block >= first_new,
            };
            if !small {
                break;
            }
            let mut older = self.living(stream, block)?;
            self.remove_block(stream, block)?;
            older.append(&mut merged);
            merged = older;
        }
        if merged.is_empty() {
            return self.insert(stream, puts);
        }
        merged.extend(puts.iter().map(|(&seq, message)| (seq, message.clone())));
        self.insert(stream, &merged)
    }

    /// What was written, to be verified.
    pub(crate) fn fingerprints(self) -> impl Iterator<Item = Fingerprint> {
        self.written.into_iter().flat_map(|(key, [heads, bodies])| {
            [(tables::HEADS, heads), (tables::BODIES, bodies)].map(|(table, crc)| Fingerprint {
                table,
                key: key.to_vec(),
                crc,
            })
        })
    }

    /// Removes up to `budget` blocks of a stream; how many there were.
    pub(crate) fn clear(&mut self, stream: StreamId, budget: usize) -> Result<usize, redb::Error> {
        let (low, high) = (block_key(stream, 0), block_key(stream, Seq::MAX));
        let mut keys = Vec::new();
        for row in self.heads.range(&low[..]..=&high[..])?.take(budget) {
            keys.push(row?.0.value().to_vec());
        }
        for key in &keys {
            self.remove_key(key)?;
        }
        if keys.len() < budget {
            // Blocks whose heads were lost.
            self.bodies.retain_in(&low[..]..=&high[..], |_, _| false)?;
            self.dead.retain_in(&low[..]..=&high[..], |_, _| false)?;
        }
        Ok(keys.len())
    }

    /// First sequences of the blocks that may hold any of `first..=last`, ascending.
    fn blocks_touching(
        &self,
        stream: StreamId,
        first: Seq,
        last: Seq,
    ) -> Result<Vec<Seq>, redb::Error> {
        let low = block_key(stream, 0);
        let (from, to) = (block_key(stream, first), block_key(stream, last));
        let before = self.heads.range(&low[..]..=&from[..])?.next_back();
        let start = match before.transpose()? {
            Some((key, _)) => key.value().to_vec(),
            None => from.to_vec(),
        };
        let mut blocks = Vec::new();
        for row in self.heads.range(&start[..]..=&to[..])? {
            blocks.extend(parse_block_key(row?.0.value()).map(|(_, first)| first));
        }
        Ok(blocks)
    }

    fn mark_dead(
        &mut self,
        stream: StreamId,
        block: Seq,
        gone: &Ranges,
    ) -> Result<(), redb::Error> {
        let key = block_key(stream, block);
        let heads = self.heads.get(&key[..])?;
        let heads = heads.and_then(|row| decode_heads(&key, block, row.value()));
        let seqs: Vec<Seq> = match heads {
            Some(heads) => heads.heads.iter().map(|head| head.seq).collect(),
            None => self.living(stream, block)?.into_keys().collect(),
        };
        let mut dead = self.dead_of(&key)?;
        if !seqs
            .iter()
            .any(|&seq| gone.contains(seq) && !dead.contains(seq))
        {
            return Ok(());
        }
        for (first, last) in gone.iter() {
            // Only what the block holds: the set stays small.
            let (Some(&low), Some(&high)) = (seqs.first(), seqs.last()) else {
                break;
            };
            dead.add(first.max(low), last.min(high));
        }
        let alive = seqs.iter().filter(|&&seq| !dead.contains(seq)).count();
        if alive > 0 && alive * 2 >= seqs.len() {
            let row = seal(&key, ROW_V1, |out| dead.encode(out));
            self.dead.insert(&key[..], &row[..])?;
            return Ok(());
        }
        let mut living = self.living(stream, block)?;
        living.retain(|&seq, _| !dead.contains(seq));
        self.remove_block(stream, block)?;
        self.insert(stream, &living)
    }

    fn dead_of(&self, key: &[u8]) -> Result<Ranges, redb::Error> {
        let row = self.dead.get(key)?;
        let set = row.and_then(|row| Ranges::decode(&mut unseal(key, ROW_V1, row.value())?));
        Ok(set.unwrap_or_default())
    }

    /// The readable messages of a block that are not dead.
    fn living(&self, stream: StreamId, block: Seq) -> Result<Messages, redb::Error> {
        let key = block_key(stream, block);
        let dead = self.dead_of(&key)?;
        let Some(row) = self.bodies.get(&key[..])? else {
            return Ok(Messages::new());
        };
        let (messages, damaged) = decode_bodies(&key, row.value());
        if damaged {
            tracing::error!(
                stream = stream.0,
                block,
                "a damaged message is gone for good"
            );
        }
        Ok(messages
            .into_iter()
            .filter(|stored| !dead.contains(stored.seq))
            .map(|stored| (stored.seq, (stored.time, stored.body)))
            .collect())
    }

    fn last_block(&self, stream: StreamId) -> Result<Option<(Seq, Vec<u8>)>, redb::Error> {
        let (low, high) = (block_key(stream, 0), block_key(stream, Seq::MAX));
        let last = self.heads.range(&low[..]..=&high[..])?.next_back();
        Ok(last.transpose()?.and_then(|(key, value)| {
            let (_, first) = parse_block_key(key.value())?;
            Some((first, value.value().to_vec()))
        }))
    }

    fn insert(&mut self, stream: StreamId, messages: &Messages) -> Result<(), redb::Error> {
        let packing = self.packing;
        for block in encode_blocks(messages, packing, |first| block_key(stream, first)) {
            let key = block_key(stream, block.first);
            self.added_bytes += row_bytes(block.heads.len()) + row_bytes(block.bodies.len());
            self.heads.insert(&key[..], &block.heads[..])?;
            self.bodies.insert(&key[..], &block.bodies[..])?;
            let crcs = [&block.heads, &block.bodies].map(|value| crc32fast::hash(value));
            self.written.insert(key, crcs);
        }
        Ok(())
    }

    fn remove_block(&mut self, stream: StreamId, block: Seq) -> Result<(), redb::Error> {
        let key = block_key(stream, block);
        self.written.remove(&key);
        self.remove_key(&key)
    }

    fn remove_key(&mut self, key: &[u8]) -> Result<(), redb::Error> {
        for table in [&mut self.heads, &mut self.bodies] {
            let removed = table.remove(key)?;
            self.removed_bytes += removed.map_or(0, |row| row_bytes(row.value().len()));
        }
        self.dead.remove(key)?;
        Ok(())
    }
}
