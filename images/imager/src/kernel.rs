use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::debian::{Debian, Package};
use crate::error::{About as _, Error, Outcome, quietly};
use crate::place::Place;
use crate::profile::Profile;

/// Debian's kernel, unpacked.
#[derive(Debug)]
pub(crate) struct Kernel {
    folder: PathBuf,
    /// As the kernel calls itself.
    pub(crate) release: String,
    /// The packages that it comes in.
    pub(crate) packages: Vec<Package>,
    /// Each module's file by its name.
    files: BTreeMap<String, PathBuf>,
    /// What is in the kernel itself.
    builtin: BTreeSet<String>,
}

/// Packages of kernels are called that, then comes their release.
const PREFIX: &str = "linux-image-";

impl Kernel {
    /// The profile's kernel, unpacked below `folder` once for each version.
    pub(crate) fn open(debian: &Debian, profile: &Profile, folder: &Path) -> Outcome<Self> {
        let name = match profile.kernel.split_once('=') {
            Some(_) => profile.kernel.clone(),
            None => debian.behind(&profile.kernel, PREFIX)?,
        };
        let release = name.split('=').next().unwrap_or_default();
        let release = release.trim_start_matches(PREFIX);
        let release = release.trim_end_matches("-unsigned").to_owned();
        // Newer ones come in parts, of the same release.
        let mut names = debian.needs(&name)?;
        names.retain(|it| it.starts_with("linux-") && it.ends_with(&release));
        names.insert(0, name);
        let packages = debian.fetch(&names)?;
        let package = packages.first().ok_or_else(|| Error::new("no kernel"))?;
        let folder = folder.join(format!("{}_{}", package.name, package.version));
        if !folder.join("done").exists() {
            for package in &packages {
                package.unpack(&folder, &["./*"])?;
            }
            std::fs::write(folder.join("done"), "").about(&folder)?;
        }
        let mut files = BTreeMap::new();
        let modules = folder.join("usr/lib/modules").join(&release);
        collect(&modules, &mut files)?;
        let list = modules.join("modules.builtin");
        let list = std::fs::read_to_string(&list).about(&list)?;
        let names = list
            .lines()
            .filter_map(|it| it.rsplit('/').next()?.strip_suffix(".ko"));
        Ok(Self {
            packages,
            folder,
            release,
            builtin: names.map(|it| it.replace('-', "_")).collect(),
            files,
        })
    }

    /// The kernel itself.
    pub(crate) fn image(&self) -> Outcome<Vec<u8>> {
        let release = &self.release;
        self.either([
            format!("boot/vmlinuz-{release}"),
            format!("usr/lib/modules/{release}/vmlinuz"),
        ])
    }

    /// A device tree, by its path in the package's folder of them.
    pub(crate) fn device_tree(&self, name: &str) -> Outcome<Vec<u8>> {
        let release = &self.release;
        self.either([
            format!("usr/lib/linux-image-{release}/{name}"),
            format!("usr/lib/modules/{release}/dtb/{name}"),
        ])
    }

    /// A file that is in one place or, in newer packages, in the other.
    fn either(&self, paths: [String; 2]) -> Outcome<Vec<u8>> {
        let [old, new] = paths.map(|path| self.folder.join(path));
        let path = if old.exists() { old } else { new };
        std::fs::read(&path).about(&path)
    }

    /// Modules and what they need, each after what it needs: names and contents.
    pub(crate) fn modules(&self, wanted: &[String]) -> Outcome<Vec<(String, Vec<u8>)>> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for name in wanted {
            self.add(name, &mut seen, &mut order)?;
        }
        Ok(order)
    }

    fn add(
        &self,
        name: &str,
        seen: &mut BTreeSet<String>,
        order: &mut Vec<(String, Vec<u8>)>,
    ) -> Outcome<()> {
        let name = name.replace('-', "_");
        if self.builtin.contains(&name) || !seen.insert(name.clone()) {
            return Ok(());
        }
        let path = self.files.get(&name);
        let path = path.ok_or_else(|| Error::new(format!("the kernel has no module {name}")))?;
        let content = plain(path)?;
        for needed in needs(&content) {
            // A soft one may be built in.
            if self.files.contains_key(&needed.replace('-', "_")) {
                self.add(&needed, seen, order)?;
            }
        }
        order.push((name, content));
        Ok(())
    }
}

/// A device tree of the kernel that a profile's image has, by its path in the kernel's folder of
/// them.
///
/// # Errors
/// When there is none, or the kernel cannot be had.
pub fn device_tree(place: &Place, profile: &Profile, name: &str) -> Outcome<Vec<u8>> {
    let _alone = place.alone()?;
    let folder = place.made("debian")?;
    let debian = Debian::open(&folder, &profile.architecture, &profile.release)?;
    Kernel::open(&debian, profile, &place.made("kernel")?)?.device_tree(name)
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Outcome<()> {
    for entry in std::fs::read_dir(folder).about(folder)? {
        let path = entry.about(folder)?.path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files)?;
            continue;
        }
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some((name, rest)) = name.split_once('.')
            && rest.starts_with("ko")
        {
            files.insert(name.replace('-', "_"), path);
        }
    }
    Ok(())
}

fn plain(path: &Path) -> Outcome<Vec<u8>> {
    if path.extension().is_some_and(|it| it == "xz") {
        Ok(quietly(Command::new("xz").arg("-dc").arg(path))?.stdout)
    } else {
        std::fs::read(path).about(path)
    }
}

/// What a module's own notes say that it needs.
fn needs(module: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    for note in module.split(|byte| *byte == 0) {
        let Ok(note) = core::str::from_utf8(note) else {
            continue;
        };
        if let Some(names) = note.strip_prefix("depends=") {
            all.extend(
                names
                    .split(',')
                    .filter(|it| !it.is_empty())
                    .map(str::to_owned),
            );
        } else if let Some(names) = note.strip_prefix("softdep=pre: ") {
            all.extend(
                names
                    .split_whitespace()
                    .map(|it| it.trim_end_matches(':').to_owned()),
            );
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_says_what_it_needs() {
        let module = b"\x7fELF\xff\0license=GPL\0depends=jbd2,mbcache\0softdep=pre: crc32c\0\0";
        assert_eq!(needs(module), ["jbd2", "mbcache", "crc32c"]);
        assert!(needs(b"depends=\0").is_empty());
    }
}
