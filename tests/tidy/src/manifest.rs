//! As much of a `Cargo.toml` as the rules ask for.

use crate::tree::Tree;

/// One crate's manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The folder from the root, as `firmware/wire`.
    pub folder: String,
    /// The package name.
    pub name: String,
    /// Names in `[dependencies]` and `[build-dependencies]`, for any target.
    pub dependencies: Vec<String>,
    /// Whether it takes the workspace's lints.
    pub lints: bool,
}

impl Manifest {
    /// All crates of a tree.
    #[must_use]
    pub fn all(tree: &Tree) -> Vec<Self> {
        let manifests = tree
            .files()
            .filter_map(|(path, text)| Some((path.strip_suffix("/Cargo.toml")?, text)));
        manifests
            .map(|(folder, text)| Self::parse(folder, text))
            .collect()
    }

    fn parse(folder: &str, text: &str) -> Self {
        let mut this = Self {
            folder: folder.to_owned(),
            ..Self::default()
        };
        let mut section = "";
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
            } else if let Some((key, value)) = line.split_once('=') {
                this.entry(section, key.trim(), value.trim());
            }
        }
        this
    }

    fn entry(&mut self, section: &str, key: &str, value: &str) {
        let kind = section.rsplit('.').next().unwrap_or(section);
        if section == "package" && key == "name" {
            self.name = value.trim_matches('"').to_owned();
        } else if kind == "dependencies" || kind == "build-dependencies" {
            self.dependencies
                .push(key.split('.').next().unwrap_or(key).to_owned());
        } else if section == "lints" && key == "workspace" {
            self.lints = value == "true";
        }
    }

    /// The last part of the folder: `wire` of `firmware/wire`.
    #[must_use]
    pub fn short(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or(&self.folder)
    }
}
