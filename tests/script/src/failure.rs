//! A step that didn't go as written.

use std::fmt;

/// Where and what, in the form editors jump to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}
