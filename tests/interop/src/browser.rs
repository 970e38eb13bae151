//! What a person sees of a page: in a real browser, without a window.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::binary::target_dir;
use crate::peers::chromium;
use crate::run::run;
use crate::say::say;

mod page;

pub use page::OpenPage;

/// Nothing but the page is fetched, and nothing is kept.
const QUIET: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// How long a page may take to show what it has fetched, in milliseconds of its own time.
const SETTLED_AFTER: &str = "--virtual-time-budget=5000";

/// A browser that starts anew for each look.
#[derive(Debug)]
pub struct Browser {
    path: PathBuf,
    home: TempDir,
}

impl Default for Browser {
    fn default() -> Self {
        Self {
            path: chromium(),
            home: tempfile::tempdir().expect("a temporary directory"),
        }
    }
}

impl Browser {
    /// The document of a page once it has settled, as the browser has it after its scripts ran.
    ///
    /// # Panics
    /// When the browser does not end well.
    #[must_use]
    pub fn document(&self, url: &str) -> String {
        self.look(&["--dump-dom", url])
    }

    /// A picture of a page in a window of this size, kept under this name beside the binaries.
    ///
    /// # Panics
    /// When the browser does not end well, or there is no picture.
    pub fn picture(&self, url: &str, (width, height): (u32, u32), name: &str) {
        let dir = target_dir().join("screenshots");
        std::fs::create_dir_all(&dir).expect("target folder can be written");
        let path = dir.join(format!("{name}.png"));
        let to = format!("--screenshot={}", path.display());
        self.look(&[&to, &format!("--window-size={width},{height}"), url]);
        let bytes = std::fs::metadata(&path).expect("a picture").len();
        assert!(bytes > 10_000, "{name} is empty");
        say(&format!("picture kept: screenshots/{name}.png"));
    }

    fn look(&self, args: &[&str]) -> String {
        let mut browser = Command::new(&self.path);
        browser.args(QUIET).arg(SETTLED_AFTER);
        browser.arg(format!("--user-data-dir={}", self.home.path().display()));
        let ended = run(browser.args(args));
        assert!(ended.status.success(), "{}", ended.text);
        ended.text
    }
}
