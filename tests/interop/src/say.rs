//! Progress in plain words, on stderr so that results on stdout stay clean.

use std::io::Write as _;

/// Says one line of progress. It goes past the test runner's capture on purpose: a long test that is silent looks hung.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
