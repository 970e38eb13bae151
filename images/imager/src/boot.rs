//! What the two boot partitions and the one before them hold.

use std::path::Path;
use std::process::Command;

use frond_slot::{Slot, autoboot};

use crate::error::{About as _, Error, Outcome, quietly};
use crate::kernel::Kernel;
use crate::place::Place;
use crate::profile::{Loader, Profile};

/// Files of a partition: paths and contents.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// U-Boot's script, which counts and chooses.
const SCRIPT: &str = "images/boot/u-boot.cmd";

/// What differs in it from machine to machine.
#[derive(Clone, Copy, Debug)]
struct Start {
    architecture: &'static str,
    disk: &'static str,
    /// Memory that nothing else is loaded to: for the boot state, the kernel and the initial file
    /// system.
    state: &'static str,
    kernel: &'static str,
    initial: &'static str,
    /// How the kernel is started.
    go: &'static str,
}

const STARTS: [Start; 3] = [
    Start {
        architecture: "arm64",
        disk: "virtio",
        state: "0x43f00000",
        kernel: "${kernel_addr_r}",
        initial: "${ramdisk_addr_r}",
        go: "booti ${kernel_addr_r} ${ramdisk_addr_r}:${filesize} ${fdt_addr}",
    },
    Start {
        architecture: "amd64",
        disk: "virtio",
        state: "0x07f00000",
        kernel: "${kernel_addr_r}",
        // U-Boot's own address for it, 64 MiB, is within what the kernel unpacks itself to.
        initial: "0x10000000",
        go: "zboot ${kernel_addr_r} ${kernel_size} 0x10000000 ${filesize}",
    },
    // U-Boot's own addresses for the Raspberry Pi have room for smaller kernels. The device tree is
    // the one that the firmware has filled in, at 128 MiB or near the end of the memory.
    Start {
        architecture: "arm64",
        disk: "mmc",
        state: "0x05000000",
        kernel: "0x00200000",
        initial: "0x10000000",
        go: "booti 0x00200000 0x10000000:${filesize} ${fdt_addr}",
    },
];

/// U-Boot's settings on the Raspberry Pi: no question on a serial line that a till may talk on, and
/// no look at devices that it isn't to start from.
const SETTINGS: &str = "bootdelay=-2\n\
    scriptaddr=0x02400000\n\
    bootcmd=load mmc 0:1 ${scriptaddr} boot.scr && source ${scriptaddr}; reset\n";
const SETTINGS_BYTES: &str = "0x4000";

/// What the firmware and the loader read first.
pub(crate) fn select(
    place: &Place,
    profile: &Profile,
    kernel: &Kernel,
    others: Files,
    work: &Path,
) -> Outcome<Files> {
    let mut files = match profile.loader {
        Loader::Tryboot => {
            let choice = autoboot(Slot::A).into_bytes();
            return Ok(vec![("autoboot.txt".to_owned(), choice)]);
        }
        Loader::UBoot => vec![("boot.scr".to_owned(), script(place, profile, work)?)],
    };
    if !profile.config_txt.is_empty() {
        files.push(("config.txt".to_owned(), config_txt(profile)));
        files.push(("uboot.env".to_owned(), settings(work)?));
    }
    files.extend(device_trees(profile, kernel)?);
    files.extend(others);
    Ok(files)
}

fn script(place: &Place, profile: &Profile, work: &Path) -> Outcome<Vec<u8>> {
    let source = place.sources().join(SCRIPT);
    let mut text = std::fs::read_to_string(&source).about(&source)?;
    let mut known = STARTS.iter();
    let known = known.find(|it| it.architecture == profile.architecture && it.disk == profile.disk);
    let start = known.ok_or_else(|| {
        let (architecture, disk) = (&profile.architecture, &profile.disk);
        Error::new(format!("{architecture} from {disk}?"))
    })?;
    for (name, value) in [
        ("@STATE@", start.state),
        ("@DISK@", start.disk),
        ("@KERNEL@", start.kernel),
        ("@INITIAL@", start.initial),
        ("@GO@", start.go),
    ] {
        text = text.replace(name, value);
    }
    let (script, source) = (work.join("boot.scr"), work.join("boot.cmd"));
    std::fs::write(&source, text).about(&source)?;
    let mut make = Command::new("mkimage");
    make.args([
        "-A", "arm64", "-T", "script", "-C", "none", "-n", "frond", "-d",
    ]);
    make.arg(&source).arg(&script);
    quietly(make.env("SOURCE_DATE_EPOCH", place.epoch_s()?.to_string()))?;
    std::fs::read(&script).about(&script)
}

fn settings(work: &Path) -> Outcome<Vec<u8>> {
    let (text, made) = (work.join("settings"), work.join("uboot.env"));
    std::fs::write(&text, SETTINGS).about(&text)?;
    let mut make = Command::new("mkenvimage");
    make.args(["-s", SETTINGS_BYTES, "-o"])
        .arg(&made)
        .arg(&text);
    quietly(&mut make)?;
    std::fs::read(&made).about(&made)
}

fn config_txt(profile: &Profile) -> Vec<u8> {
    let mut config = profile.config_txt.join("\n");
    config.push('\n');
    config.into_bytes()
}

fn device_trees(profile: &Profile, kernel: &Kernel) -> Outcome<Files> {
    let trees = profile.device_trees.iter().map(|name| {
        let file = name.rsplit('/').next().unwrap_or_default();
        Ok((file.to_owned(), kernel.device_tree(name)?))
    });
    trees.collect()
}

/// A boot partition: the same in both slots, so that one bundle fits both.
pub(crate) fn slot(
    profile: &Profile,
    kernel: &Kernel,
    initial: &[u8],
    others: Files,
) -> Outcome<Files> {
    let packed = gzip(initial)?;
    let line = profile.command_line.clone();
    if profile.loader == Loader::UBoot {
        return Ok(vec![
            ("Image".to_owned(), kernel.image()?),
            ("initrd".to_owned(), packed),
            ("slot.env".to_owned(), format!("args={line}\n").into_bytes()),
        ]);
    }
    let mut files = vec![
        ("kernel8.img".to_owned(), kernel.image()?),
        ("initrd".to_owned(), packed),
        ("config.txt".to_owned(), config_txt(profile)),
        ("cmdline.txt".to_owned(), format!("{line}\n").into_bytes()),
    ];
    files.extend(device_trees(profile, kernel)?);
    files.extend(others);
    Ok(files)
}

fn gzip(bytes: &[u8]) -> Outcome<Vec<u8>> {
    use std::io::Write as _;
    let mut child = Command::new("gzip")
        .args(["-9", "-n"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .about("gzip")?;
    let mut input = child
        .stdin
        .take()
        .ok_or_else(|| Error::new("gzip takes nothing"))?;
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().about("gzip")?;
    match writer.join() {
        Ok(Ok(())) if output.status.success() => Ok(output.stdout),
        Ok(_) | Err(_) => Err(Error::new("gzip fails")),
    }
}
