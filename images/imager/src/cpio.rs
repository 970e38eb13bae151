//! The archive that the kernel unpacks into its initial file system ("newc").

use std::fmt::Write as _;

/// An archive that grows.
#[derive(Debug, Default)]
pub(crate) struct Cpio {
    bytes: Vec<u8>,
    entries: u32,
}

const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const DEVICE: u32 = 0o020_000;

impl Cpio {
    pub(crate) fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER | 0o755, &[], (0, 0));
    }

    pub(crate) fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entry(path, FILE | mode, content, (0, 0));
    }

    /// A character device.
    pub(crate) fn device(&mut self, path: &str, number: (u32, u32)) {
        self.entry(path, DEVICE | 0o600, &[], number);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], (0, 0));
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8], device: (u32, u32)) {
        self.entries += 1;
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name = u32::try_from(path.len() + 1).unwrap_or(u32::MAX);
        let (major, minor) = device;
        let fields = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            length,
            0,
            0,
            major,
            minor,
            name,
            0,
        ];
        let mut head = "070701".to_owned();
        for field in fields {
            let _ = write!(head, "{field:08x}");
        }
        self.bytes.extend_from_slice(head.as_bytes());
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let make = || {
            let mut cpio = Cpio::default();
            cpio.folder("dev");
            cpio.device("dev/console", (5, 1));
            cpio.file("init", 0o755, b"#!");
            cpio.finish()
        };
        assert_eq!(make(), make());
        assert_eq!(make().len() % 4, 0);
        assert!(make().starts_with(b"07070100000001000041ed"));
    }
}
