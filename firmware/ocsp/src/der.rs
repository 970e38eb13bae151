//! DER, as far as certificates and what is said of them need it.

use frond_clock::Timestamp;

/// A reader of DER: tag, length, value, one after another.
#[derive(Clone, Copy, Debug)]
pub struct Der<'a> {
    rest: &'a [u8],
}

/// One value, with the bytes of the whole.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// What it is.
    pub tag: u8,
    /// What is inside.
    pub value: &'a [u8],
    /// With tag and length.
    pub whole: &'a [u8],
}

/// A truth.
pub const BOOLEAN: u8 = 0x01;
/// A number.
pub const INTEGER: u8 = 0x02;
/// Bits, after a byte with how many are not used.
pub const BIT_STRING: u8 = 0x03;
/// Bytes.
pub const OCTET_STRING: u8 = 0x04;
/// A name of a type.
pub const OID: u8 = 0x06;
/// One of a few.
pub const ENUMERATED: u8 = 0x0a;
/// A time with two digits for the year.
pub const UTC_TIME: u8 = 0x17;
/// A time.
pub const GENERALIZED_TIME: u8 = 0x18;
/// Values after each other.
pub const SEQUENCE: u8 = 0x30;

impl<'a> Der<'a> {
    /// Of these bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next value if it has this tag.
    pub fn tagged(&mut self, tag: u8) -> Option<Item<'a>> {
        let mut ahead = *self;
        let item = ahead.next().filter(|item| item.tag == tag)?;
        *self = ahead;
        Some(item)
    }
}

impl<'a> Item<'a> {
    /// What is inside.
    #[must_use]
    pub const fn inside(&self) -> Der<'a> {
        Der::new(self.value)
    }

    /// The bytes of a `BIT STRING` that uses all bits of its bytes.
    #[must_use]
    pub fn bits(&self) -> Option<&'a [u8]> {
        let (unused, bits) = self.value.split_first()?;
        (self.tag == BIT_STRING && *unused == 0).then_some(bits)
    }

    /// `UTCTime` or `GeneralizedTime`, in nanoseconds since 1970.
    #[must_use]
    pub fn time_ns(&self) -> Option<i64> {
        let text = std::str::from_utf8(self.value).ok()?;
        let text = match self.tag {
            UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
            UTC_TIME => format!("19{text}"),
            _ => text.to_owned(),
        };
        let part = |from: usize, to: usize| text.get(from..to);
        // RFC 5280: 9999-12-31 is no end; nanoseconds reach to 2262.
        if part(0, 4)?.parse::<u32>().ok()? >= 2262 {
            return Some(i64::MAX);
        }
        let rfc = format!(
            "{}-{}-{}T{}:{}:{}Z",
            part(0, 4)?,
            part(4, 6)?,
            part(6, 8)?,
            part(8, 10)?,
            part(10, 12)?,
            part(12, 14)?
        );
        Timestamp::parse_rfc3339(&rfc).map(Timestamp::as_nanos)
    }
}

impl<'a> Iterator for Der<'a> {
    type Item = Item<'a>;

    /// The next value, whatever it is; `None` at the end or when it is cut.
    fn next(&mut self) -> Option<Item<'a>> {
        let (&tag, after) = self.rest.split_first()?;
        let (&first, mut after) = after.split_first()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 {
                return None;
            }
            let digits = after.get(..count)?;
            length = digits.iter().fold(0, |n, b| n << 8 | usize::from(*b));
            after = after.get(count..)?;
        }
        let value = after.get(..length)?;
        let head = self.rest.len() - after.len();
        let whole = self.rest.get(..head + length)?;
        self.rest = after.get(length..)?;
        Some(Item { tag, value, whole })
    }
}

/// Appends a value with its tag and length.
pub fn put(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    out.push(tag);
    let length = value.len();
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        Ok(_) | Err(_) => {
            let bytes = length.to_be_bytes();
            let digits = bytes.iter().skip_while(|b| **b == 0);
            let count = u8::try_from(digits.clone().count()).unwrap_or(u8::MAX);
            out.push(0x80 | count);
            out.extend(digits);
        }
    }
    out.extend_from_slice(value);
}

/// `2.5.4.3`
#[must_use]
pub fn dotted(oid: &[u8]) -> String {
    let mut out = String::new();
    let mut number: u64 = 0;
    for byte in oid {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        if out.is_empty() {
            let first = (number / 40).min(2);
            out = format!("{first}.{}", number - first * 40);
        } else {
            out.push_str(&format!(".{number}"));
        }
        number = 0;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_dotted() {
        assert_eq!(dotted(&[0x55, 0x04, 0x03]), "2.5.4.3");
        let domain = [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x19];
        assert_eq!(dotted(&domain), "0.9.2342.19200300.100.1.25");
    }

    #[test]
    fn what_is_cut_is_no_value() {
        let whole = [0x30, 0x03, 0x02, 0x01, 0x05];
        for end in 0..whole.len() {
            assert!(Der::new(&whole[..end]).next().is_none(), "{end}");
        }
        let item = Der::new(&whole).tagged(SEQUENCE).unwrap();
        assert_eq!(item.inside().next().unwrap().value, [5]);
        assert!(Der::new(&[0x30, 0x85, 1, 1, 1, 1, 1]).next().is_none());
        assert!(Der::new(&[0x30, 0x80, 1]).next().is_none());
    }

    #[test]
    fn what_is_put_is_read_again() {
        for length in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x1_0000] {
            let mut out = Vec::new();
            let value = vec![7; length];
            put(&mut out, OCTET_STRING, &value);
            let mut der = Der::new(&out);
            assert_eq!(der.tagged(OCTET_STRING).unwrap().value, value);
            assert!(der.is_empty());
        }
    }

    #[test]
    fn times_of_both_kinds_are_read() {
        let read = |tag, text: &str| {
            let item = Item {
                tag,
                value: text.as_bytes(),
                whole: &[],
            };
            item.time_ns()
        };
        assert_eq!(read(UTC_TIME, "700101000001Z"), Some(1_000_000_000));
        assert_eq!(
            read(GENERALIZED_TIME, "19700101000001Z"),
            Some(1_000_000_000)
        );
        assert!(read(UTC_TIME, "490101000000Z") > read(UTC_TIME, "500101000000Z"));
        assert_eq!(read(GENERALIZED_TIME, "99991231235959Z"), Some(i64::MAX));
        assert_eq!(read(UTC_TIME, "70"), None);
    }
}
