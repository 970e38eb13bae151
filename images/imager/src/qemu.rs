use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::error::{About as _, Error, Outcome};
use crate::profile::Profile;
use crate::tools::need;

/// A port of this machine's loopback that leads to one of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Here.
    pub host: u16,
    /// There.
    pub guest: u16,
}

/// A machine that QEMU makes, to be started as often as one likes.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The disk: a file, or `nbd:…`.
    pub disk: String,
    /// Another disk (a stick), a file.
    pub stick: Option<PathBuf>,
    /// What the guest can be reached by; without any it has no network.
    pub forwards: Vec<Forward>,
    /// What the guest's clock says at its start, in QEMU's form.
    pub clock: Option<String>,
    /// The file that the serial console goes to; none: the terminal.
    pub console: Option<PathBuf>,
    /// A socket for QEMU's own commands.
    pub monitor: Option<PathBuf>,
}

const MEMORY_MIB: u32 = 512;

impl Machine {
    /// Starts it.
    ///
    /// # Errors
    /// When the board has no such machine, or it cannot be started.
    pub fn start(&self, profile: &Profile) -> Outcome<Child> {
        let none = || Error::new(format!("{} is no machine of QEMU's", profile.name));
        let qemu = profile.qemu.as_ref().ok_or_else(none)?;
        let [bios, package] = &qemu.bios;
        let program = format!("/usr/bin/{}", qemu.program);
        need(&[(&program, &qemu.package), (bios, package)])?;
        let mut command = Command::new(program);
        command.args(&qemu.words).args(["-bios", bios]);
        command.args([
            "-smp",
            "2",
            "-m",
            &MEMORY_MIB.to_string(),
            "-no-user-config",
        ]);
        command.args(["-device", "i6300esb", "-action", "watchdog=reset"]);
        self.disks(&mut command);
        self.network(&mut command);
        if let Some(clock) = &self.clock {
            command.args(["-rtc", &format!("base={clock}")]);
        }
        let monitor = self.monitor.as_ref().map_or_else(
            || "none".to_owned(),
            |path| format!("unix:{},server,nowait", path.display()),
        );
        command.args(["-display", "none", "-monitor", &monitor]);
        match &self.console {
            Some(path) => {
                File::create(path).about(path)?;
                command.args(["-serial", &format!("file:{}", path.display())]);
            }
            None => {
                command.args(["-serial", "stdio"]);
            }
        }
        command.stdin(Stdio::null()).spawn().about(&qemu.program)
    }

    fn disks(&self, command: &mut Command) {
        let disk = &self.disk;
        let drive = format!("if=none,id=disk,format=raw,cache=writeback,file={disk}");
        command.args(["-drive", &drive, "-device", "virtio-blk-pci,drive=disk"]);
        if let Some(stick) = &self.stick {
            let file = stick.display();
            let drive = format!("if=none,id=stick,format=raw,readonly=on,file={file}");
            command.args(["-drive", &drive, "-device", "virtio-blk-pci,drive=stick"]);
        }
    }

    fn network(&self, command: &mut Command) {
        if self.forwards.is_empty() {
            command.args(["-nic", "none"]);
            return;
        }
        let mut user = "user,id=net".to_owned();
        for Forward { host, guest } in &self.forwards {
            user.push_str(&format!(",hostfwd=tcp:127.0.0.1:{host}-:{guest}"));
        }
        command.args(["-netdev", &user]);
        command.args(["-device", "virtio-net-pci,netdev=net,romfile="]);
    }
}

/// Makes a disk of an image, with room for data.
///
/// # Errors
/// When it cannot be written.
pub fn disk_of(image: &Path, disk: &Path, mib: u64) -> Outcome<()> {
    let mut from = File::open(image).about(image)?;
    let mut to = File::create(disk).about(disk)?;
    std::io::copy(&mut from, &mut to).about(disk)?;
    let bytes = to.metadata().about(disk)?.len().max(mib * 1024 * 1024);
    to.set_len(bytes).about(disk)
}
