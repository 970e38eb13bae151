use std::path::{Path, PathBuf};
use std::process::Command;

use imager::{Built, Cross, Place, Profile, Signers, Wanted, build};
use interop::{Kind, say, target_dir};

/// Images and bundles to try.
#[derive(Debug)]
pub struct Shelf {
    place: Place,
    /// The board.
    pub profile: Profile,
    frond: PathBuf,
    init: PathBuf,
}

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
        let (place, profile) = open(board);
        let cross = Cross::prepare(&place, &profile.target).expect("a cross compiler");
        let folder = cross
            .build(&["frond", "frond-init"], "firmware")
            .expect("programs");
        Self {
            frond: folder.join("frond"),
            init: folder.join("frond-init"),
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
            place,
            profile,
        }
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
            place,
            profile,
        }
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
