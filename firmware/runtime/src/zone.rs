//! Time zones of the system, for users who may come at certain times only.

use std::path::Path;

use frond_account::Zone;

/// The zone called `name`, from the system's files.
pub(crate) fn read(name: &str) -> Option<Zone> {
    let harmless = |part: &str| {
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
        !part.is_empty() && part.chars().all(letters)
    };
    if !name.split('/').all(harmless) {
        return None;
    }
    PLACES.iter().find_map(|dir| {
        let bytes = std::fs::read(Path::new(dir).join(name)).ok()?;
        parse(&bytes)
    })
}

const PLACES: &[&str] = &["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];

/// spec: RFC 9636 (TZif), the block of 64-bit times and what follows it.
fn parse(bytes: &[u8]) -> Option<Zone> {
    let first = Counts::read(bytes)?;
    let second = bytes.get(HEAD_BYTES + first.bytes(4)..)?;
    let counts = Counts::read(second)?;
    let mut rest = second.get(HEAD_BYTES..)?;
    let times = take(&mut rest, counts.times * 8)?;
    let kinds = take(&mut rest, counts.times)?;
    let types = take(&mut rest, counts.types * 6)?;
    let offset = |kind: u8| {
        let at = usize::from(kind) * 6;
        let bytes: [u8; 4] = types.get(at..at + 4)?.try_into().ok()?;
        Some(i32::from_be_bytes(bytes))
    };
    let mut changes = Vec::with_capacity(counts.times);
    for (time, kind) in times.chunks_exact(8).zip(kinds) {
        let time = i64::from_be_bytes(time.try_into().ok()?);
        changes.push((time, offset(*kind)?));
    }
    Some(Zone {
        first_offset_s: offset(0)?,
        changes,
    })
}

struct Counts {
    leaps: usize,
    isstd: usize,
    isut: usize,
    times: usize,
    types: usize,
    chars: usize,
}

const HEAD_BYTES: usize = 44;

impl Counts {
    fn read(bytes: &[u8]) -> Option<Self> {
        let numbers = bytes.strip_prefix(b"TZif")?.get(16..40)?;
        let mut numbers = numbers.chunks_exact(4).map(|four| {
            let four: [u8; 4] = four.try_into().ok()?;
            usize::try_from(u32::from_be_bytes(four))
                .ok()
                .filter(|n| *n <= COUNT_MAX)
        });
        let mut next = || numbers.next()?;
        Some(Self {
            isut: next()?,
            isstd: next()?,
            leaps: next()?,
            times: next()?,
            types: next()?,
            chars: next()?,
        })
    }

    /// The bytes of the block, its times having so many.
    const fn bytes(&self, time: usize) -> usize {
        self.times * (time + 1)
            + self.types * 6
            + self.chars
            + self.leaps * (time + 4)
            + self.isstd
            + self.isut
    }
}

/// More than any zone has.
const COUNT_MAX: usize = 100_000;

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with an empty first block and these changes in the second.
    fn file(changes: &[(i64, u8)], offsets: &[i32]) -> Vec<u8> {
        let head = |times: usize, types: usize| {
            let mut head = b"TZif2".to_vec();
            head.extend([0; 15]);
            for count in [0, 0, 0, times, types, 0] {
                head.extend(u32::try_from(count).unwrap().to_be_bytes());
            }
            head
        };
        let mut bytes = head(0, 0);
        bytes.extend(head(changes.len(), offsets.len()));
        bytes.extend(changes.iter().flat_map(|(time, _)| time.to_be_bytes()));
        bytes.extend(changes.iter().map(|(_, kind)| *kind));
        for offset in offsets {
            bytes.extend(offset.to_be_bytes());
            bytes.extend([0, 0]);
        }
        bytes
    }

    #[test]
    fn a_file_says_when_the_offset_changes() {
        let zone = parse(&file(&[(100, 1), (200, 0)], &[3600, 7200])).unwrap();
        let offsets = [0, 100, 199, 200].map(|at| zone.offset_s(at));
        assert_eq!(offsets, [3600, 7200, 7200, 3600]);
    }

    #[test]
    fn rubbish_is_no_zone() {
        let good = file(&[(100, 0)], &[3600]);
        for end in 0..good.len() {
            assert_eq!(parse(good.get(..end).unwrap()), None, "{end}");
        }
        assert_eq!(parse(&file(&[(100, 9)], &[3600])), None);
        assert_eq!(read("../../etc/passwd"), None);
        assert_eq!(read(""), None);
    }
}
