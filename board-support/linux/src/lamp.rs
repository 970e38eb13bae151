use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::roots::Roots;
use crate::told::{Help, told};

/// A lamp below `/sys/class/leds`. Dropped, it goes back to the kernel's trigger that had it: no
/// lamp stays as a program left it that is no more.
#[derive(Debug)]
pub struct Led {
    brightness: File,
    full: String,
    trigger: PathBuf,
    /// The trigger that had it before.
    before: Option<String>,
}

const HELP: Help = Help {
    missing: "no such lamp is on this board, see /sys/class/leds",
    denied: "a udev rule or a group has to give it to the service",
    busy: "the kernel holds it",
};

impl Led {
    /// Opens a lamp and takes it from the kernel's triggers.
    ///
    /// # Errors
    /// When there is none of that name, or it may not be written.
    pub fn open(roots: &Roots, name: &str) -> io::Result<Self> {
        let dir = roots.sys.join("class/leds").join(name);
        let full = std::fs::read_to_string(dir.join("max_brightness"));
        let full = full.map_or_else(|_| "1".to_owned(), |text| text.trim().to_owned());
        let path = dir.join("brightness");
        let brightness = OpenOptions::new().write(true).open(&path);
        let brightness = brightness.map_err(|error| told(&path, &error, HELP))?;
        let trigger = dir.join("trigger");
        let before = std::fs::read_to_string(&trigger).ok();
        let before = before.as_deref().and_then(chosen).map(str::to_owned);
        // A lamp without triggers is ours already.
        let _ = choose(&trigger, "none");
        Ok(Self {
            brightness,
            full,
            trigger,
            before,
        })
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

impl Drop for Led {
    fn drop(&mut self) {
        // Whoever cannot have it back finds it dark.
        let _ = self.set(false);
        if let Some(before) = &self.before {
            let _ = choose(&self.trigger, before);
        }
    }
}

/// `none [mmc0] heartbeat`: the one in brackets.
fn chosen(triggers: &str) -> Option<&str> {
    let (_, rest) = triggers.split_once('[')?;
    let (chosen, _) = rest.split_once(']')?;
    Some(chosen)
}

fn choose(path: &Path, trigger: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(format!("{trigger}\n").as_bytes())
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
        let error = Led::open(&roots, "ACT").unwrap_err().to_string();
        assert!(error.contains("class/leds/ACT/brightness: "), "{error}");
        assert!(error.contains("see /sys/class/leds"), "{error}");
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
        lamp.set(true).unwrap();
        drop(lamp);
        assert!(shown("trigger").starts_with("mmc0\n"));
        assert!(shown("brightness").starts_with("0\n"));
    }
}
