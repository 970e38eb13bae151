use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use imager::{Forward, Machine, Profile};
use interop::{free_port, wait_for, wait_for_async};

/// A box under QEMU. Dropping it pulls the plug.
#[derive(Debug)]
pub struct Guest {
    child: Child,
    console: PathBuf,
    port: u16,
    since: Instant,
}

/// How a box is started.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The board.
    pub profile: Profile,
    /// The disk: a file, or an address of [`crate::Disk`].
    pub disk: String,
    /// A stick.
    pub stick: Option<PathBuf>,
    /// Without, it has no network but its own.
    pub is_wired: bool,
    /// What its clock says, in QEMU's form.
    pub clock: Option<String>,
}

/// Everything that an update and its starts may take on a machine that is busy.
const START_BOUND: Duration = Duration::from_secs(600);
/// NATS clients', in the guest.
pub(crate) const CLIENT_PORT: u16 = 4222;

impl Guest {
    /// Starts it; its console goes to a file in `folder`.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(setting: &Setting, folder: &Path) -> Self {
        let port = free_port();
        let console = folder.join("console");
        let forward = Forward {
            host: port,
            guest: CLIENT_PORT,
        };
        let machine = Machine {
            disk: setting.disk.clone(),
            stick: setting.stick.clone(),
            forwards: if setting.is_wired {
                vec![forward]
            } else {
                Vec::new()
            },
            clock: setting.clock.clone(),
            console: Some(console.clone()),
            monitor: Some(console.with_extension("monitor")),
        };
        let child = machine.start(&setting.profile).expect("QEMU starts");
        Self::around(child, console, port)
    }

    /// A box that was started just now.
    pub(crate) fn around(child: Child, console: PathBuf, port: u16) -> Self {
        Self {
            child,
            console,
            port,
            since: Instant::now(),
        }
    }

    /// For clients on this machine.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// What it has said so far.
    #[must_use]
    pub fn console(&self) -> String {
        let bytes = std::fs::read(&self.console).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\r', "")
    }

    /// Waits until the console has said something so many times; what it has said so far.
    ///
    /// # Panics
    /// When it does not in time; the panic carries what it said instead.
    pub fn wait_to_say(&mut self, text: &str, times: usize) -> String {
        let bound = Instant::now() + START_BOUND;
        wait_for(text, START_BOUND * 2, || {
            let console = self.console();
            if console.matches(text).count() >= times {
                return Some(console);
            }
            let ended = self.child.try_wait().expect("own child");
            let is_over = ended.is_some() || Instant::now() > bound;
            assert!(!is_over, "waited for {text:?} ({ended:?}):\n{console}");
            None
        })
    }

    /// The socket for QEMU's own commands.
    #[must_use]
    pub fn monitor(&self) -> PathBuf {
        self.console.with_extension("monitor")
    }

    /// How long it has been on.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// A client, as soon as there can be one.
    ///
    /// # Panics
    /// When there is none in time; the panic carries the console.
    pub async fn client(&self) -> async_nats::Client {
        let bound = Instant::now() + START_BOUND;
        wait_for_async("a client", START_BOUND * 2, async || {
            let options = async_nats::ConnectOptions::new();
            let options = options.connection_timeout(Duration::from_secs(5));
            let client = options.connect(self.url()).await.ok();
            let is_over = client.is_none() && Instant::now() > bound;
            assert!(!is_over, "no client:\n{}", self.console());
            client
        })
        .await
    }

    /// Pulls the plug: QEMU is ended as it is.
    pub fn pull(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until QEMU has ended by itself.
    ///
    /// # Panics
    /// When it does not in time.
    pub fn wait_for_end(&mut self) {
        wait_for("QEMU to end", START_BOUND, || {
            self.child.try_wait().expect("own child")
        });
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.pull();
    }
}
