use std::path::Path;
use std::process::{Command, Stdio};

use imager::need;
use interop::free_port;
use tempfile::TempDir;

use crate::guest::CLIENT_PORT;
use crate::{Guest, Layout, Shelf};

/// A Raspberry Pi's image in `raspi3b`, the one of QEMU's boards of that family that reads cards.
///
/// There is no firmware in QEMU: what it would load from the first partition is loaded from there
/// by QEMU, but for the device tree, which is that of the older board. Everything from U-Boot on is
/// what a Raspberry Pi 4 runs.
#[derive(Debug)]
pub struct Pi {
    folder: TempDir,
}

/// Of the board that QEMU has; the kernel brings it along.
const TREE: &str = "broadcom/bcm2837-rpi-3-b.dtb";
/// A card's size is a power of two.
const CARD_MIB: u64 = 1024;

impl Pi {
    /// With an image on its card.
    ///
    /// # Panics
    /// When the card cannot be made.
    #[must_use]
    pub fn new(shelf: &Shelf, image: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let card = folder.path().join("card");
        imager::disk_of(image, &card, CARD_MIB).expect("a card");
        let loader = Layout::of(&card).file("select", "u-boot.bin");
        std::fs::write(folder.path().join("u-boot.bin"), loader).expect("a file");
        let tree = shelf.device_tree(TREE);
        std::fs::write(folder.path().join("tree"), tree).expect("a file");
        Self { folder }
    }

    /// Starts it. Its wire is an adapter in one of its sockets.
    ///
    /// # Panics
    /// When QEMU cannot be had.
    #[must_use]
    pub fn start(&self) -> Guest {
        let program = "/usr/bin/qemu-system-aarch64";
        need(&[(program, "qemu-system-arm")]).expect("QEMU");
        let at = |name: &str| self.folder.path().join(name);
        let console = at("console");
        let port = free_port();
        let mut qemu = Command::new(program);
        qemu.args(["-M", "raspi3b", "-display", "none", "-monitor", "none"]);
        // The console is on the second one, as on the board's header.
        let log = format!("file:{}", console.display());
        qemu.args(["-serial", "null", "-serial", &log]);
        qemu.arg("-kernel").arg(at("u-boot.bin"));
        qemu.arg("-dtb").arg(at("tree"));
        let card = at("card");
        let card = format!("if=sd,format=raw,file={}", card.display());
        qemu.args(["-drive", &card]);
        let net = format!("user,id=net,hostfwd=tcp:127.0.0.1:{port}-:{CLIENT_PORT}");
        qemu.args(["-netdev", &net, "-device", "usb-net,netdev=net"]);
        let child = qemu.stdin(Stdio::null()).spawn().expect("QEMU starts");
        Guest::around(child, console, port)
    }
}
