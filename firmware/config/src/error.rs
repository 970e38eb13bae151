use crate::position::Position;
use std::fmt;

/// One thing wrong with a configuration, where it is and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file as named by the caller or the `include`; empty for an option that came from no file.
    pub file: String,
    /// Line, from 1; 0 without a file.
    pub line: u32,
    /// Column in bytes, from 1; 0 without a file.
    pub column: u32,
    /// What is wrong, in nats-server's words where it has them.
    pub text: String,
    /// What to do; empty if the text says it.
    pub remedy: String,
    /// Language errors begin with their text, as nats-server prints them; option errors with the place.
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    After,
}

impl ConfigError {
    /// An option that is wrong at `at`.
    pub(crate) fn option(
        at: &Position,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(at, text.into(), remedy.into(), Place::Before)
    }

    /// Text that cannot be read as configuration at all.
    pub(crate) fn language(
        at: &Position,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(at, text.into(), remedy.into(), Place::After)
    }

    /// Options that do not fit together and of which none is in the file.
    pub(crate) fn placeless(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            file: String::new(),
            line: 0,
            column: 0,
            text: text.into(),
            remedy: remedy.into(),
            place: Place::Before,
        }
    }

    fn new(at: &Position, text: String, remedy: String, place: Place) -> Self {
        Self {
            file: at.file.to_string(),
            line: at.line,
            column: at.column,
            text,
            remedy,
            place,
        }
    }

    /// Whether the error has a place in a file.
    pub fn has_place(&self) -> bool {
        !self.file.is_empty()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = format!("{}:{}:{}", self.file, self.line, self.column);
        match (self.has_place(), self.place) {
            (true, Place::Before) => {
                write!(f, "{place}: {}", self.text)?;
                match self.remedy.as_str() {
                    "" => Ok(()),
                    remedy => write!(f, " ({remedy})"),
                }
            }
            (true, Place::After) => match self.remedy.as_str() {
                "" => write!(f, "{} ({place})", self.text),
                remedy => write!(f, "{} ({place}; {remedy})", self.text),
            },
            (false, _) => match self.remedy.as_str() {
                "" => f.write_str(&self.text),
                remedy => write!(f, "{} ({remedy})", self.text),
            },
        }
    }
}

/// Every error of a configuration, in file order; shown one per line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}
