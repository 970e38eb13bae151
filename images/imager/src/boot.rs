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

/// By architecture: memory for the boot state that nothing else is loaded to, and how the kernel is
/// started.
const STARTS: [(&str, &str, &str); 2] = [
    (
        "arm64",
        "0x43f00000",
        "booti ${kernel_addr_r} ${ramdisk_addr_r}:${filesize} ${fdt_addr}",
    ),
    (
        "amd64",
        "0x07f00000",
        "zboot ${kernel_addr_r} ${kernel_size} ${ramdisk_addr_r} ${filesize}",
    ),
];

/// What the loader reads first.
pub(crate) fn select(place: &Place, profile: &Profile, work: &Path) -> Outcome<Files> {
    let name = match profile.loader {
        Loader::Tryboot => {
            return Ok(vec![(
                "autoboot.txt".to_owned(),
                autoboot(Slot::A).into_bytes(),
            )]);
        }
        Loader::UBoot => "boot.scr",
    };
    let source = place.sources().join(SCRIPT);
    let text = std::fs::read_to_string(&source).about(&source)?;
    let known = STARTS.iter().find(|(it, _, _)| *it == profile.architecture);
    let (_, state, start) =
        known.ok_or_else(|| Error::new(format!("{}?", profile.architecture)))?;
    let text = text.replace("setenv state @STATE@", &format!("setenv state {state}"));
    let text = text.replace("  @START@", &format!("  {start}"));
    let (script, source) = (work.join(name), work.join("boot.cmd"));
    std::fs::write(&source, text).about(&source)?;
    let mut make = Command::new("mkimage");
    make.args([
        "-A", "arm64", "-T", "script", "-C", "none", "-n", "frond", "-d",
    ]);
    make.arg(&source).arg(&script);
    quietly(make.env("SOURCE_DATE_EPOCH", place.epoch_s()?.to_string()))?;
    let content = std::fs::read(&script).about(&script)?;
    Ok(vec![(name.to_owned(), content)])
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
    let mut files = match profile.loader {
        Loader::UBoot => vec![
            ("Image".to_owned(), kernel.image()?),
            ("initrd".to_owned(), packed),
            ("slot.env".to_owned(), format!("args={line}\n").into_bytes()),
        ],
        Loader::Tryboot => {
            let mut config = profile.config_txt.join("\n");
            config.push('\n');
            vec![
                ("kernel8.img".to_owned(), kernel.image()?),
                ("initrd".to_owned(), packed),
                ("config.txt".to_owned(), config.into_bytes()),
                ("cmdline.txt".to_owned(), format!("{line}\n").into_bytes()),
            ]
        }
    };
    for name in &profile.device_trees {
        let file = name.rsplit('/').next().unwrap_or_default();
        files.push((file.to_owned(), kernel.device_tree(name)?));
    }
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
