//! Numbers, seven bits to a byte.

/// Adds a number, seven bits to a byte.
pub(crate) fn put_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits of it")]
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "less than 128")]
    out.push(value as u8);
}

/// A number and how many bytes it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uvarint {
    /// It is there.
    Value(u64, usize),
    /// More bytes are needed.
    Short,
    /// It is too large for 64 bits.
    Overflow,
}

/// Reads a number from the front.
pub(crate) fn uvarint(bytes: &[u8]) -> Uvarint {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if place == 9 && *byte > 1 {
            return Uvarint::Overflow;
        }
        value |= bits << (7 * place);
        if byte & 0x80 == 0 {
            return Uvarint::Value(value, place + 1);
        }
    }
    if bytes.len() >= 10 {
        Uvarint::Overflow
    } else {
        Uvarint::Short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value in any::<u64>()) {
            let mut bytes = Vec::new();
            put_uvarint(&mut bytes, value);
            prop_assert_eq!(uvarint(&bytes), Uvarint::Value(value, bytes.len()));
            prop_assert_eq!(uvarint(&bytes[..bytes.len() - 1]), Uvarint::Short);
        }
    }

    #[test]
    fn numbers_too_large_are_refused() {
        assert_eq!(uvarint(&[0xff; 10]), Uvarint::Overflow);
        assert_eq!(uvarint(&[0xff; 9]), Uvarint::Short);
    }
}
