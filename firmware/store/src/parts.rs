//! What a start knows of the blocks of a stream: their heads as they lie in the block store.
//! Whole by their checksums, and decoded only by who looks at them.

use frond_ledger::{Head, Heads, Packed, Part, Seq};

use crate::block::{Summary, decode_heads};
use crate::delta::StreamDelta;
use crate::ranges::Ranges;

/// A part of a stream's heads.
#[derive(Debug)]
pub(crate) enum LoadedPart {
    Block(BlockPart),
    /// Of no block, or of one that is not as it was written.
    Read(Part),
}

/// The heads of one block.
#[derive(Debug)]
pub(crate) struct BlockPart {
    key: [u8; 12],
    first: Seq,
    summary: Summary,
    row: Box<[u8]>,
    gone: Ranges,
}

impl LoadedPart {
    pub(crate) fn block(
        key: [u8; 12],
        (first, summary): (Seq, Summary),
        row: &[u8],
        gone: Ranges,
    ) -> Self {
        Self::Block(BlockPart {
            key,
            first,
            summary,
            row: row.into(),
            gone,
        })
    }

    /// No message of it is below the first or above the second.
    pub(crate) fn bounds(&self) -> (Seq, Seq) {
        let seq = |head: Option<&Head>| head.map_or(0, |head| head.seq);
        match self {
            Self::Block(block) => (block.first, block.summary.last),
            Self::Read(part) => (seq(part.heads.first()), seq(part.heads.last())),
        }
    }

    pub(crate) fn messages(&self) -> u64 {
        match self {
            Self::Block(block) => block.messages(),
            Self::Read(part) => part.messages(),
        }
    }

    pub(crate) fn into_read(self) -> Part {
        match self {
            Self::Block(block) => block.read(),
            Self::Read(part) => part,
        }
    }

    fn drop_ranges(&mut self, gone: impl Iterator<Item = (Seq, Seq)>) {
        for (from, to) in gone {
            match self {
                Self::Block(block) => block.gone.add(from, to),
                Self::Read(part) => part.heads.retain(|head| !(from..=to).contains(&head.seq)),
            }
        }
    }
}

impl Packed for BlockPart {
    fn messages(&self) -> u64 {
        if self.gone.is_empty() {
            return self.summary.messages as u64;
        }
        self.read().messages()
    }

    fn read(&self) -> Part {
        let Some(mut block) = decode_heads(&self.key, self.first, &self.row) else {
            // Its checksum was right: no version before wrote it so.
            tracing::error!(first = self.first, "the index of a block cannot be decoded");
            return Part::default();
        };
        if !self.gone.is_empty() {
            block.heads.retain(|head| !self.gone.contains(head.seq));
        }
        Part {
            subjects: block.subjects,
            heads: block.heads,
        }
    }
}

/// Takes out what a run of records does.
pub(crate) fn drop_old(parts: &mut Vec<LoadedPart>, change: &StreamDelta) {
    drop_below(parts, change.floor);
    if !change.drops.is_empty() {
        for part in &mut *parts {
            let (first, last) = part.bounds();
            part.drop_ranges(change.drops.within(first, last));
        }
    }
    // Sequences rise, but a message kept twice must not be told twice.
    let Some((&first, _)) = change.puts.first_key_value() else {
        return;
    };
    for part in parts {
        if part.bounds().1 < first {
            continue;
        }
        let mut read = core::mem::replace(part, LoadedPart::Read(Part::default())).into_read();
        read.heads
            .retain(|head| !change.puts.contains_key(&head.seq));
        *part = LoadedPart::Read(read);
    }
}

/// Takes out everything below `floor`.
pub(crate) fn drop_below(parts: &mut Vec<LoadedPart>, floor: Seq) {
    let Some(below) = floor.checked_sub(1) else {
        return;
    };
    parts.retain_mut(|part| {
        let (first, last) = part.bounds();
        if first < floor && floor <= last {
            part.drop_ranges(core::iter::once((first, below)));
        }
        last >= floor
    });
}

/// All of them, each message once.
pub(crate) fn heads(mut parts: Vec<LoadedPart>) -> Heads {
    parts.retain(|part| part.messages() > 0);
    let bounds = parts.iter().map(LoadedPart::bounds);
    let is_ascending = bounds
        .clone()
        .zip(bounds.skip(1))
        .all(|((_, last), (next, _))| last < next);
    let mut heads = Heads::default();
    if !is_ascending {
        // What is found page by page may hold a block and what later became of it.
        heads.push(merged(parts));
        return heads;
    }
    for part in parts {
        match part {
            LoadedPart::Block(block) => heads.push(block),
            LoadedPart::Read(part) => heads.push(part),
        }
    }
    heads
}

fn merged(parts: Vec<LoadedPart>) -> Part {
    let mut out = Part::default();
    for part in parts {
        let part = part.into_read();
        let base = out.subjects.len() as u32;
        for number in 0..part.subjects.len() as u32 {
            out.subjects.push(part.subjects.get(number).unwrap_or(""));
        }
        out.heads.extend(part.heads.into_iter().map(|head| Head {
            subject: base + head.subject,
            ..head
        }));
    }
    out.heads.sort_by_key(|head| head.seq);
    out.heads.dedup_by_key(|head| head.seq);
    out
}
