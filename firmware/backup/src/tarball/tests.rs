use super::TarReader;
use super::header::BLOCK;
use crate::buffer::Buffer;
use crate::fault::Fault;
use crate::item::Item;

/// A header with its size in binary, and the checksum it has to have.
fn header(name: &str, size: u64, kind: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124] = 0x80;
    block[128..136].copy_from_slice(&size.to_be_bytes());
    block[148..156].fill(b' ');
    block[156] = kind;
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

fn file(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(name, content.len() as u64, kind).to_vec();
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

/// Everything after the stream's description, and the fault if there is one.
fn read(after: &[u8]) -> (Vec<Item>, Option<Fault>) {
    let mut plain = Buffer::default();
    plain.push(&file("meta.inf", b'0', b"{\"name\":\"S\"}"));
    plain.push(after);
    let (mut reader, mut items) = (TarReader::default(), Vec::new());
    loop {
        match reader.step(&mut plain) {
            Ok(Some(item)) => items.push(item),
            Ok(None) => return (items.split_off(1), None),
            Err(fault) => return (items.split_off(1), Some(fault)),
        }
    }
}

#[test]
fn sizes_that_cannot_be_padded_are_refused() {
    for name in ["other", "msgs/1.blk", "msgs/index.db"] {
        for size in [u64::MAX, u64::MAX - 510] {
            let (items, fault) = read(&header(name, size, b'0'));
            assert_eq!(
                (items, fault),
                (Vec::new(), Some(Fault::Tar)),
                "{name} {size}"
            );
            let mut extended = file("pax", b'x', b"29 size=18446744073709551615\n");
            extended.extend(header(name, 0, b'0'));
            assert_eq!(read(&extended).1, Some(Fault::Tar), "{name}");
        }
        // The largest there are: more has to come.
        let (items, fault) = read(&header(name, u64::MAX - 511, b'0'));
        assert_eq!((items, fault), (Vec::new(), None), "{name}");
    }
}

#[test]
fn an_end_is_told_once() {
    let mut plain = Buffer::default();
    plain.push(&file("meta.inf", b'0', b"{\"name\":\"S\"}"));
    plain.push(&[0; 2 * BLOCK]);
    let mut reader = TarReader::default();
    while reader.step(&mut plain).unwrap() != Some(Item::End) {}
    assert_eq!(reader.step(&mut plain), Ok(None));
    assert_eq!(reader.end(), Ok(None));
}
