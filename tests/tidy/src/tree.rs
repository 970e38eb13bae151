//! The repository as paths and texts.

use std::path::Path;

/// Files by their path from the root, with `/` between folders, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    files: Vec<(String, String)>,
}

/// Folders that are nobody's work: build output and what tools keep for themselves.
const SKIPPED: &[&str] = &["target", ".git", "__pycache__"];

impl Tree {
    /// Reads the repository this crate lies in. Files that aren't text have an empty text.
    ///
    /// # Panics
    /// When a file can't be read.
    #[must_use]
    pub fn of_this_repository() -> Self {
        let mut tree = Self::default();
        tree.walk(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")), "");
        tree.files.sort();
        tree
    }

    /// A made-up tree.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        }
    }

    fn walk(&mut self, dir: &Path, prefix: &str) {
        for entry in std::fs::read_dir(dir).expect("a folder can be listed") {
            let entry = entry.expect("a folder entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let path = format!("{prefix}{name}");
            if entry.file_type().expect("a file type").is_dir() {
                self.walk(&entry.path(), &format!("{path}/"));
            } else {
                let bytes = std::fs::read(entry.path()).expect("a file can be read");
                self.files
                    .push((path, String::from_utf8(bytes).unwrap_or_default()));
            }
        }
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The Rust sources under a folder (`""` for all).
    pub fn sources<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files()
            .filter(move |(path, _)| path.starts_with(folder) && path.ends_with(".rs"))
    }
}
