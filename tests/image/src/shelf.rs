use std::path::{Path, PathBuf};
use std::process::Command;

use imager::{Built, Cross, Place, Profile, Signers, Wanted, build, disk_of};
use interop::{Kind, say, target_dir};
use tempfile::TempDir;

use crate::{Guest, Pi, Setting};

/// Images and bundles to try.
#[derive(Debug)]
pub struct Shelf {
    place: Place,
    /// The board.
    pub profile: Profile,
    frond: PathBuf,
    init: PathBuf,
    libraries: Vec<PathBuf>,
}

/// What the disk of a box is in.
#[derive(Debug)]
pub enum Kept {
    /// A folder.
    Folder(TempDir),
    /// A Raspberry Pi.
    Pi(Pi),
}

const DISK_MIB: u64 = 512;
/// Programs that are not built for a release need it.
const UNWINDER: &str = "/lib/x86_64-linux-gnu/libgcc_s.so.1";

/// How a release is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// As it should be.
    Good,
    /// Its `frond` ends as soon as it is started.
    Crashing,
    /// It has no driver for its wire, so that no hub can be reached.
    Lineless,
    /// Its kernel finds nothing to start.
    Dead,
}

impl Shelf {
    /// Of a board, with programs that are built for it as for a release.
    ///
    /// # Panics
    /// When they cannot be built.
    #[must_use]
    pub fn crossed(board: &str) -> Self {
        let (place, _) = open(board);
        Self::crossed_in(place, board)
    }

    /// The same in another place.
    ///
    /// # Panics
    /// When they cannot be built.
    #[must_use]
    pub fn crossed_in(place: Place, board: &str) -> Self {
        let profile = Profile::read(&place, board).expect("a profile");
        let cross = Cross::prepare(&place, &profile.target).expect("a cross compiler");
        let folder = cross
            .build(&["frond", "frond-init"], "firmware")
            .expect("programs");
        Self {
            frond: folder.join("frond"),
            init: folder.join("frond-init"),
            libraries: Vec::new(),
            place,
            profile,
        }
    }

    /// Of a board, with programs that were built for it before.
    ///
    /// # Panics
    /// When there is no such board.
    #[must_use]
    pub fn given(board: &str, frond: &Path, init: &Path) -> Self {
        let (place, profile) = open(board);
        Self {
            frond: frond.to_path_buf(),
            init: init.to_path_buf(),
            libraries: Vec::new(),
            place,
            profile,
        }
    }

    /// Of a board of this machine's own kind, with the programs that the tests have anyway.
    ///
    /// # Panics
    /// When they cannot be built.
    #[must_use]
    pub fn native(board: &str) -> Self {
        let (place, profile) = open(board);
        let folder = place.made("native").expect("a folder");
        say("building frond-init");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--quiet", "-p", "frond-init", "--target-dir"])
            .arg(target_dir());
        let built = cargo.current_dir(place.sources()).status().expect("cargo");
        assert!(built.success(), "frond-init does not build");
        let strip = |from: &Path, name: &str| {
            let to = folder.join(name);
            let done = Command::new("strip").arg("-o").arg(&to).arg(from).status();
            assert!(done.expect("strip (binutils)").success());
            to
        };
        Self {
            frond: strip(&Kind::Leaf.binary(), "frond"),
            init: strip(&target_dir().join("debug/frond-init"), "frond-init"),
            libraries: vec![PathBuf::from(UNWINDER)],
            place,
            profile,
        }
    }

    /// The same, where those are not static but this machine's own kind.
    #[must_use]
    pub fn with_unwinder(mut self) -> Self {
        self.libraries = vec![PathBuf::from(UNWINDER)];
        self
    }

    /// With files instead of programs: to be looked at, not started.
    ///
    /// # Panics
    /// When there is no place for them.
    #[must_use]
    pub fn hollow(board: &str) -> Self {
        let (place, profile) = open(board);
        let program = place.made("hollow").expect("a folder").join("program");
        std::fs::write(&program, "no program").expect("a file");
        Self {
            frond: program.clone(),
            init: program,
            libraries: Vec::new(),
            place,
            profile,
        }
    }

    /// Starts a new box with that image, with a wire and nothing else; also what it is kept in.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(&self, image: &Path) -> (Guest, Kept) {
        if self.profile.qemu.is_none() {
            let pi = Pi::new(self, image);
            return (pi.start(), Kept::Pi(pi));
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let disk = folder.path().join("disk");
        disk_of(image, &disk, DISK_MIB).expect("a disk");
        let setting = Setting {
            profile: self.profile.clone(),
            disk: disk.display().to_string(),
            stick: None,
            is_wired: true,
            clock: None,
        };
        let guest = Guest::start(&setting, folder.path());
        (guest, Kept::Folder(folder))
    }

    /// The programs that are its own.
    #[must_use]
    pub fn programs(&self) -> [PathBuf; 2] {
        [self.frond.clone(), self.init.clone()]
    }

    /// A device tree of its kernel.
    ///
    /// # Panics
    /// When it has none of that name.
    #[must_use]
    pub fn device_tree(&self, name: &str) -> Vec<u8> {
        imager::device_tree(&self.place, &self.profile, name).expect("a device tree")
    }

    /// An image of that version, and its bundle.
    ///
    /// # Panics
    /// When it cannot be built.
    #[must_use]
    pub fn release(&self, version: u64, kind: Release) -> Built {
        let mut profile = self.profile.clone();
        profile
            .command_line
            .push_str(" frond.log=console frond.window=40");
        let frond = match kind {
            Release::Good => &self.frond,
            Release::Lineless => {
                profile.modules.retain(|name| name != "virtio_net");
                &self.frond
            }
            // It says that it is no service, and ends.
            Release::Crashing => &self.init,
            Release::Dead => {
                profile.command_line.push_str(" rdinit=/nothing");
                &self.frond
            }
        };
        let wanted = Wanted {
            version,
            downgrade_from: None,
            frond: frond.clone(),
            init: self.init.clone(),
            libraries: self.libraries.clone(),
            folder: self.place.made("tests").expect("a folder"),
            is_packed: false,
        };
        let signers = Signers::new(&self.place, &[], &[], &[]).expect("a key");
        build(&self.place, &profile, &wanted, &signers).expect("an image")
    }
}

fn open(board: &str) -> (Place, Profile) {
    let place = Place::here().expect("a target folder");
    let profile = Profile::read(&place, board).expect("a profile");
    (place, profile)
}
