use std::io;
use std::path::Path;

/// The system's words without its number.
pub(crate) fn plain(error: &io::Error) -> String {
    let words = error.to_string();
    words
        .split(" (os error")
        .next()
        .unwrap_or(&words)
        .to_owned()
}

/// An error with what it is about and what helps, by its kind.
pub(crate) fn told(path: &Path, error: &io::Error, help: Help) -> io::Error {
    let advices = [
        (io::ErrorKind::NotFound, help.missing),
        (io::ErrorKind::PermissionDenied, help.denied),
        (io::ErrorKind::ResourceBusy, help.busy),
    ];
    let advice = advices.iter().find(|(kind, _)| *kind == error.kind());
    let advice = advice.map_or("", |(_, advice)| advice);
    let pause = if advice.is_empty() { "" } else { ": " };
    let text = format!("{}: {}{pause}{advice}", path.display(), plain(error));
    io::Error::new(error.kind(), text)
}

/// What helps against which error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Help {
    /// It is not there.
    pub(crate) missing: &'static str,
    /// It may not be opened.
    pub(crate) denied: &'static str,
    /// Somebody else has it.
    pub(crate) busy: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_why_and_what_to_do() {
        let help = Help {
            missing: "plug it in",
            denied: "ask",
            busy: "wait",
        };
        for (errno, want) in [
            (2, "/dev/x: No such file or directory: plug it in"),
            (13, "/dev/x: Permission denied: ask"),
            (16, "/dev/x: Device or resource busy: wait"),
            (5, "/dev/x: Input/output error"),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            let told = told(Path::new("/dev/x"), &error, help);
            assert_eq!(told.to_string(), want);
            assert_eq!(told.kind(), error.kind());
        }
    }
}
