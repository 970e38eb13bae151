//! What the kernel starts: the initial file system, and the root.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cpio::Cpio;
use crate::debian::{Debian, Package};
use crate::error::{About as _, Error, Outcome, quietly};
use crate::kernel::Kernel;
use crate::packages::{EARLY_LIBRARIES, LIBRARIES, LOADERS, PACKAGES, PROGRAMS};
use crate::profile::Profile;
use crate::verity::Verity;

/// What goes into the root besides Debian's programs.
#[derive(Debug)]
pub(crate) struct Own<'a> {
    /// The first process.
    pub(crate) init: &'a Path,
    /// The service.
    pub(crate) frond: &'a Path,
    /// What those two need besides.
    pub(crate) libraries: &'a [PathBuf],
    /// A folder of files to lay over it.
    pub(crate) overlay: &'a Path,
    /// Further files: paths and contents.
    pub(crate) files: Vec<(String, String)>,
}

impl Own<'_> {
    /// Their paths in the image, and contents.
    fn libraries(&self) -> Outcome<Vec<(String, Vec<u8>)>> {
        let all = self.libraries.iter().map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Ok((format!("lib/{name}"), std::fs::read(path).about(path)?))
        });
        all.collect()
    }
}

/// The programs of Debian, unpacked.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
    libraries: &'static str,
    loader: &'static str,
    pub(crate) packages: Vec<Package>,
}

/// Folders that are there to mount something on, or to be empty.
const FOLDERS: [&str; 10] = [
    "bin", "data", "dev", "proc", "root", "run", "sbin", "state", "sys", "tmp",
];

impl Programs {
    pub(crate) fn open(debian: &Debian, profile: &Profile, folder: &Path) -> Outcome<Self> {
        let known = LOADERS
            .iter()
            .find(|(name, _, _)| *name == profile.architecture);
        let (_, libraries, loader) =
            known.ok_or_else(|| Error::new(format!("{}?", profile.architecture)))?;
        let packages = debian.fetch(&PACKAGES.map(str::to_owned))?;
        let _ = std::fs::remove_dir_all(folder);
        for package in &packages {
            package.unpack(folder, &["./usr/*"])?;
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            libraries,
            loader,
            packages,
        })
    }

    fn program(&self, from: &str) -> Outcome<Vec<u8>> {
        let path = self.folder.join(from);
        std::fs::read(&path).about(&path)
    }

    fn library(&self, name: &str) -> Outcome<Vec<u8>> {
        self.program(&format!("usr/lib/{}/{name}", self.libraries))
    }

    fn loader(&self) -> Outcome<Vec<u8>> {
        let name = self.loader.rsplit('/').next().unwrap_or_default();
        self.library(name)
    }

    /// All certificates of the package, as one file.
    fn certificates(&self) -> Outcome<String> {
        let folder = self.folder.join("usr/share/ca-certificates/mozilla");
        let entries = std::fs::read_dir(&folder).about(&folder)?;
        let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|it| it.path()).collect();
        paths.sort();
        let texts = paths
            .iter()
            .map(|path| std::fs::read_to_string(path).about(path));
        texts.collect()
    }
}

/// The initial file system: enough to check the root and go there.
pub(crate) fn initial(
    programs: &Programs,
    kernel: &Kernel,
    profile: &Profile,
    own: &Own<'_>,
    verity: &Verity,
) -> Outcome<Vec<u8>> {
    let mut cpio = Cpio::default();
    for name in FOLDERS
        .into_iter()
        .chain(["etc", "lib", "lib64", "lib/modules"])
    {
        cpio.folder(name);
    }
    cpio.device("dev/console", (5, 1));
    cpio.file("init", 0o755, &std::fs::read(own.init).about(own.init)?);
    cpio.file("etc/verity", 0o644, verity.table.as_bytes());
    for (from, to) in PROGRAMS {
        if to.ends_with("busybox") || to.ends_with("dmsetup") {
            cpio.file(to, 0o755, &programs.program(from)?);
        }
    }
    cpio.file(programs.loader, 0o755, &programs.loader()?);
    for name in EARLY_LIBRARIES {
        cpio.file(&format!("lib/{name}"), 0o644, &programs.library(name)?);
    }
    for (name, content) in own.libraries()? {
        cpio.file(&name, 0o644, &content);
    }
    let mut list = String::new();
    for (name, content) in kernel.modules(&profile.early_modules)? {
        cpio.file(&format!("lib/modules/{name}.ko"), 0o644, &content);
        list.push_str(&format!("/lib/modules/{name}.ko\n"));
    }
    cpio.file("etc/modules", 0o644, list.as_bytes());
    Ok(cpio.finish())
}

/// The root as a squashfs.
pub(crate) fn root(
    programs: &Programs,
    kernel: &Kernel,
    profile: &Profile,
    own: &Own<'_>,
    work: &Path,
    epoch_s: u64,
) -> Outcome<Vec<u8>> {
    let folder = work.join("root");
    let _ = std::fs::remove_dir_all(&folder);
    let put = |path: &str, mode: u32, content: &[u8]| write(&folder.join(path), mode, content);
    for name in FOLDERS {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).about(&path)?;
    }
    for (from, to) in PROGRAMS {
        put(to, 0o755, &programs.program(from)?)?;
    }
    put(programs.loader, 0o755, &programs.loader()?)?;
    for name in EARLY_LIBRARIES.into_iter().chain(LIBRARIES) {
        put(&format!("lib/{name}"), 0o644, &programs.library(name)?)?;
    }
    for (name, content) in own.libraries()? {
        put(&name, 0o644, &content)?;
    }
    put(
        "sbin/init",
        0o755,
        &std::fs::read(own.init).about(own.init)?,
    )?;
    put(
        "usr/bin/frond",
        0o755,
        &std::fs::read(own.frond).about(own.frond)?,
    )?;
    for name in ["frond-slot", "frond-lease"] {
        link("/sbin/init", &folder.join("usr/bin").join(name))?;
    }
    let certificates = programs.certificates()?;
    put(
        "etc/ssl/certs/ca-certificates.crt",
        0o644,
        certificates.as_bytes(),
    )?;
    link("/run/resolv.conf", &folder.join("etc/resolv.conf"))?;
    let mut list = String::new();
    for (name, content) in kernel.modules(&profile.modules)? {
        put(&format!("lib/modules/{name}.ko"), 0o644, &content)?;
        list.push_str(&format!("/lib/modules/{name}.ko\n"));
    }
    put("etc/modules", 0o644, list.as_bytes())?;
    overlay(own.overlay, &folder)?;
    for (path, content) in &own.files {
        put(path, 0o644, content.as_bytes())?;
    }
    squash(&folder, &work.join("root.squashfs"), epoch_s)
}

fn write(path: &Path, mode: u32, content: &[u8]) -> Outcome<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).about(parent)?;
    }
    std::fs::write(path, content).about(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).about(path)
}

fn link(to: &str, path: &Path) -> Outcome<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).about(parent)?;
    }
    std::os::unix::fs::symlink(to, path).about(path)
}

fn overlay(from: &Path, to: &Path) -> Outcome<()> {
    for entry in std::fs::read_dir(from).about(from)? {
        let entry = entry.about(from)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            overlay(&source, &target)?;
        } else {
            write(&target, 0o644, &std::fs::read(&source).about(&source)?)?;
        }
    }
    Ok(())
}

fn squash(folder: &Path, image: &Path, epoch_s: u64) -> Outcome<Vec<u8>> {
    let mut make = Command::new("mksquashfs");
    make.arg(folder).arg(image);
    make.args([
        "-noappend",
        "-no-progress",
        "-all-root",
        "-no-exports",
        "-no-xattrs",
    ]);
    make.args(["-comp", "zstd", "-Xcompression-level", "19", "-b", "128K"]);
    make.args([
        "-all-time",
        &epoch_s.to_string(),
        "-mkfs-time",
        &epoch_s.to_string(),
    ]);
    make.env_remove("SOURCE_DATE_EPOCH");
    quietly(&mut make)?;
    std::fs::read(image).about(image)
}
