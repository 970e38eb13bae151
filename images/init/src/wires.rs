//! Wires: each gets a DHCP client as it appears, also those of adapters that are plugged in later
//! or that the kernel takes its time with.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const FOLDER: &str = "/sys/class/net";

/// Wires that have a client.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    seen: BTreeSet<String>,
}

impl Wires {
    /// Those that were not there before, each switched on. One that went and comes back has its
    /// client still.
    pub(crate) fn look(&mut self) -> Vec<String> {
        let new = self.new_of(Path::new(FOLDER));
        for name in &new {
            let _ = Command::new("/bin/busybox")
                .args(["ip", "link", "set", name, "up"])
                .status();
        }
        new
    }

    fn new_of(&mut self, folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let entries = entries.filter_map(Result::ok);
        // What has no device is the kernel's own.
        let wires = entries.filter(|entry| entry.path().join("device").exists());
        let names = wires.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .filter(|name| self.seen.insert(name.clone()))
            .collect()
    }
}

/// What is run for one.
pub(crate) fn client(name: &str) -> [&str; 11] {
    [
        "udhcpc",
        "-f",
        "-i",
        name,
        "-s",
        "/usr/bin/frond-lease",
        "-t",
        "3",
        "-A",
        "5",
        "-S",
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_is_new_once() {
        let dir = tempfile::tempdir().unwrap();
        let add = |name: &str| std::fs::create_dir_all(dir.path().join(name)).unwrap();
        let mut wires = Wires::default();
        add("lo");
        assert!(wires.new_of(dir.path()).is_empty());
        add("eth0/device");
        assert_eq!(wires.new_of(dir.path()), ["eth0"]);
        add("usb0/device");
        assert_eq!(wires.new_of(dir.path()), ["usb0"]);
        assert!(wires.new_of(dir.path()).is_empty());
    }
}
