/// Whether `filter` may be subscribed to: non-empty tokens without white space,
/// `*` and `>` only as whole tokens, `>` only last.
#[must_use]
pub fn is_valid_filter(filter: &str) -> bool {
    let last = filter.split('.').count();
    filter.split('.').enumerate().all(|(index, token)| {
        !token.is_empty()
            && !token.contains([' ', '\t', '\r', '\n', '\x0c'])
            && (token != ">" || index + 1 == last)
    })
}

/// Whether `subject` is a valid filter without wildcard tokens.
#[must_use]
pub fn is_literal(subject: &str) -> bool {
    is_valid_filter(subject) && subject.split('.').all(|token| token != "*" && token != ">")
}

/// Whether the literal `subject` is among those `filter` names.
#[must_use]
pub fn matches(filter: &str, subject: &str) -> bool {
    is_subset(subject, filter)
}

/// Whether every subject that `inner` names is also named by `outer`.
#[must_use]
pub fn is_subset(inner: &str, outer: &str) -> bool {
    let mut inner = inner.split('.');
    for token in outer.split('.') {
        match (token, inner.next()) {
            (_, None) | ("*", Some(">")) => return false,
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (token, Some(other)) if token == other => {}
            (_, Some(_)) => return false,
        }
    }
    inner.next().is_none()
}

/// Whether some subject is named by both filters.
#[must_use]
pub fn overlaps(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        match (a.next(), b.next()) {
            (None, None) | (Some(">"), Some(_)) | (Some(_), Some(">")) => return true,
            (None, Some(_)) | (Some(_), None) => return false,
            (Some("*"), Some(_)) | (Some(_), Some("*")) => {}
            (Some(x), Some(y)) if x == y => {}
            (Some(_), Some(_)) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_whole_tokens() {
        for good in ["a", "a.b", "*", ">", "a.*.b", "a.>", "a*b", "$JS.>", "a.>x"] {
            assert!(is_valid_filter(good), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", ">.a", "a b", "a\tb", "a.>.b"] {
            assert!(!is_valid_filter(bad), "{bad}");
        }
        assert!(is_literal("a.b*") && !is_literal("a.*") && !is_literal("a.>"));
    }

    #[test]
    fn a_subset_names_nothing_else() {
        for (inner, outer) in [
            ("a", "a"),
            ("a.b", "a.*"),
            ("a.b.c", "a.>"),
            ("a.*", "a.>"),
            ("a.>", ">"),
        ] {
            assert!(is_subset(inner, outer), "{inner} {outer}");
        }
        for (inner, outer) in [
            ("a", "b"),
            ("a", "a.>"),
            ("a.>", "a.*"),
            ("a.*", "a.b"),
            ("a.b", "a"),
        ] {
            assert!(!is_subset(inner, outer), "{inner} {outer}");
        }
    }

    #[test]
    fn overlap_is_symmetric() {
        for (a, b, both) in [
            ("a.*", "*.b", true),
            ("a.>", "a", false),
            ("a.>", "*.b.c", true),
            ("a.b", "a.c", false),
        ] {
            assert_eq!((overlaps(a, b), overlaps(b, a)), (both, both), "{a} {b}");
        }
    }
}
