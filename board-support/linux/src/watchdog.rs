use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use crate::roots::Roots;

/// The hardware watchdog: opening it starts it, and from then on somebody has to feed it.
///
/// Dropping it without [`Watchdog::disarm`] leaves it armed: a process that ends without a word
/// gets the box restarted.
#[derive(Debug)]
pub struct Watchdog {
    device: File,
    timeout: Option<Duration>,
}

impl Watchdog {
    /// Opens the device of that name, which arms it.
    ///
    /// # Errors
    /// When it is not there, or somebody else has it (systemd's `RuntimeWatchdogSec`, say).
    pub fn open(roots: &Roots, name: &str) -> io::Result<Self> {
        let path = roots.device(name);
        let device = OpenOptions::new().write(true).open(&path)?;
        Ok(Self {
            device,
            timeout: timeout_of(roots, &path),
        })
    }

    /// How long it waits, when the kernel tells.
    #[must_use]
    pub const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Feeds it: any byte but `V` does.
    ///
    /// # Errors
    /// The system's.
    pub fn feed(&mut self) -> io::Result<()> {
        self.device.write_all(b"\0")
    }

    /// Puts it to sleep before an end in good order (the kernel's magic close).
    ///
    /// # Errors
    /// The system's: it then stays armed.
    pub fn disarm(mut self) -> io::Result<()> {
        self.device.write_all(b"V")
    }
}

/// In seconds, where the kernel shows it.
fn timeout_of(roots: &Roots, device: &Path) -> Option<Duration> {
    let name = device.file_name()?.to_str()?;
    // `/dev/watchdog` is the first one.
    let name = if name == "watchdog" {
        "watchdog0"
    } else {
        name
    };
    let path = roots.sys.join("class/watchdog").join(name).join("timeout");
    let seconds = std::fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fed_by_bytes_and_ends_by_one_letter() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().join("sys"),
            dev: dir.path().to_owned(),
        };
        assert!(Watchdog::open(&roots, "watchdog").is_err());
        let class = dir.path().join("sys/class/watchdog/watchdog0");
        std::fs::create_dir_all(&class).unwrap();
        std::fs::write(class.join("timeout"), "15\n").unwrap();
        let device = dir.path().join("watchdog");
        std::fs::write(&device, "").unwrap();
        let mut dog = Watchdog::open(&roots, "watchdog").unwrap();
        assert_eq!(dog.timeout(), Some(Duration::from_secs(15)));
        dog.feed().unwrap();
        dog.feed().unwrap();
        assert_eq!(std::fs::read(&device).unwrap(), b"\0\0");
        dog.disarm().unwrap();
        assert_eq!(std::fs::read(&device).unwrap(), b"\0\0V");
    }
}
