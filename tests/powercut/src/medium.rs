//! The disk as a folder: mounted, cut off, and mounted again with what is left.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption};
use interop::{Random, wait_for};
use tempfile::TempDir;

use crate::disk::Model;
use crate::power::Powered;
use crate::requests::Requests;

const UNMOUNT_BOUND: Duration = Duration::from_secs(10);
const DEVICE: &str = "/dev/fuse";

/// A folder that loses what was not synced.
#[derive(Debug)]
pub struct Medium {
    powered: Arc<Mutex<Powered>>,
    session: Option<BackgroundSession>,
    dir: TempDir,
}

impl Medium {
    /// An empty one; what its cuts leave is decided by the seed.
    ///
    /// # Panics
    /// When the system has no FUSE or does not let us mount; the panic says what to do.
    #[must_use]
    pub fn new(model: Model, seed: u64) -> Self {
        let mut medium = Self {
            powered: Arc::new(Mutex::new(Powered::new(model, Random::new(seed)))),
            session: None,
            dir: tempfile::Builder::new()
                .prefix("frond-disk-")
                .tempdir()
                .expect("a temporary folder"),
        };
        medium.mount();
        medium
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What a sync does from now on.
    pub fn set_model(&self, model: Model) {
        self.powered().set_model(model);
    }

    /// The power goes now: nothing more is kept, and nothing more is answered.
    pub fn pull(&self) {
        self.powered().pull();
    }

    /// The power goes after so many operations.
    pub fn pull_after(&self, operations: u64) {
        self.powered().pull_after(operations);
    }

    /// Whether it has gone.
    #[must_use]
    pub fn is_pulled(&self) -> bool {
        *self.powered().is_pulled().borrow()
    }

    /// Waits until it has.
    pub async fn pulled(&self) {
        let mut is_pulled = self.powered().is_pulled();
        let _ = is_pulled.wait_for(|is_pulled| *is_pulled).await;
    }

    /// Those who wait for an answer are let go; they must be about to die.
    pub fn let_go(&self) {
        self.powered().refuse();
    }

    /// The power is back: mounts what is left. Nobody may have it open any more.
    ///
    /// # Panics
    /// When somebody has.
    pub fn restore(&mut self) {
        self.let_go();
        self.unmount();
        self.powered().restore();
        self.mount();
    }

    fn powered(&self) -> MutexGuard<'_, Powered> {
        self.powered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mount(&mut self) {
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("powercut".into())];
        let requests = Requests(Arc::clone(&self.powered));
        let session = fuser::spawn_mount(requests, self.dir.path(), &config);
        self.session = Some(session.unwrap_or_else(|error| panic!("{error}: {}", hint())));
    }

    fn unmount(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        drop(session);
        // It is busy until the kernel has closed what the dead process had open.
        wait_for("the disk to be unmounted", UNMOUNT_BOUND, || {
            let mounts = std::fs::read_to_string("/proc/self/mounts").expect("it is told");
            let path = self.dir.path().to_string_lossy();
            let is_mounted = mounts.lines().any(|line| line.contains(&*path));
            if !is_mounted {
                return Some(());
            }
            let _ = std::process::Command::new("umount")
                .arg(self.dir.path())
                .status();
            None
        });
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        self.let_go();
        if !std::thread::panicking() {
            self.unmount();
        }
    }
}

fn hint() -> String {
    let device = if Path::new(DEVICE).exists() {
        "is there"
    } else {
        "is missing"
    };
    format!(
        "a disk whose power can be cut needs FUSE ({DEVICE} {device}): try `modprobe fuse`; in a container, \
         `--device {DEVICE} --cap-add SYS_ADMIN`"
    )
}
