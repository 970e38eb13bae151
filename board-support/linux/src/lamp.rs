use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};

use crate::roots::Roots;

/// A lamp below `/sys/class/leds`.
#[derive(Debug)]
pub struct Led {
    brightness: File,
    full: String,
}

impl Led {
    /// Opens a lamp and takes it from the kernel's triggers.
    ///
    /// # Errors
    /// When there is none of that name, or it may not be written.
    pub fn open(roots: &Roots, name: &str) -> io::Result<Self> {
        let dir = roots.sys.join("class/leds").join(name);
        let full = std::fs::read_to_string(dir.join("max_brightness"));
        let full = full.map_or_else(|_| "1".to_owned(), |text| text.trim().to_owned());
        let brightness = OpenOptions::new()
            .write(true)
            .open(dir.join("brightness"))?;
        // A lamp without triggers is ours already.
        let _ = OpenOptions::new()
            .write(true)
            .open(dir.join("trigger"))
            .and_then(|mut trigger| trigger.write_all(b"none\n"));
        Ok(Self { brightness, full })
    }

    /// Lights it, or not.
    ///
    /// # Errors
    /// The system's.
    pub fn set(&mut self, lit: bool) -> io::Result<()> {
        let text = if lit { &self.full } else { "0" };
        self.brightness.seek(SeekFrom::Start(0))?;
        self.brightness.write_all(format!("{text}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lamp_is_taken_and_lit() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().to_owned(),
            dev: dir.path().to_owned(),
        };
        assert!(Led::open(&roots, "ACT").is_err());
        let led = dir.path().join("class/leds/ACT");
        std::fs::create_dir_all(&led).unwrap();
        std::fs::write(led.join("brightness"), "0\n").unwrap();
        std::fs::write(led.join("max_brightness"), "255\n").unwrap();
        std::fs::write(led.join("trigger"), "none [mmc0] heartbeat\n").unwrap();
        let mut lamp = Led::open(&roots, "ACT").unwrap();
        let shown = |name: &str| std::fs::read_to_string(led.join(name)).unwrap();
        assert!(shown("trigger").starts_with("none\n"));
        lamp.set(true).unwrap();
        assert_eq!(shown("brightness"), "255\n");
        lamp.set(false).unwrap();
        assert!(shown("brightness").starts_with("0\n"));
    }
}
