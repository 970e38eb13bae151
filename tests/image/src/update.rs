use std::path::{Path, PathBuf};
use std::time::Duration;

use imager::{Profile, configure, disk_of, stick};
use interop::{Random, wait_for};
use tempfile::TempDir;

use crate::{Disk, Guest, Honesty, Medium, Setting};

/// A box with a release, and a stick with the next one.
#[derive(Debug)]
pub struct Update {
    folder: TempDir,
    setting: Setting,
}

/// What an interrupted update came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The old slot runs.
    Old,
    /// The new slot runs.
    New,
}

const DISK_MIB: u64 = 768;
/// What the first process says of a slot; the version follows.
const SLOT: &str = ", version ";

impl Update {
    /// From an image to a bundle, with a configuration or the factory's.
    ///
    /// # Panics
    /// When they cannot be put together.
    #[must_use]
    pub fn new(profile: &Profile, image: &Path, bundle: &Path, config: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let disk = folder.path().join("disk");
        disk_of(image, &disk, DISK_MIB).expect("a disk");
        if let Some(text) = config {
            let path = folder.path().join("frond.conf");
            std::fs::write(&path, text).expect("a file");
            configure(&disk, &path).expect("a configuration");
        }
        let volume = folder.path().join("stick");
        stick(&volume, &[bundle]).expect("a stick");
        let setting = Setting {
            profile: profile.clone(),
            disk: disk.display().to_string(),
            stick: Some(volume),
            is_wired: true,
            clock: None,
        };
        Self { folder, setting }
    }

    /// The same box with another stick.
    ///
    /// # Panics
    /// When the stick cannot be made.
    #[must_use]
    pub fn with_stick(mut self, bundle: &Path) -> Self {
        let volume = self.folder.path().join("stick-2");
        stick(&volume, &[bundle]).expect("a stick");
        self.setting.stick = Some(volume);
        self
    }

    /// Starts the box with the stick in it.
    #[must_use]
    pub fn start(&self) -> Guest {
        Guest::start(&self.setting, self.folder.path())
    }

    /// Starts the box, pulls the plug after `moment` on a disk that forgets, and starts it again
    /// without the stick; which slot came up.
    ///
    /// # Panics
    /// When none does.
    pub fn interrupt(&self, moment: Duration, random: &mut Random) -> Outcome {
        let path = PathBuf::from(&self.setting.disk);
        let medium = Medium::open(&path, Honesty::Honest).expect("a disk");
        let socket = self.folder.path().join("socket");
        let disk = Disk::serve(medium, &socket).expect("a socket");
        let mut setting = self.setting.clone();
        setting.disk = disk.address();
        let mut guest = Guest::start(&setting, self.folder.path());
        wait_for(
            "the moment of the cut",
            moment + Duration::from_secs(1),
            || (guest.age() >= moment).then_some(()),
        );
        disk.cut(random).expect("what is certain can be written");
        guest.pull();
        setting.disk.clone_from(&self.setting.disk);
        setting.stick = None;
        let mut guest = Guest::start(&setting, self.folder.path());
        let console = guest.wait_to_say("frond serves", 1);
        let last = console.rsplit_once(SLOT).map_or("", |(_, rest)| rest);
        match last.lines().next() {
            Some("1") => Outcome::Old,
            Some("2") => Outcome::New,
            Some(_) | None => panic!("which version?\n{console}"),
        }
    }
}
