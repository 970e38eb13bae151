use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use frond_slot::limits::SECTOR_BYTES;
use frond_slot::{Gpt, Partition};

/// What lies on the disk of an image, as a loader finds it.
#[derive(Debug)]
pub struct Layout {
    image: PathBuf,
    /// The partitions.
    pub table: Gpt,
}

/// Names of partitions begin with it.
const PREFIX: &str = "frond_";

impl Layout {
    /// Of an image.
    ///
    /// # Panics
    /// When it has no table.
    #[must_use]
    pub fn of(image: &Path) -> Self {
        let mut disk = File::open(image).expect("an image");
        Self {
            image: image.to_path_buf(),
            table: Gpt::read(&mut disk).expect("a partition table"),
        }
    }

    /// The partition of that name, and its number.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn partition(&self, name: &str) -> (usize, &Partition) {
        let found = self.table.find(&format!("{PREFIX}{name}"));
        found.unwrap_or_else(|| panic!("no partition {name}"))
    }

    /// Where a partition is: its first byte, and how many it has.
    #[must_use]
    pub fn place(&self, name: &str) -> (u64, u64) {
        let (_, partition) = self.partition(name);
        let sector = SECTOR_BYTES as u64;
        (partition.start * sector, partition.sectors * sector)
    }

    /// All of a partition.
    ///
    /// # Panics
    /// When the image ends before it does.
    #[must_use]
    pub fn content(&self, name: &str) -> Vec<u8> {
        let (start, bytes) = self.place(name);
        let mut content = vec![0; usize::try_from(bytes).expect("fits into memory")];
        let disk = File::open(&self.image).expect("an image");
        disk.read_exact_at(&mut content, start)
            .expect("a partition within the image");
        content
    }

    /// The names at the top of a FAT partition.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn names(&self, partition: &str) -> Vec<String> {
        let listed = self.mtools("mdir", &["-b"], partition, &["::"]);
        let listed = String::from_utf8(listed).expect("names");
        let names = listed.lines().filter_map(|line| line.strip_prefix("::/"));
        names.map(str::to_owned).collect()
    }

    /// A file of a FAT partition.
    ///
    /// # Panics
    /// When it isn't there.
    #[must_use]
    pub fn file(&self, partition: &str, path: &str) -> Vec<u8> {
        self.mtools("mcopy", &["-n"], partition, &[&format!("::{path}"), "-"])
    }

    /// As [`Layout::file`], a text.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn text(&self, partition: &str, path: &str) -> String {
        String::from_utf8(self.file(partition, path)).expect("a text")
    }

    /// The initial file system of slot A, unpacked from its gzip.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn initial(&self) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let packed = folder.path().join("initrd");
        std::fs::write(&packed, self.file("boot_a", "initrd")).expect("a file");
        run(Command::new("gzip").args(["-d", "-c"]).arg(&packed))
    }

    /// All modules of the root of slot A, one after the other.
    ///
    /// # Panics
    /// When there is no root.
    #[must_use]
    pub fn modules(&self) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("root");
        std::fs::write(&root, self.content("root_a")).expect("a file");
        let mut squash = Command::new("unsquashfs");
        squash.arg("-q").arg("-d").arg(folder.path().join("out"));
        run(squash.arg(&root).arg("lib/modules"));
        let modules = std::fs::read_dir(folder.path().join("out/lib/modules")).expect("modules");
        let modules = modules.map(|it| std::fs::read(it.expect("a module").path()));
        modules.flat_map(|it| it.expect("a file")).collect()
    }

    fn mtools(&self, program: &str, options: &[&str], partition: &str, words: &[&str]) -> Vec<u8> {
        let (start, _) = self.place(partition);
        let drive = format!("{}@@{start}", self.image.display());
        let mut command = Command::new(program);
        command.args(options).args(["-i", &drive]).args(words);
        run(&mut command)
    }
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("a program of images/imager's");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output.stdout
}
