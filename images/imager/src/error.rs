use std::fmt::{Display, Formatter};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What went wrong, in words for people.
#[derive(Debug)]
pub struct Error(String);

/// A result or an [`Error`].
pub type Outcome<T> = Result<T, Error>;

impl Error {
    /// With these words.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl Display for Error {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Names the file that an error of the system is about.
pub(crate) trait About<T> {
    fn about(self, path: impl AsRef<Path>) -> Outcome<T>;
}

impl<T, E: Display> About<T> for Result<T, E> {
    fn about(self, path: impl AsRef<Path>) -> Outcome<T> {
        self.map_err(|error| Error(format!("{}: {error}", path.as_ref().display())))
    }
}

/// Runs a command and shows what it says only when it fails.
pub(crate) fn quietly(command: &mut Command) -> Outcome<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().about(&name)?;
    if output.status.success() {
        return Ok(output);
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Err(Error(format!(
        "{command:?} fails ({}):\n{said}",
        output.status
    )))
}

/// Runs a command that talks to the terminal by itself.
pub(crate) fn openly(command: &mut Command) -> Outcome<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status().about(&name)?;
    if status.success() {
        Ok(())
    } else {
        Err(Error(format!("{command:?} fails ({status})")))
    }
}

/// What a command prints.
pub(crate) fn text_of(command: &mut Command) -> Outcome<String> {
    let output = quietly(command)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
