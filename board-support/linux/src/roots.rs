use std::path::{Path, PathBuf};

/// Where the kernel shows its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/sys`
    pub sys: PathBuf,
    /// `/dev`
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            sys: PathBuf::from("/sys"),
            dev: PathBuf::from("/dev"),
        }
    }
}

impl Roots {
    /// A device by its name below `/dev`, or by a whole path.
    #[must_use]
    pub fn device(&self, name: &str) -> PathBuf {
        if name.starts_with('/') {
            Path::new(name).to_owned()
        } else {
            self.dev.join(name)
        }
    }
}
