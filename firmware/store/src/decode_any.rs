use bytes::Bytes;

use crate::block::{
    Packing, decode_bodies, decode_body, decode_heads, decode_places, decode_summary, encode_blocks,
};
use crate::coding::{Cut, seal};
use crate::frame::{FRAME_HEADER_BYTES, FrameHeader};
use crate::ranges::Ranges;
use crate::record_code::{decode_records, encode_records};
use crate::stream_row::StreamRow;
use crate::tables::{Mark, block_key};

/// Feeds bytes to every decoder of this crate, for fuzzing: the first byte picks which.
///
/// Panics when what was decoded does not survive being encoded and decoded again.
pub fn decode_any(data: &[u8]) {
    let Some((pick, data)) = data.split_first() else {
        return;
    };
    match pick % 5 {
        0 => records(data),
        1 => frame(data),
        2 => heads(data),
        3 => bodies(data),
        _ => rows(data),
    }
}

fn records(data: &[u8]) {
    let source = Bytes::copy_from_slice(data);
    if let Some(records) = decode_records(&source) {
        let mut again = Vec::new();
        encode_records(&mut again, &records);
        let again = decode_records(&Bytes::from(again));
        assert_eq!(again.as_ref(), Some(&records), "records come back");
    }
}

fn frame(data: &[u8]) {
    let _ = FrameHeader::decode(0, data);
    let header = FrameHeader {
        epoch: 1,
        lsn: 0,
        len: data.len() as u32,
        batches: 4,
    };
    let sealed = header.encode(7);
    assert_eq!(FrameHeader::decode(7, &sealed), Some(header));
    assert_eq!(sealed.len(), FRAME_HEADER_BYTES);
    let mut rest = Bytes::copy_from_slice(data);
    for index in 0..header.batches {
        let (_, Some(following)) = header.batch(7, index, &rest) else {
            break;
        };
        assert!(following.len() < rest.len(), "a batch takes bytes");
        rest = following;
    }
}

/// Sealed here, so that the bytes get past the checksum.
fn heads(data: &[u8]) {
    let key = block_key(frond_ledger::StreamId(1), 5);
    let value = seal(&key, 1, |out| out.extend_from_slice(data));
    let _ = decode_summary(&key, 5, &value);
    if let Some(heads) = decode_heads(&key, 5, &value) {
        assert_eq!(heads.heads.len(), heads.offsets.len());
        let seqs = heads.heads.iter().map(|head| head.seq);
        let places: Vec<_> = seqs.zip(heads.offsets.iter().copied()).collect();
        assert_eq!(decode_places(&key, 5, &value), Some(places));
        let bodies = Bytes::copy_from_slice(data);
        for offset in heads.offsets {
            let _ = decode_body(&key, &bodies, offset);
        }
    }
}

fn bodies(data: &[u8]) {
    let key = |first| block_key(frond_ledger::StreamId(1), first);
    let (messages, _) = decode_bodies(&key(0), data);
    let messages = messages
        .into_iter()
        .map(|stored| (stored.seq, (stored.time, stored.body)))
        .collect();
    for block in encode_blocks(&messages, Packing::Packed, key) {
        let key = key(block.first);
        let (again, damaged) = decode_bodies(&key, &block.bodies);
        assert!(!damaged && !again.is_empty(), "blocks come back");
        let heads = decode_heads(&key, block.first, &block.heads);
        assert_eq!(heads.map(|heads| heads.heads.len()), Some(again.len()));
    }
}

fn rows(data: &[u8]) {
    let _ = StreamRow::decode(data);
    let _ = Ranges::decode(&mut Cut(data));
    let _ = Mark::decode(data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn noise_is_survived(data in prop::collection::vec(any::<u8>(), 0..400)) {
            decode_any(&data);
        }
    }
}
