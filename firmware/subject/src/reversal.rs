//! Renamings that go both ways, as imports need them, and those of an account's mappings.

use crate::function::Function;
use crate::{Transform, TransformError};

impl Transform {
    /// A mapping of an account: stricter than [`Transform::new`] in what a destination may be.
    ///
    /// spec: nats-server v2.15.1 server/sublist.go `ValidateMapping`
    ///
    /// # Errors
    /// Says what is wrong with the destination, in nats-server's words.
    pub fn mapping(source: &str, destination: &str) -> Result<Self, TransformError> {
        let mut ended = false;
        for token in destination.split('.') {
            if ended && !token.is_empty() {
                return Err(TransformError::AfterTail(token.to_owned()));
            }
            let braced = token.len() > 4 && token.starts_with("{{") && token.ends_with("}}");
            let blank = !braced && token.contains(['\t', '\n', '\x0c', '\r', ' ']);
            if token.is_empty() || blank {
                return Err(TransformError::InvalidDestination);
            }
            ended = token == ">";
        }
        Self::new(source, destination)
    }

    /// The way back of a [`Transform::reversible`] one.
    ///
    /// spec: nats-server v2.15.1 server/subject_transform.go `reverse`
    #[must_use]
    pub fn reverse(&self) -> Option<Self> {
        let (source, references) = without_references(self.destination());
        let mut references = references.into_iter();
        let mut tokens = Vec::new();
        for token in self.source().split('.') {
            tokens.push(match token {
                "*" => references.next()?,
                token => token,
            });
        }
        Self::reversible(&source, &tokens.join(".")).ok()
    }
}

/// `a.*.*` as a destination: `a.$1.$2`.
#[must_use]
pub fn with_references(filter: &str) -> String {
    let mut number = 0;
    let tokens: Vec<_> = filter
        .split('.')
        .map(|token| match token {
            "*" => {
                number += 1;
                format!("${number}")
            }
            token => token.to_owned(),
        })
        .collect();
    tokens.join(".")
}

/// `a.$2.{{wildcard(1)}}` as a filter, `a.*.*`, and its references in order.
#[must_use]
pub fn without_references(destination: &str) -> (String, Vec<&str>) {
    let mut references = Vec::new();
    let tokens: Vec<_> = destination
        .split('.')
        .map(|token| {
            if is_reference(token) {
                references.push(token);
                "*"
            } else {
                token
            }
        })
        .collect();
    (tokens.join("."), references)
}

fn is_reference(token: &str) -> bool {
    let numbered = |token: &str| matches!(token.as_bytes(), [b'$', b'1'..=b'9', ..]);
    numbered(token)
        || matches!(Function::parse(token), Ok(Function::Wildcard(_))) && !token.starts_with('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_come_and_go() {
        assert_eq!(with_references("a.*.b.*"), "a.$1.b.$2");
        assert_eq!(with_references("a.>"), "a.>");
        let (filter, references) = without_references("a.$2.{{wildcard(1)}}.$SYS.$0");
        assert_eq!(filter, "a.*.*.$SYS.$0");
        assert_eq!(references, ["$2", "{{wildcard(1)}}"]);
    }

    #[test]
    fn the_way_back_leads_back() {
        for (source, destination, there, back) in [
            ("a.*.*", "b.$2.$1", "a.x.y", "b.y.x"),
            ("a.>", "p.a.>", "a.x.y", "p.a.x.y"),
            ("a.*.c", "$1.d", "a.x.c", "x.d"),
        ] {
            let transform = Transform::reversible(source, destination).unwrap();
            assert_eq!(transform.apply(there, 0).as_deref(), Some(back));
            let reverse = transform.reverse().unwrap();
            assert_eq!(reverse.apply(back, 0).as_deref(), Some(there));
        }
    }

    #[test]
    fn filters_are_renamed_too() {
        let transform = Transform::reversible("a.*.>", "b.$1.>").unwrap();
        assert_eq!(transform.rename("a.*.>", 0), "b.*.>");
        assert_eq!(transform.rename("a.x.c.*", 0), "b.x.c.*");
    }

    #[test]
    fn a_mappings_destination_is_looked_at_closely() {
        for (destination, words) in [
            ("a..b", "invalid mapping destination: invalid transform"),
            (
                "a.>.b",
                "invalid mapping destination: invalid transform in b",
            ),
            ("a.b c", "invalid mapping destination: invalid transform"),
            (
                "{{nope(1)}}",
                "invalid mapping destination: unknown function in {{nope(1)}}",
            ),
        ] {
            let refused = Transform::mapping("*", destination).unwrap_err();
            assert_eq!(refused.to_string(), words);
        }
    }
}
