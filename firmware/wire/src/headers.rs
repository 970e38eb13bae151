//! The header block `NATS/1.0[ <status>[ <description>]]\r\n(Key: value\r\n)*\r\n`:
//! opaque to the server, except for the keys it looks up itself.
//!
//! spec: ADR-4; nats-server v2.15.1 `sliceHeader`, `removeHeaderIfPresent` in server/client.go

use memchr::memmem;

/// The first line of a block without status.
pub const VERSION_LINE: &[u8] = b"NATS/1.0\r\n";

const VERSION: &[u8] = b"NATS/1.0";
const CR_LF: &[u8] = b"\r\n";
const EMPTY_BLOCK_BYTES: usize = VERSION_LINE.len() + CR_LF.len();

/// A view of a header block that somebody sent: nothing about it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    block: &'a [u8],
}

impl<'a> Headers<'a> {
    /// A view of a whole block, which may be empty.
    #[must_use]
    pub const fn new(block: &'a [u8]) -> Self {
        Self { block }
    }

    /// The three digits of the status, when there is one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let digits = self.status_line()?.get(..3)?;
        let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
        core::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// The words after the status, perhaps empty; `None` without a status.
    #[must_use]
    pub fn description(&self) -> Option<&'a str> {
        self.status()?;
        let text = self.status_line()?.get(3..).unwrap_or_default();
        Some(core::str::from_utf8(text).ok()?.trim())
    }

    /// Value of the first line with exactly this key, without the blanks before it.
    /// `None` also if it isn't UTF-8; see [`Self::get_bytes`].
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a str> {
        core::str::from_utf8(self.get_bytes(key)?).ok()
    }

    /// As [`Self::get`], whatever bytes the value has.
    #[must_use]
    pub fn get_bytes(&self, key: &str) -> Option<&'a [u8]> {
        let start = find_key(self.block, key)?;
        let value = self.block.get(start + key.len() + 1..)?;
        let end = memmem::find(value, CR_LF).unwrap_or(value.len());
        value.get(..end).map(trim_start)
    }

    /// Keys and values in the order sent; lines without a colon are skipped.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        lines(self.block).skip(1).filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            let (key, value) = line.split_at_checked(colon)?;
            Some((key, trim_start(value.get(1..)?)))
        })
    }

    fn status_line(&self) -> Option<&'a [u8]> {
        let line = lines(self.block).next()?;
        Some(trim_start(line.strip_prefix(VERSION)?))
    }
}

/// Appends `key: value`, starting a block if there is none yet.
/// Line ends in the value become blanks: a value can't forge a header.
pub fn append(block: &mut Vec<u8>, key: &str, value: &str) {
    if block.is_empty() {
        block.extend_from_slice(VERSION_LINE);
    } else {
        block.truncate(block.len().saturating_sub(CR_LF.len()));
    }
    block.extend_from_slice(key.as_bytes());
    block.extend_from_slice(b": ");
    block.extend(value.bytes().map(|byte| match byte {
        b'\r' | b'\n' => b' ',
        byte => byte,
    }));
    block.extend_from_slice(CR_LF);
    block.extend_from_slice(CR_LF);
}

/// Removes every line with exactly this key; a block left without any line becomes empty.
pub fn remove(block: &mut Vec<u8>, key: &str) {
    let Some(first) = find_key(block, key) else {
        return;
    };
    // In one pass, however many there are.
    let (before, rest) = block.split_at_checked(first).unwrap_or_default();
    let mut kept = before.to_vec();
    let mut rest = rest;
    while let Some(len @ 1..) = line_len(rest) {
        let (line, after) = rest.split_at_checked(len + CR_LF.len()).unwrap_or_default();
        let value = line.strip_prefix(key.as_bytes());
        if value.is_none_or(|value| !value.starts_with(b":")) {
            kept.extend_from_slice(line);
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    if kept.len() <= EMPTY_BLOCK_BYTES {
        kept.clear();
    }
    *block = kept;
}

/// Replaces what the block has for this key by one line at its end.
pub fn set(block: &mut Vec<u8>, key: &str, value: &str) {
    remove(block, key);
    append(block, key, value);
}

/// Gives the first line with this key another value, or appends one where there is none.
pub fn replace(block: &mut Vec<u8>, key: &str, value: &str) {
    let Some(start) = find_key(block, key) else {
        return append(block, key, value);
    };
    let rest = block.get(start..).unwrap_or_default();
    let end = start + memmem::find(rest, CR_LF).unwrap_or(rest.len());
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let line = value
        .bytes()
        .map(|it| if is_line_end(&it) { b' ' } else { it });
    let line: Vec<u8> = key.bytes().chain(*b": ").chain(line).collect();
    block.splice(start..end, line);
}

/// A block with a status, such as `404`, `"No Messages"`; further lines may be appended.
#[must_use]
pub fn status(code: u16, description: &str) -> Vec<u8> {
    let mut block = VERSION.to_vec();
    block.push(b' ');
    crate::encode::number(&mut block, u64::from(code));
    if !description.is_empty() {
        block.push(b' ');
        block.extend_from_slice(description.as_bytes());
    }
    block.extend_from_slice(CR_LF);
    block.extend_from_slice(CR_LF);
    block
}

/// The answer to a request on `subject` that nobody subscribes to.
#[must_use]
pub fn no_responders(subject: &str) -> Vec<u8> {
    let mut block = status(503, "");
    append(&mut block, "Nats-Subject", subject);
    block
}

/// Where a line `key:` starts, as nats-server finds it: exact case, after CR LF.
fn find_key(block: &[u8], key: &str) -> Option<usize> {
    // Most blocks are short, and most are none: no searcher is built for a key.
    let mut starts = memchr::memchr_iter(b'\n', block).map(|at| at + 1);
    starts.find(|at| {
        let (before, line) = block.split_at_checked(*at).unwrap_or_default();
        let value = line.strip_prefix(key.as_bytes());
        before.ends_with(CR_LF) && value.is_some_and(|value| value.starts_with(b":"))
    })
}

/// Lines without their ends, up to the blank one.
fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    core::iter::from_fn(move || {
        let end = line_len(rest)?;
        let (line, after) = rest.split_at_checked(end)?;
        rest = after.get(CR_LF.len()..)?;
        (!line.is_empty()).then_some(line)
    })
}

/// Bytes before the next CR LF.
fn line_len(rest: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', rest)
        .filter_map(|at| at.checked_sub(1))
        .find(|at| rest.get(*at) == Some(&b'\r'))
}

fn trim_start(value: &[u8]) -> &[u8] {
    let blanks = value.iter().take_while(|byte| **byte == b' ').count();
    value.get(blanks..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
