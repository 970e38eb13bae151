use std::fmt;
use std::sync::Arc;

/// Where something was written: file, line and column, both counted from 1 (columns in bytes).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Path as it was given to the parser, or `$NAME` for an environment variable.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

impl Position {
    /// The first character of `file`.
    pub fn start(file: &str) -> Self {
        Self {
            file: Arc::from(file),
            line: 1,
            column: 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
