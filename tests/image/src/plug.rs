use std::time::{Duration, Instant};

use imager::Profile;
use interop::{Random, wait_for_async};
use tempfile::TempDir;

use crate::{Counts, Disk, Guest, Honesty, Layout, Load, Medium, Setting, glance};

/// One box whose plug is pulled again and again under load.
#[derive(Debug)]
pub struct Plug {
    profile: Profile,
    folder: TempDir,
    honesty: Honesty,
    random: Random,
    load: Load,
}

/// What cuts did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// How often the plug was pulled.
    pub cuts: u64,
    /// Acknowledged messages that were gone afterwards.
    pub lost: u64,
    /// Acks in all.
    pub acks: u64,
    /// File systems that had to be mended.
    pub mended: u64,
    /// What came to the disk.
    pub disk: Counts,
    /// The longest start, to the first answer, in seconds.
    pub longest_start_s: u64,
}

/// On a machine that is busy.
const SLACK: Duration = Duration::from_secs(60);

impl Plug {
    /// Of a board's image, with a disk of `mib`; the seed decides when and what is lost.
    ///
    /// # Panics
    /// When there can be no such disk.
    #[must_use]
    pub fn new(profile: Profile, image: &std::path::Path, honesty: Honesty, seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        imager::disk_of(image, &folder.path().join("disk"), 512).expect("a disk");
        Self {
            profile,
            folder,
            honesty,
            random: Random::new(seed),
            load: Load::default(),
        }
    }

    /// Starts the box, checks that it has everything it acknowledged, and pulls the plug at some
    /// moment; some of the moments are before it answers.
    ///
    /// # Panics
    /// When it does not come up by itself.
    pub async fn cut(&mut self, so_far: &mut Cuts) {
        // What the first start makes is there to stay, also where the disk lies from then on.
        let honesty = if so_far.cuts == 0 {
            Honesty::Honest
        } else {
            self.honesty
        };
        let medium = Medium::open(&self.folder.path().join("disk"), honesty).expect("a disk");
        let disk = Disk::serve(medium, &self.folder.path().join("socket")).expect("a socket");
        let mut guest = Guest::start(&self.setting(disk.address()), self.folder.path());
        if self.random.once_in(4) && so_far.cuts > 0 {
            // While it starts.
            let whole_ms = so_far.longest_start_s * 1000;
            let moment = Duration::from_millis(500 + self.random.below(whole_ms));
            wait_for_async("the moment of the cut", moment + SLACK, async || {
                (guest.age() >= moment).then_some(())
            })
            .await;
        } else {
            self.serve(&guest, so_far).await;
        }
        let counts = disk
            .cut(&mut self.random)
            .expect("what is certain can be written");
        guest.pull();
        so_far.mended += guest.console().matches(": mended").count() as u64;
        so_far.cuts += 1;
        so_far.acks = self.load.acks();
        so_far.disk.writes += counts.writes;
        so_far.disk.flushes += counts.flushes;
        so_far.disk.forgotten += counts.forgotten;
    }

    async fn serve(&mut self, guest: &Guest, so_far: &mut Cuts) {
        so_far.lost += self.load.lost(guest).await;
        self.load.first(guest).await;
        so_far.longest_start_s = so_far.longest_start_s.max(guest.age().as_secs());
        let moment = Duration::from_millis(200 + self.random.below(4_000));
        let start = Instant::now();
        // The publishers are dropped in the middle of whatever they do.
        let _ = tokio::time::timeout(moment, self.load.run(guest)).await;
        assert!(
            start.elapsed() >= moment,
            "the box went by itself:\n{}",
            guest.console()
        );
    }

    /// Looks `count` times at what a cut would leave under load, without one: the data's file system
    /// is checked on this machine, and this machine's `frond` is started on it. So many more moments
    /// are looked at than a box has time to start after.
    ///
    /// # Panics
    /// When the box does not come up, or what would be left cannot be started from.
    pub async fn glances(&mut self, count: u64, so_far: &mut Cuts) {
        let path = self.folder.path().join("disk");
        let medium = Medium::open(&path, Honesty::Honest).expect("a disk");
        let disk = Disk::serve(medium, &self.folder.path().join("socket")).expect("a socket");
        let guest = Guest::start(&self.setting(disk.address()), self.folder.path());
        self.load.first(&guest).await;
        let place = Layout::of(&path).place("data");
        let left = self.folder.path().join("left");
        let load = &self.load;
        let random = &mut self.random;
        let looks = async {
            for _ in 0..count {
                let pause = Duration::from_millis(random.below(300));
                let since = Instant::now();
                wait_for_async("the moment", SLACK, async || {
                    (since.elapsed() >= pause).then_some(())
                })
                .await;
                let acked = load.acked();
                disk.glance(place, random, &left).expect("a copy");
                let found = glance::look(&left, acked).await;
                so_far.cuts += 1;
                so_far.acks = load.acks();
                so_far.lost += found.lost;
                so_far.mended += u64::from(found.is_mended);
                if so_far.cuts.is_multiple_of(10) {
                    println!("{so_far:?}");
                }
            }
        };
        tokio::select! {
            () = looks => {}
            () = load.run(&guest) => panic!("the box went by itself:\n{}", guest.console()),
        }
    }

    fn setting(&self, disk: String) -> Setting {
        Setting {
            profile: self.profile.clone(),
            disk,
            stick: None,
            is_wired: true,
            clock: None,
        }
    }

    /// After the last cut: whether everything is there.
    ///
    /// # Panics
    /// When the box does not come up by itself.
    pub async fn look(&mut self, so_far: &mut Cuts) {
        let disk = self.folder.path().join("disk");
        let setting = self.setting(disk.display().to_string());
        let guest = Guest::start(&setting, self.folder.path());
        so_far.lost += self.load.lost(&guest).await;
    }
}
