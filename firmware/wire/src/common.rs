//! Publishes as client libraries write them, found without the detours that odd ones need.

use crate::Message;
use crate::limits::SIZE_DIGITS_MAX;

/// A control line that was understood, and what it said.
#[derive(Clone, Copy, Debug)]
pub struct Head<'b> {
    /// From the verb to the line feed.
    line: &'b [u8],
    subject: &'b str,
    reply: Option<&'b str>,
    header_bytes: usize,
    bytes: usize,
}

/// A whole `PUB` or `HPUB` at the start of `buf` in its plain form, and the bytes it takes: capital
/// letters, single blanks, CR LF. `None` says nothing: the parser has to look.
///
/// `head` is the last one found in the same buffer: publishers repeat themselves, and what was
/// understood once needs only to be compared.
pub(crate) fn publish<'b>(
    buf: &'b [u8],
    line_max: usize,
    size_max: usize,
    head: &mut Option<Head<'b>>,
) -> Option<(Message<'b>, usize)> {
    let found = match head {
        Some(last) if buf.starts_with(last.line) => *last,
        Some(_) | None => *head.insert(read_head(buf, line_max, size_max)?),
    };
    let body = buf.get(found.line.len()..)?;
    if body.get(found.bytes..found.bytes + 2) != Some(b"\r\n") {
        return None;
    }
    let (header, payload) = body
        .get(..found.bytes)?
        .split_at_checked(found.header_bytes)?;
    let message = Message {
        subject: found.subject,
        reply: found.reply,
        header,
        payload,
    };
    Some((message, found.line.len() + found.bytes + 2))
}

fn read_head(buf: &[u8], line_max: usize, size_max: usize) -> Option<Head<'_>> {
    let (headers, start) = match buf {
        [b'P', b'U', b'B', b' ', ..] => (false, b"PUB ".len()),
        [b'H', b'P', b'U', b'B', b' ', ..] => (true, b"HPUB ".len()),
        _ => return None,
    };
    let rest = buf.get(start..)?;
    let newline = memchr::memchr(b'\n', rest)?;
    let line = rest.get(..newline)?.strip_suffix(b"\r")?;
    if line.len() > line_max {
        return None;
    }
    let (words, bytes) = number_at_end(line)?;
    let (words, header_bytes) = if headers {
        number_at_end(words)?
    } else {
        (words, 0)
    };
    if bytes > size_max || header_bytes > bytes {
        return None;
    }
    let (subject, reply) = words_of(core::str::from_utf8(words).ok()?)?;
    Some(Head {
        line: buf.get(..start + newline + 1)?,
        subject,
        reply,
        header_bytes,
        bytes,
    })
}

/// Takes ` <digits>` off the end.
fn number_at_end(line: &[u8]) -> Option<(&[u8], usize)> {
    let (mut value, mut place) = (0, 1);
    for (digits, byte) in line.iter().rev().enumerate() {
        match byte {
            b'0'..=b'9' if digits < SIZE_DIGITS_MAX => {
                value += usize::from(byte - b'0') * place;
                place *= 10;
            }
            b' ' if digits > 0 => return Some((line.get(..line.len() - digits - 1)?, value)),
            _ => return None,
        }
    }
    None
}

/// One word, or two with a single blank between them. What else may part words, and every control
/// character with it, is left to the parser: one comparison is enough for each byte.
fn words_of(text: &str) -> Option<(&str, Option<&str>)> {
    let is_odd = |byte: &u8| *byte <= b' ';
    let Some(blank) = text.as_bytes().iter().position(is_odd) else {
        return (!text.is_empty()).then_some((text, None));
    };
    let (first, rest) = text.split_at_checked(blank)?;
    let second = rest.strip_prefix(' ')?;
    let plain = !(first.is_empty() || second.is_empty() || second.as_bytes().iter().any(is_odd));
    plain.then_some((first, Some(second)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Dialect, Limits, Op, Parser, Step};

    const LINE_MAX: usize = 64;
    const SIZE_MAX: usize = 12;

    fn parsed(buf: &[u8]) -> Option<(Message<'_>, usize)> {
        let limits = Limits {
            control_line_bytes_max: LINE_MAX,
            payload_bytes_max: Some(SIZE_MAX),
        };
        match Parser::new(Dialect::Client, limits).parse(buf) {
            Ok(Step::Op {
                op: Op::Publish(message),
                consumed,
            }) => Some((message, consumed)),
            Ok(_) | Err(_) => None,
        }
    }

    #[test]
    fn the_common_forms_are_found() {
        for frame in [
            "PUB a 0\r\n\r\n",
            "PUB a.b.c 5\r\nhello\r\nPING",
            "PUB a re.ply 5\r\nhello\r\n",
            "HPUB a 4 6\r\nheadok\r\n",
            "HPUB a re.ply 4 6\r\nheadok\r\n",
        ] {
            let found = publish(frame.as_bytes(), LINE_MAX, SIZE_MAX, &mut None);
            assert!(found.is_some(), "{frame:?}");
            assert_eq!(found, parsed(frame.as_bytes()), "{frame:?}");
        }
    }

    #[test]
    fn a_line_is_known_again_only_when_it_is_the_same() {
        let frames = "PUB a 1\r\nx\r\nPUB a 1\r\ny\r\nPUB a 12\r\nhello, world\r\nPUB a 1\r\nPUB";
        let (mut at, mut head, mut found) = (0, None, Vec::new());
        while let Some((message, len)) =
            publish(&frames.as_bytes()[at..], LINE_MAX, SIZE_MAX, &mut head)
        {
            found.push(message.payload);
            at += len;
        }
        assert_eq!(found, [&b"x"[..], b"y", b"hello, world"]);
    }

    proptest! {
        /// What it finds, the parser finds; cut, torn and odd input included.
        #[test]
        fn it_agrees_with_the_parser(
            verb in "(PUB|HPUB|pub|PUBX) {0,2}",
            words in "[ab.é\t ]{0,9}",
            sizes in "( [0-9]{0,3}){1,3} ?",
            end in "(\r\n|\n|\r)",
            body in "[xy\r\n]{0,16}",
        ) {
            let frame = format!("{verb}{words}{sizes}{end}{body}\r\n");
            if let Some(found) = publish(frame.as_bytes(), LINE_MAX, SIZE_MAX, &mut None) {
                prop_assert_eq!(Some(found), parsed(frame.as_bytes()));
            }
        }
    }
}
