//! The errors of the JetStream API, as clients compare them.

mod table;

use std::borrow::Cow;

use serde::Serialize;

pub use table::*;

/// An error as the API answers it: `{"code":404,"err_code":10059,"description":"stream not found"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApiError {
    /// HTTP-like class.
    pub code: u16,
    /// The number clients branch on.
    pub err_code: u16,
    /// The text.
    pub description: Cow<'static, str>,
}

impl ApiError {
    pub(crate) const fn fixed(code: u16, err_code: u16, text: &'static str) -> Self {
        Self {
            code,
            err_code,
            description: Cow::Borrowed(text),
        }
    }

    /// The same error with `{name}` in its text replaced by `value`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        let hole = format!("{{{name}}}");
        self.description = Cow::Owned(self.description.replace(&hole, &value.to_string()));
        self
    }

    /// The same error with another text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.description = Cow::Owned(text.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_number_is_its_own() {
        let numbers: BTreeSet<u16> = ALL.iter().map(|(_, e)| e.err_code).collect();
        assert_eq!(numbers.len(), ALL.len());
        assert_eq!(STREAM_NOT_FOUND.err_code, 10059);
    }

    #[test]
    fn holes_are_filled() {
        let error = STREAM_WRONG_LAST_SEQUENCE.with("seq", 7);
        assert_eq!(error.description, "wrong last sequence: 7");
    }
}
