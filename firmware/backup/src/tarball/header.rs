use crate::fault::Fault;

pub(super) const BLOCK: usize = 512;

/// What a tar's header says of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) kind: u8,
}

impl Header {
    /// Reads a header; `None` when it is the mark of the end.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn read(block: &[u8; BLOCK]) -> Result<Option<Self>, Fault> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let part = |at: usize, len: usize| block.get(at..at + len).unwrap_or_default();
        let sum = octal(part(148, 8)).ok_or(Fault::Tar)?;
        let blank = |(at, byte): (usize, &u8)| match at {
            148..156 => u64::from(b' '),
            _ => u64::from(*byte),
        };
        let counted: u64 = block.iter().enumerate().map(blank).sum();
        if counted != sum {
            return Err(Fault::Tar);
        }
        let (name, prefix) = (text(part(0, 100))?, text(part(345, 155))?);
        let is_ustar = part(257, 5) == b"ustar";
        let name = if is_ustar && !prefix.is_empty() {
            format!("{prefix}/{name}")
        } else {
            name
        };
        Ok(Some(Self {
            name,
            size: number(part(124, 12)).ok_or(Fault::Tar)?,
            kind: part(156, 1).first().copied().unwrap_or_default(),
        }))
    }

    /// Takes over what a PAX record said before.
    pub(super) fn adjust(&mut self, pax: &[u8]) -> Result<(), Fault> {
        let mut rest = pax;
        while !rest.is_empty() {
            let space = rest
                .iter()
                .position(|byte| *byte == b' ')
                .ok_or(Fault::Tar)?;
            let len = rest.get(..space).and_then(decimal).ok_or(Fault::Tar)?;
            let len = usize::try_from(len).map_err(|_| Fault::Tar)?;
            let (record, later) = rest.split_at_checked(len).ok_or(Fault::Tar)?;
            rest = later;
            let record = record.get(space + 1..).ok_or(Fault::Tar)?;
            let record = record.strip_suffix(b"\n").ok_or(Fault::Tar)?;
            if let Some(path) = record.strip_prefix(b"path=") {
                self.name = text(path)?;
            } else if let Some(size) = record.strip_prefix(b"size=") {
                self.size = decimal(size).ok_or(Fault::Tar)?;
            }
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<String, Fault> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let bytes = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
    String::from_utf8(bytes.to_vec()).map_err(|_| Fault::Tar)
}

fn decimal(bytes: &[u8]) -> Option<u64> {
    core::str::from_utf8(bytes).ok()?.parse().ok()
}

fn octal(bytes: &[u8]) -> Option<u64> {
    let digits = core::str::from_utf8(bytes).ok()?;
    let digits = digits.trim_matches(['\0', ' ']);
    if digits.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(digits, 8).ok()
}

/// In digits, or in binary when there are too many.
fn number(bytes: &[u8]) -> Option<u64> {
    match bytes.split_first() {
        Some((first, rest)) if first & 0x80 != 0 => {
            let (high, low) = rest.split_at_checked(rest.len().checked_sub(8)?)?;
            let is_small = first & 0x7f == 0 && high.iter().all(|byte| *byte == 0);
            is_small.then(|| {
                low.iter()
                    .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
            })
        }
        Some(_) | None => octal(bytes),
    }
}
