//! What nats-io/jwt says about the subjects in claims; looser than what a server takes.

use super::validation::Validation;

pub(super) fn check(subject: &str, found: &mut Validation) {
    if subject.is_empty() {
        found.error("subject cannot be empty");
        return;
    }
    if subject.contains(' ') {
        found.error(format!("subject {subject:?} cannot have spaces"));
    }
    if subject.starts_with('.') || subject.ends_with('.') {
        found.error(format!(
            "subject {subject:?} cannot start or end with a `.`"
        ));
    }
    if subject.contains("..") {
        found.error(format!(
            "subject {subject:?} cannot contain consecutive `.`"
        ));
    }
}

/// Checks the name an import gives to `from`: as many wildcards or references as `from` has.
pub(super) fn check_renaming(subject: &str, from: &str, found: &mut Validation) {
    check(subject, found);
    if from.is_empty() {
        found.error("subject cannot be empty");
    }
    if is_open(subject) != is_open(from) {
        found.error("both, renaming subject and subject, need to end or not end in >");
    }
    let wildcards = from.split('.').filter(|token| *token == "*").count();
    let mut references = subject.split('.').filter(|token| *token == "*").count();
    for index in subject.split('.').filter_map(reference) {
        if index > wildcards {
            found.error(format!(
                "Reference ${index} in {subject:?} reference * in {from:?} that do not exist"
            ));
        } else {
            references += 1;
        }
    }
    if references != wildcards {
        found.error("subject does not contain enough * or reference wildcards $[0-9]");
    }
}

/// The subject with its references to wildcards made wildcards.
pub(super) fn with_wildcards(subject: &str) -> String {
    let tokens = subject.split('.').map(|token| match reference(token) {
        Some(_) => "*",
        None => token,
    });
    tokens.collect::<Vec<_>>().join(".")
}

pub(super) fn has_wildcards(subject: &str) -> bool {
    is_open(subject) || subject.split('.').any(|token| token == "*")
}

/// Whether all that `subject` names, `other` names as well.
pub(super) fn is_contained_in(subject: &str, other: &str) -> bool {
    let mut mine = subject.split('.');
    let mut others = other.split('.').peekable();
    while let Some(wanted) = others.next() {
        let Some(token) = mine.next() else {
            return false;
        };
        if wanted == ">" && others.peek().is_none() {
            return true;
        }
        if wanted != "*" && wanted != token {
            return false;
        }
    }
    mine.next().is_none()
}

fn is_open(subject: &str) -> bool {
    subject == ">" || subject.ends_with(".>")
}

fn reference(token: &str) -> Option<usize> {
    token.strip_prefix('$')?.parse().ok()
}
