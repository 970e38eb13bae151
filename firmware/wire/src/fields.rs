use crate::limits::SIZE_DIGITS_MAX;

/// The words of a control line, separated by runs of blanks and tabs, from either end.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a str,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(line: &'a str) -> Self {
        Self {
            rest: trim_end(trim_start(line)),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.bytes().position(is_blank);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = trim_start(rest);
        Some(word)
    }
}

impl DoubleEndedIterator for Fields<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let blank = self.rest.bytes().rposition(is_blank);
        let (rest, word) = self.rest.split_at(blank.map_or(0, |at| at + 1));
        self.rest = trim_end(rest);
        Some(word)
    }
}

/// A size as nats-server reads it: one to nine digits and nothing else.
pub(crate) fn parse_size(word: &str) -> Option<usize> {
    let digits = word.as_bytes();
    if digits.is_empty() || digits.len() > SIZE_DIGITS_MAX {
        return None;
    }
    digits.iter().try_fold(0, |size, digit| {
        digit
            .is_ascii_digit()
            .then(|| size * 10 + usize::from(digit - b'0'))
    })
}

pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Bytes instead of characters: this runs for each word of each message.
fn trim_start(text: &str) -> &str {
    let start = text.bytes().position(|byte| !is_blank(byte));
    text.split_at(start.unwrap_or(text.len())).1
}

fn trim_end(text: &str) -> &str {
    let last = text.bytes().rposition(|byte| !is_blank(byte));
    text.split_at(last.map_or(0, |at| at + 1)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_from_both_ends() {
        for line in ["", " ", "a", " a\t b  c ", "\u{e9} \u{e9}"] {
            let forward: Vec<_> = Fields::of(line).collect();
            let mut backward: Vec<_> = Fields::of(line).rev().collect();
            backward.reverse();
            assert_eq!(forward, backward);
            assert_eq!(forward, line.split_ascii_whitespace().collect::<Vec<_>>());
        }
    }

    #[test]
    fn sizes_are_at_most_nine_digits() {
        assert_eq!(parse_size("0"), Some(0));
        assert_eq!(parse_size("007"), Some(7));
        assert_eq!(parse_size("999999999"), Some(999_999_999));
        for bad in ["", "+1", "-1", "1a", "0x1", "1000000000", "\u{661}"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}
