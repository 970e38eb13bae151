//! The checksum of frames: CRC-32C (Castagnoli), masked as Snappy does.

const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Four tables: a byte's contribution, zero to three bytes before the end.
static TABLES: [[u32; 256]; 4] = tables();

#[expect(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "a constant: an index out of bounds would not compile"
)]
const fn tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut n = 0;
    while n < 256 {
        let mut crc = n as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg());
            bit += 1;
        }
        tables[0][n] = crc;
        n += 1;
    }
    let mut table = 1;
    while table < 4 {
        let mut n = 0;
        while n < 256 {
            let before = tables[table - 1][n];
            tables[table][n] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            n += 1;
        }
        table += 1;
    }
    tables
}

/// The masked checksum of `data`.
pub(crate) fn masked(data: &[u8]) -> u32 {
    let crc = checksum(data);
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

fn checksum(data: &[u8]) -> u32 {
    let mut crc = !0;
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        let word: [u8; 4] = word.try_into().unwrap_or_default();
        crc ^= u32::from_le_bytes(word);
        crc = at(3, crc) ^ at(2, crc >> 8) ^ at(1, crc >> 16) ^ at(0, crc >> 24);
    }
    for byte in words.remainder() {
        crc = (crc >> 8) ^ at(0, crc ^ u32::from(*byte));
    }
    !crc
}

#[expect(
    clippy::indexing_slicing,
    reason = "a byte indexes 256 entries, and callers name tables 0 to 3"
)]
const fn at(table: usize, crc: u32) -> u32 {
    TABLES[table][(crc & 0xff) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // spec: RFC 3720 appendix B.4
        assert_eq!(checksum(&[0; 32]), 0x8a91_36aa);
        assert_eq!(checksum(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
    }
}
