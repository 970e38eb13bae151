/// The three numbers of a version, if it is one as semver.org writes them: without a `v`.
///
/// spec: nats-server v2.15.1 server/const.go `semVerRe`
pub(super) fn numbers(version: &str) -> Option<(u64, u64, u64)> {
    let (rest, build) = match version.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (version, None),
    };
    let (core, pre) = match rest.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (rest, None),
    };
    let is_fine = build.is_none_or(|it| it.split('.').all(is_word))
        && pre.is_none_or(|it| it.split('.').all(|word| is_word(word) && !has_zeros(word)));
    let mut parts = core.split('.');
    let mut number = || {
        let digits = parts.next()?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !has_zeros(digits);
        digits.parse().ok().filter(|_| is_number)
    };
    let numbers = (number()?, number()?, number()?);
    (is_fine && parts.next().is_none()).then_some(numbers)
}

fn is_word(text: &str) -> bool {
    let is_its = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_its)
}

/// A number that begins with a zero and is more than that.
fn has_zeros(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_nats_server_reads_them() {
        for (text, read) in [
            ("2.8.0", Some((2, 8, 0))),
            ("2.15.1-RC.1+build-7.08", Some((2, 15, 1))),
            ("2.9.0-0a", Some((2, 9, 0))),
            ("2.9.0-0", Some((2, 9, 0))),
            ("2.9.0+a-b", Some((2, 9, 0))),
            ("v2.9.0", None),
            ("", None),
            ("2.9", None),
            ("2.9.0.1", None),
            ("2.09.0", None),
            ("2.+9.0", None),
            ("2.9.0-", None),
            ("2.9.0-01", None),
            ("2.9.0-a..b", None),
            ("2.9.0+", None),
            (" 2.9.0", None),
        ] {
            assert_eq!(numbers(text), read, "{text:?}");
        }
    }
}
