//! Devices of the appliance block: `frond`'s group may use them. There is no udev, and no other
//! service that would need a group of its own.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use crate::message::say;

/// Names below `/dev`, each followed by a number: lines, buses, serial ports.
const KINDS: [&str; 10] = [
    "gpiochip", "i2c-", "spidev", "ttyACM", "ttyAMA", "ttyO", "ttyS", "ttySC", "ttyUSB", "ttymxc",
];
/// Of a lamp, what is written.
const LAMP_FILES: [&str; 2] = ["brightness", "trigger"];
const LAMPS: &str = "/sys/class/leds";
/// The serial ports that the kernel talks on are nobody else's.
const CONSOLES: &str = "/sys/class/tty/console/active";

/// Hands over what is there and was not yet; adapters may be plugged in at any time.
pub(crate) fn hand_over(group: u32) {
    let consoles = std::fs::read_to_string(CONSOLES).unwrap_or_default();
    let consoles: Vec<&str> = consoles.split_whitespace().collect();
    for path in devices(Path::new("/dev"), &consoles)
        .into_iter()
        .chain(lamps(Path::new(LAMPS)))
    {
        let is_theirs = std::fs::metadata(&path).is_ok_and(|data| data.gid() == group);
        if !is_theirs && give(&path, group).is_ok() {
            say(&format!("frond may use {}", path.display()));
        }
    }
}

fn give(path: &Path, group: u32) -> std::io::Result<()> {
    // The mode first: the group is what tells that both are done.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
    chown(path, None, Some(group))
}

fn devices(dev: &Path, consoles: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dev).into_iter().flatten();
    let names = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name());
    let names = names.filter(|name| {
        let name = name.to_string_lossy();
        let is_kind = KINDS.iter().any(|kind| {
            let number = name.strip_prefix(kind).unwrap_or_default();
            number.starts_with(|it: char| it.is_ascii_digit())
        });
        is_kind && !consoles.contains(&&*name)
    });
    names.map(|name| dev.join(name)).collect()
}

fn lamps(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let lamps = entries.filter_map(Result::ok).map(|entry| entry.path());
    lamps
        .flat_map(|lamp| LAMP_FILES.map(|name| lamp.join(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_boards_are_driven_by_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let names = [
            "gpiochip0",
            "i2c-1",
            "mem",
            "spidev0.1",
            "tty0",
            "ttyAMA0",
            "ttyS1",
            "ttyUSB3",
            "vda",
            "watchdog0",
        ];
        for name in names {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let mut found = devices(dir.path(), &["tty0", "ttyAMA0"]);
        found.sort();
        let wanted = ["gpiochip0", "i2c-1", "spidev0.1", "ttyS1", "ttyUSB3"];
        assert_eq!(found, wanted.map(|name| dir.path().join(name)));
    }

    #[test]
    fn it_is_handed_over_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("i2c-1");
        std::fs::write(&path, "").unwrap();
        let group = path.metadata().unwrap().gid();
        give(&path, group).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o660);
    }
}
