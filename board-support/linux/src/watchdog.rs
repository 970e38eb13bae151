use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::roots::Roots;
use crate::told::{Help, told};

/// The hardware watchdog: opening it starts it, and from then on somebody has to feed it.
///
/// Open it last: when the service manager was told that all is ready and the first probe came
/// back. Opened before, it bites a start that is merely slow (the recovery of a large store).
/// Until it is opened the kernel feeds one that the boot loader left running.
///
/// Its timeout is what the driver was loaded with (`heartbeat=`, `soft_margin=`) until
/// [`Watchdog::wait_for`]; a feeder is measured by [`Watchdog::timeout`].
///
/// Dropping it without [`Watchdog::disarm`] leaves it armed: a process that ends without a word
/// gets the box restarted.
#[derive(Debug)]
pub struct Watchdog {
    device: File,
    /// Where the kernel shows it, when it does.
    shown: Option<PathBuf>,
}

const HELP: Help = Help {
    missing: "the board has none, or its driver is not loaded",
    denied: "a udev rule or a group has to give it to the service",
    busy: "somebody else has it: systemd's RuntimeWatchdogSec?",
};

impl Watchdog {
    /// Opens the device of that name, which arms it.
    ///
    /// # Errors
    /// When it is not there, or somebody else has it (systemd's `RuntimeWatchdogSec`, say).
    pub fn open(roots: &Roots, name: &str) -> io::Result<Self> {
        let path = roots.device(name);
        let device = OpenOptions::new().write(true).open(&path);
        Ok(Self {
            device: device.map_err(|error| told(&path, &error, HELP))?,
            shown: shown(roots, &path),
        })
    }

    /// How long it waits, when the kernel tells.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let seconds = fact(self.shown.as_deref(), "timeout")?;
        Some(Duration::from_secs(seconds.parse().ok()?))
    }

    /// Asks it to wait for so many whole seconds from now on; what its driver made of that.
    ///
    /// # Errors
    /// It waits as before: its driver does not let that be set, or not to that.
    pub fn wait_for(&mut self, timeout: Duration) -> io::Result<Duration> {
        frond_patience::set_timeout(&self.device, timeout)
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
    /// It stays armed, and the box restarts: the system's, or a kernel that lets nobody stop it
    /// (`nowayout`).
    pub fn disarm(self) -> io::Result<()> {
        let Self { mut device, shown } = self;
        device.write_all(b"V")?;
        drop(device);
        let is = |name, value| fact(shown.as_deref(), name).is_some_and(|text| text == value);
        if is("nowayout", "1") || is("state", "active") {
            let text = "the kernel does not stop it (nowayout): the box restarts unless it is fed";
            return Err(io::Error::other(text));
        }
        Ok(())
    }
}

/// Below `/sys`, for a device below `/dev`.
fn shown(roots: &Roots, device: &Path) -> Option<PathBuf> {
    let name = device.file_name()?.to_str()?;
    // `/dev/watchdog` is the first one.
    let name = if name == "watchdog" {
        "watchdog0"
    } else {
        name
    };
    Some(roots.sys.join("class/watchdog").join(name))
}

fn fact(shown: Option<&Path>, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(shown?.join(name)).ok()?;
    Some(text.trim().to_owned())
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
        let error = Watchdog::open(&roots, "watchdog").unwrap_err().to_string();
        assert!(error.contains("/watchdog: "), "{error}");
        assert!(error.contains("its driver is not loaded"), "{error}");
        let class = dir.path().join("sys/class/watchdog/watchdog0");
        std::fs::create_dir_all(&class).unwrap();
        std::fs::write(class.join("timeout"), "15\n").unwrap();
        let device = dir.path().join("watchdog");
        std::fs::write(&device, "").unwrap();
        let mut dog = Watchdog::open(&roots, "watchdog").unwrap();
        assert_eq!(dog.timeout(), Some(Duration::from_secs(15)));
        // A file has nothing to wait with.
        dog.wait_for(Duration::from_secs(9)).unwrap_err();
        dog.feed().unwrap();
        dog.feed().unwrap();
        assert_eq!(std::fs::read(&device).unwrap(), b"\0\0");
        dog.disarm().unwrap();
        assert_eq!(std::fs::read(&device).unwrap(), b"\0\0V");
    }

    #[test]
    fn one_that_nobody_may_stop_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().join("sys"),
            dev: dir.path().to_owned(),
        };
        let class = dir.path().join("sys/class/watchdog/watchdog1");
        std::fs::create_dir_all(&class).unwrap();
        std::fs::write(dir.path().join("watchdog1"), "").unwrap();
        let cases = [
            ("nowayout", "1\n", false),
            ("nowayout", "0\n", true),
            ("state", "active\n", false),
            ("state", "inactive\n", true),
        ];
        for (fact, text, is_stopped) in cases {
            std::fs::write(class.join(fact), text).unwrap();
            let dog = Watchdog::open(&roots, "watchdog1").unwrap();
            assert_eq!(dog.disarm().is_ok(), is_stopped, "{fact} {text}");
        }
    }
}
