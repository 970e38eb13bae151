//! A program run to its end, within a bound.

use std::io::{Read as _, Seek as _};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::wait::wait_for;

const BOUND: Duration = Duration::from_secs(60);

/// What a program said and how it ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Standard output and standard error, as they came.
    pub text: String,
}

/// Runs a program to its end.
///
/// # Panics
/// When it can't be started, or hasn't ended within a minute; it is killed then.
pub fn run(command: &mut Command) -> Ended {
    let mut output = tempfile::tempfile().expect("a temporary file");
    let clone = || output.try_clone().expect("a file handle");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(clone())
        .stderr(clone())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} can't be started: {error}"));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        wait_for(&format!("{command:?} to end"), BOUND, || {
            child.try_wait().expect("own child")
        })
    }));
    let status = ended.unwrap_or_else(|panic| {
        let _ = child.kill();
        let _ = child.wait();
        std::panic::resume_unwind(panic)
    });
    let mut bytes = Vec::new();
    output.rewind().expect("own file");
    output.read_to_end(&mut bytes).expect("own file");
    Ended {
        status,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    }
}
