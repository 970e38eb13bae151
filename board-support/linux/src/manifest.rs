use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What is where on a board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// As the configuration names it.
    pub name: String,
    /// As people name it.
    pub title: String,
    /// The watchdog, when it has one.
    pub watchdog: Option<WatchdogFacts>,
    /// The label of the GPIO chip that the header is on: `GPIO17` is its line 17.
    pub gpio_chip: Option<String>,
    /// Role to name below `/sys/class/leds`.
    #[serde(default)]
    pub leds: BTreeMap<String, String>,
    /// Role to name below `/dev`.
    #[serde(default)]
    pub buses: BTreeMap<String, String>,
    /// Name on the board to name in the kernel.
    #[serde(default)]
    pub pins: BTreeMap<String, String>,
}

/// The watchdog of a board.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchdogFacts {
    /// Its name below `/dev`.
    pub device: String,
    /// How long it waits, in seconds.
    pub timeout_s: u64,
}

/// Why there is no board.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// None of that name is built in.
    #[error("no board is called {name:?}: {known} are built in, or give the path of a .toml file")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Its file cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        error: std::io::Error,
    },
    /// Its file says something wrong.
    #[error("{path}:{line}: {text}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        text: String,
    },
}

/// The manifests that every binary carries.
const BUILT_IN: [(&str, &str); 5] = [
    ("cm4-io", include_str!("../../boards/cm4-io.toml")),
    (
        "qemu-aarch64",
        include_str!("../../boards/qemu-aarch64.toml"),
    ),
    (
        "raspberrypi3",
        include_str!("../../boards/raspberrypi3.toml"),
    ),
    (
        "raspberrypi4",
        include_str!("../../boards/raspberrypi4.toml"),
    ),
    (
        "raspberrypi5",
        include_str!("../../boards/raspberrypi5.toml"),
    ),
];

/// The boards that are built in.
pub fn board_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

impl Board {
    /// The built-in board of that name, or the one in that file.
    ///
    /// # Errors
    /// When there is none, with file and line when the file is wrong.
    pub fn find(name: &str) -> Result<Self, ManifestError> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Self::parse(text, Path::new(&format!("{name}.toml")));
        }
        let path = Path::new(name);
        if path.extension().is_none_or(|ext| ext != "toml") {
            let known: Vec<_> = board_names().collect();
            return Err(ManifestError::Unknown {
                name: name.to_owned(),
                known: known.join(", "),
            });
        }
        let text = std::fs::read_to_string(path).map_err(|error| ManifestError::Unreadable {
            path: path.to_owned(),
            error,
        })?;
        Self::parse(&text, path)
    }

    /// The board that a text describes.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ManifestError> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or(text);
            ManifestError::Wrong {
                path: path.to_owned(),
                line: before.matches('\n').count() + 1,
                text: error.message().to_owned(),
            }
        })
    }

    /// The name below `/sys/class/leds` of a lamp, by its role or its own name.
    #[must_use]
    pub fn led<'a>(&'a self, role: &'a str) -> &'a str {
        self.leds.get(role).map_or(role, String::as_str)
    }

    /// The name below `/dev` of a bus, by its role or its own name.
    #[must_use]
    pub fn bus<'a>(&'a self, role: &'a str) -> &'a str {
        self.buses.get(role).map_or(role, String::as_str)
    }

    /// The line of a pin, by the board's name of it or its own.
    #[must_use]
    pub fn pin<'a>(&'a self, name: &'a str) -> &'a str {
        self.pins.get(name).map_or(name, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_board_is_sound_and_called_like_its_file() {
        for name in board_names() {
            let board = Board::find(name).unwrap();
            assert_eq!(board.name, name);
            assert!(!board.title.is_empty());
            let watchdog = board.watchdog.as_ref().unwrap();
            assert!((10..=60).contains(&watchdog.timeout_s), "{name}");
        }
        assert_eq!(board_names().count(), 5);
    }

    #[test]
    fn a_role_leads_to_the_kernels_name_and_a_name_to_itself() {
        let board = Board::find("raspberrypi4").unwrap();
        assert_eq!(board.led("status"), "ACT");
        assert_eq!(board.led("my:green"), "my:green");
        assert_eq!(board.bus("i2c"), "i2c-1");
        assert_eq!(board.bus("i2c-20"), "i2c-20");
        assert_eq!(board.pin("pin11"), "GPIO17");
        assert_eq!(board.pin("GPIO4"), "GPIO4");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let cases = [
            (
                "name = \"x\"\ntitle = \"X\"\nlamps = 1\n",
                ":3: ",
                "unknown field `lamps`",
            ),
            (
                "name = \"x\"\ntitle = \"X\"\n[watchdog]\ndevice = \"w\"\ntimeout_s = \"15\"\n",
                ":5: ",
                "invalid type",
            ),
            ("name = \"x\"\n\ntitle = \n", ":3: ", ""),
            ("title = \"X\"\n", ":1: ", "missing field `name`"),
        ];
        for (text, line, want) in cases {
            let error = Board::parse(text, Path::new("my.toml"))
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("my.toml"), "{error}");
            assert!(error.contains(line) && error.contains(want), "{error}");
        }
        let error = Board::find("raspberypi4").unwrap_err().to_string();
        assert!(error.contains("raspberrypi4"), "{error}");
        let error = Board::find("/nowhere/my.toml").unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/my.toml: "), "{error}");
    }
}
