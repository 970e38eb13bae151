//! Publishes as client libraries write them, found without the detours that odd ones need.

use crate::Message;
use crate::limits::SIZE_DIGITS_MAX;

/// A whole `PUB` or `HPUB` at the start of `buf` in its plain form, and the bytes it takes: capital
/// letters, single blanks, CR LF. `None` says nothing: the parser has to look.
pub(crate) fn publish(
    buf: &[u8],
    line_max: usize,
    size_max: usize,
) -> Option<(Message<'_>, usize)> {
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
    let (words, size) = number_at_end(line)?;
    let (words, header) = if headers {
        number_at_end(words)?
    } else {
        (words, 0)
    };
    if size > size_max || header > size {
        return None;
    }
    let (subject, reply) = words_of(core::str::from_utf8(words).ok()?)?;
    let body = rest.get(newline + 1..)?;
    if body.get(size..size + 2) != Some(b"\r\n") {
        return None;
    }
    let (header, payload) = body.get(..size)?.split_at_checked(header)?;
    let message = Message {
        subject,
        reply,
        header,
        payload,
    };
    Some((message, start + newline + 1 + size + 2))
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
            let found = publish(frame.as_bytes(), LINE_MAX, SIZE_MAX);
            assert!(found.is_some(), "{frame:?}");
            assert_eq!(found, parsed(frame.as_bytes()), "{frame:?}");
        }
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
            if let Some(found) = publish(frame.as_bytes(), LINE_MAX, SIZE_MAX) {
                prop_assert_eq!(Some(found), parsed(frame.as_bytes()));
            }
        }
    }
}
