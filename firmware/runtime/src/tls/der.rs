/// A reader of DER: tag, length, value, one after another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Der<'a> {
    rest: &'a [u8],
}

/// One value, with the bytes of the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) tag: u8,
    pub(crate) value: &'a [u8],
    pub(crate) whole: &'a [u8],
}

pub(crate) const OID: u8 = 0x06;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const OCTET_STRING: u8 = 0x04;

impl<'a> Der<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next value, whatever it is; `None` at the end or when it is cut.
    pub(crate) fn any(&mut self) -> Option<Item<'a>> {
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

    /// The next value if it has this tag.
    pub(crate) fn tagged(&mut self, tag: u8) -> Option<Item<'a>> {
        let mut ahead = *self;
        let item = ahead.any().filter(|item| item.tag == tag)?;
        *self = ahead;
        Some(item)
    }
}

impl<'a> Item<'a> {
    /// What is inside.
    pub(crate) const fn inside(&self) -> Der<'a> {
        Der::new(self.value)
    }
}

impl<'a> Iterator for Der<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        self.any()
    }
}

/// `2.5.4.3`
pub(crate) fn dotted(oid: &[u8]) -> String {
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
            assert!(Der::new(&whole[..end]).any().is_none(), "{end}");
        }
        let item = Der::new(&whole).tagged(SEQUENCE).unwrap();
        assert_eq!(item.inside().any().unwrap().value, [5]);
        assert!(Der::new(&[0x30, 0x85, 1, 1, 1, 1, 1]).any().is_none());
        assert!(Der::new(&[0x30, 0x80, 1]).any().is_none());
    }
}
