use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{About as _, Error, Outcome, text_of};

/// Where things are: the sources, and the folder in which everything is made.
#[derive(Clone, Debug)]
pub struct Place {
    sources: PathBuf,
    made: PathBuf,
}

impl Place {
    /// The sources of this program, and a folder `image` in cargo's target folder.
    ///
    /// # Errors
    /// When this program doesn't run from a target folder.
    pub fn here() -> Outcome<Self> {
        let exe = std::env::current_exe().about("this program")?;
        // `target/debug/imager`, or `target/debug/deps/…` of a test.
        let is_nested = |dir: &&Path| ["deps", "examples"].iter().any(|it| dir.ends_with(it));
        let mut above = exe.ancestors().skip(1).skip_while(is_nested).skip(1);
        let target = above.next();
        let target = target.ok_or_else(|| Error::new("run it with `cargo run -p imager`"))?;
        Ok(Self {
            sources: Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."),
            made: target.join("image"),
        })
    }

    /// Other sources than those of this program, and a target folder for them.
    #[must_use]
    pub fn at(sources: &Path, target: &Path) -> Self {
        Self {
            sources: sources.to_path_buf(),
            made: target.join("image"),
        }
    }

    /// The workspace.
    #[must_use]
    pub fn sources(&self) -> &Path {
        &self.sources
    }

    /// A folder in which to make something; it is there when this returns.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn made(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.made.join(name);
        std::fs::create_dir_all(&path).about(&path)?;
        Ok(path)
    }

    /// A folder in which to make something; it is there and empty when this returns.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn made_anew(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.made.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path).about(&path)?;
        }
        self.made(name)
    }

    /// Waits until nobody else makes something here; others wait as long as the file lives. `apt-get`
    /// and unpacked sources are not for two at once.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(crate) fn alone(&self) -> Outcome<File> {
        let path = self.made("")?.join("lock");
        let file = File::create(&path).about(&path)?;
        file.lock().about(&path)?;
        Ok(file)
    }

    /// The moment that everything is dated with, in seconds since 1970: `SOURCE_DATE_EPOCH`, else
    /// that of the last commit.
    ///
    /// # Errors
    /// When there is neither.
    pub fn epoch_s(&self) -> Outcome<u64> {
        if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
            return text.parse().about("SOURCE_DATE_EPOCH");
        }
        let mut git = Command::new("git");
        git.current_dir(&self.sources)
            .args(["log", "-1", "--format=%ct"]);
        text_of(&mut git)?.trim().parse().about("git log")
    }
}
