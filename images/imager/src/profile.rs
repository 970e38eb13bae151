use serde::Deserialize;

use crate::error::{About as _, Outcome};
use crate::place::Place;

/// One board: everything about an image that differs from board to board.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name, also that of its file.
    pub name: String,
    /// For people.
    pub title: String,
    /// What the programs are built for.
    pub target: String,
    /// Debian's name of the same.
    pub architecture: String,
    /// The release of Debian that its packages come from.
    pub release: String,
    /// The package of its kernel, or one that depends on it.
    pub kernel: String,
    /// Who starts the kernel.
    pub loader: Loader,
    /// What the boot loader calls the disk.
    #[serde(default = "virtio")]
    pub disk: String,
    /// The kernel's own words.
    pub command_line: String,
    /// Modules of the initial file system: what it takes to read the disk.
    pub early_modules: Vec<String>,
    /// Modules of the root.
    pub modules: Vec<String>,
    /// Who tells the time; nobody: the board has a clock.
    #[serde(default)]
    pub time_servers: Vec<String>,
    /// Device trees, below the kernel package's folder of them.
    #[serde(default)]
    pub device_trees: Vec<String>,
    /// Files for the firmware from packages: `package:path`.
    #[serde(default)]
    pub boot_files: Vec<String>,
    /// Lines of the Raspberry Pi's `config.txt`.
    #[serde(default)]
    pub config_txt: Vec<String>,
    /// Sizes of partitions in MiB.
    pub sizes: Sizes,
    /// The machine that QEMU makes of it, if it does.
    pub qemu: Option<Qemu>,
}

/// Who starts the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loader {
    /// U-Boot with a script, which counts starts in the boot state.
    UBoot,
    /// The Raspberry Pi's firmware, with `autoboot.txt` and one-shot starts. It takes a kernel that
    /// hands the wish for one on to the firmware, as the Raspberry Pi's own do; Debian's do not.
    Tryboot,
}

/// Sizes in MiB.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// The first partition, which the loader reads.
    pub select: u64,
    /// Each of the two with a kernel.
    pub boot: u64,
    /// Each of the two with a root.
    pub root: u64,
    /// What is kept beside the data.
    pub state: u64,
}

/// How QEMU is started.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qemu {
    /// The program.
    pub program: String,
    /// Its package.
    pub package: String,
    /// Words that make the board.
    pub words: Vec<String>,
    /// The loader's file, and its package.
    pub bios: [String; 2],
}

fn virtio() -> String {
    "virtio".to_owned()
}

impl Profile {
    /// The board of that name.
    ///
    /// # Errors
    /// When there is none, or its file is wrong.
    pub fn read(place: &Place, name: &str) -> Outcome<Self> {
        let path = place.sources().join(format!("images/profiles/{name}.toml"));
        let text = std::fs::read_to_string(&path).about(&path)?;
        toml::from_str(&text).about(&path)
    }
}
