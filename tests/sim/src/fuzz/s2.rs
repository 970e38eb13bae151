use frond_s2::{Fault, FrameReader, FrameWriter, Level, Packer};

/// However frames are cut, the same comes out before the same fault; and what is packed here,
/// either way, comes out again.
///
/// Input: one byte that says how to cut, then frames, which are taken as plain bytes too.
pub fn s2(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let piece = usize::from(*first) + 1;
    let whole = read(rest, rest.len());
    let pieces = read(rest, piece);
    assert_eq!(whole.1, pieces.1, "the fault");
    // What came before a fault may have come in other steps, never other bytes.
    assert!(whole.0 == pieces.0, "the bytes");
    for packed in [
        packed(rest, Level::Plain),
        packed(rest, Level::Fast),
        written(rest),
    ] {
        assert_eq!(read(&packed, piece), (rest.to_vec(), None));
    }
}

fn read(packed: &[u8], piece: usize) -> (Vec<u8>, Option<Fault>) {
    let (mut reader, mut out) = (FrameReader::default(), Vec::new());
    for piece in packed.chunks(piece.max(1)) {
        if let Err(fault) = take(&mut reader, piece, &mut out) {
            return (out, Some(fault));
        }
    }
    (out, None)
}

fn take(reader: &mut FrameReader, piece: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    reader.feed(piece)?;
    while reader.next(out)? {}
    Ok(())
}

fn packed(mut bytes: &[u8], level: Level) -> Vec<u8> {
    let (mut packer, mut out) = (Packer::default(), Vec::new());
    Packer::begin(&mut out);
    while !bytes.is_empty() {
        let taken = packer.frame(level, bytes, &mut out);
        bytes = bytes.get(taken..).unwrap_or_default();
    }
    out
}

fn written(bytes: &[u8]) -> Vec<u8> {
    let (mut writer, mut out) = (FrameWriter::default(), Vec::new());
    writer.write(bytes, &mut out);
    writer.flush(&mut out);
    out
}
