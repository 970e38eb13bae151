use std::io;

use bytes::Bytes;

use crate::disk::DiskFile;
use crate::frame::{FRAME_HEADER_BYTES, FrameHeader};
use crate::journal::Journal;
use crate::limits::JOURNAL_PAGE_BYTES;

const CHUNK_BYTES: usize = 64 * 1024;

/// One step of what the journal still tells, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A batch as it was written.
    Batch(Bytes),
    /// Bytes `from..to` cannot be read, and acknowledged bytes come after them.
    Hole { from: u64, to: u64 },
}

/// How the journal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing more was written.
    Whole,
    /// With a frame that was being written when the power went; never acknowledged.
    Torn,
    /// What was acknowledged after it is not there any more, if anything was.
    Missing,
}

/// The journal from `folded` on.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) steps: Vec<Step>,
    /// Where it begins.
    pub(crate) start: u64,
    /// Where the next frame goes.
    pub(crate) head: u64,
    pub(crate) end: End,
}

impl Replay {
    /// There is no journal any more, nor what it had from `folded` on.
    pub(crate) const fn missing(folded: u64) -> Self {
        Self {
            steps: Vec::new(),
            start: folded,
            head: folded,
            end: End::Missing,
        }
    }
}

/// Reads everything written at `folded` or later; all there is when that is not known.
///
/// A frame is written only after the one before it was synced. So a bad frame with any frame
/// after it, be that whole or torn, was acknowledged: that is damage. A bad last frame was never
/// acknowledged. What the medium cannot read counts as bytes that are not there.
pub(crate) fn replay<F: DiskFile>(
    journal: &mut Journal<F>,
    folded: Option<u64>,
) -> io::Result<Replay> {
    let headers = find_headers(journal, folded.unwrap_or(0))?;
    let last = headers.len().saturating_sub(1);
    let first = folded.or_else(|| headers.first().map(|header| header.lsn));
    let mut out = Replay {
        steps: Vec::new(),
        start: first.unwrap_or(0),
        head: first.unwrap_or(0),
        end: End::Whole,
    };
    for (index, header) in headers.iter().enumerate() {
        if header.lsn < out.head {
            continue;
        }
        let (batches, whole) = read_batches(journal, header)?;
        if header.lsn > out.head {
            out.steps.push(Step::Hole {
                from: out.head,
                to: header.lsn,
            });
            out.head = header.lsn;
        }
        if index == last && !whole && journal.has(header.lsn, header.span()) {
            out.end = End::Torn;
            return Ok(out);
        }
        out.steps.extend(batches);
        out.head = header.lsn.saturating_add(header.span());
    }
    if !journal.has(out.head, FRAME_HEADER_BYTES as u64) {
        out.end = End::Missing;
    }
    Ok(out)
}

/// All readable frame headers from `folded` on, ascending.
fn find_headers<F: DiskFile>(
    journal: &mut Journal<F>,
    folded: u64,
) -> io::Result<Vec<FrameHeader>> {
    let mut headers = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = 0;
    while at < journal.ring_bytes() {
        let len = CHUNK_BYTES.min((journal.ring_bytes() - at) as usize);
        let part = chunk.get_mut(..len).unwrap_or_default();
        journal.read_over(at, part)?;
        for (page, bytes) in part.chunks(JOURNAL_PAGE_BYTES as usize).enumerate() {
            let place = at + page as u64 * JOURNAL_PAGE_BYTES;
            let header = bytes
                .get(..FRAME_HEADER_BYTES)
                .and_then(|bytes| FrameHeader::decode(journal.key(), bytes));
            headers.extend(header.filter(|header| {
                header.lsn >= folded
                    && header.lsn % journal.ring_bytes() == place
                    && header.span() <= journal.ring_bytes()
            }));
        }
        at += len as u64;
    }
    headers.sort_by_key(|header| header.lsn);
    Ok(headers)
}

/// The readable batches of a frame with holes between them, and whether none is missing.
fn read_batches<F: DiskFile>(
    journal: &mut Journal<F>,
    header: &FrameHeader,
) -> io::Result<(Vec<Step>, bool)> {
    let mut payload = vec![0; header.len as usize];
    journal.read_over(header.lsn + FRAME_HEADER_BYTES as u64, &mut payload)?;
    let hole = || Step::Hole {
        from: header.lsn,
        to: header.lsn + header.span(),
    };
    let mut steps = Vec::new();
    let mut whole = true;
    let mut rest = Bytes::from(payload);
    for index in 0..header.batches {
        let (batch, following) = header.batch(journal.key(), index, &rest);
        let batch = batch.and_then(|batch| journal.decrypt(header, index, batch));
        whole &= batch.is_some();
        steps.push(batch.map_or_else(hole, Step::Batch));
        let Some(following) = following else {
            whole = false;
            break;
        };
        rest = following;
    }
    steps.dedup_by(|a, b| matches!((a, b), (Step::Hole { .. }, Step::Hole { .. })));
    Ok((steps, whole && rest.is_empty()))
}
