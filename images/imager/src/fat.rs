//! FAT file systems, by dosfstools and mtools.

use std::path::Path;
use std::process::Command;

use crate::error::{About as _, Outcome, quietly};
use crate::tools::need;

/// Where the first partition starts.
pub(crate) const SELECT_MIB: u64 = 2;

/// A FAT file system of so many MiB with these files (paths and contents), the same for the same
/// files.
pub(crate) fn fat(
    work: &Path,
    label: &str,
    mib: u64,
    files: &[(String, Vec<u8>)],
    epoch_s: u64,
) -> Outcome<Vec<u8>> {
    let image = work.join(format!("{label}.fat"));
    let _ = std::fs::remove_file(&image);
    let file = std::fs::File::create(&image).about(&image)?;
    file.set_len(mib * 1024 * 1024).about(&image)?;
    drop(file);
    let mut make = Command::new("/sbin/mkfs.vfat");
    make.args(["--invariant", "-n", &label.to_uppercase()]);
    // Small ones are FAT16, which all loaders read.
    make.args(["-F", if mib < 64 { "16" } else { "32" }, "-s", "1"]);
    if (16..64).contains(&mib) {
        make.args(["-s", "2"]);
    }
    quietly(
        make.arg(&image)
            .env("SOURCE_DATE_EPOCH", epoch_s.to_string()),
    )?;
    let mut folders = std::collections::BTreeSet::new();
    for (path, content) in files {
        let parents: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
        for parent in parents
            .into_iter()
            .rev()
            .filter(|it| !it.as_os_str().is_empty())
        {
            if folders.insert(parent.to_path_buf()) {
                let mut mmd = Command::new("mmd");
                mmd.arg("-i")
                    .arg(&image)
                    .arg(format!("::{}", parent.display()));
                quietly(mmd.env("SOURCE_DATE_EPOCH", epoch_s.to_string()))?;
            }
        }
        let source = work.join("fat-file");
        std::fs::write(&source, content).about(&source)?;
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(epoch_s);
        let file = std::fs::File::options()
            .write(true)
            .open(&source)
            .about(&source)?;
        file.set_modified(time).about(&source)?;
        let mut copy = Command::new("mcopy");
        copy.args(["-m", "-i"])
            .arg(&image)
            .arg(&source)
            .arg(format!("::{path}"));
        quietly(
            copy.env("TZ", "UTC")
                .env("SOURCE_DATE_EPOCH", epoch_s.to_string()),
        )?;
    }
    std::fs::read(&image).about(&image)
}

/// A stick with these files at its top.
///
/// # Errors
/// When it cannot be made.
pub fn stick(path: &Path, files: &[&Path]) -> Outcome<()> {
    need(&[
        ("/usr/bin/mcopy", "mtools"),
        ("/sbin/mkfs.vfat", "dosfstools"),
    ])?;
    let mut bytes = 64 * 1024 * 1024;
    for file in files {
        bytes += std::fs::metadata(file).about(file)?.len() * 11 / 10;
    }
    let image = std::fs::File::create(path).about(path)?;
    image
        .set_len(bytes.next_multiple_of(1024 * 1024))
        .about(path)?;
    drop(image);
    quietly(
        Command::new("/sbin/mkfs.vfat")
            .args(["-F", "32", "-n", "STICK"])
            .arg(path),
    )?;
    for file in files {
        quietly(
            Command::new("mcopy")
                .arg("-i")
                .arg(path)
                .arg(file)
                .arg("::"),
        )?;
    }
    Ok(())
}

/// Puts a file of the owner's (`frond.conf`, `image.url`) on the first partition of a disk, as
/// people do with a card.
///
/// # Errors
/// When it cannot be written.
pub fn configure(disk: &Path, file: &Path) -> Outcome<()> {
    need(&[("/usr/bin/mcopy", "mtools")])?;
    let place = format!("{}@@{SELECT_MIB}M", disk.display());
    quietly(
        Command::new("mcopy")
            .args(["-o", "-i", &place])
            .arg(file)
            .arg("::"),
    )?;
    Ok(())
}
