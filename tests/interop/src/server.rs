//! One server process: started, watched through its log, killed by its pid, started again on what is left.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::binary::Kind;
use crate::process::{Usage, signal};
use crate::setup::Setup;
use crate::wait::{wait_for, wait_or};

const READY_BOUND: Duration = Duration::from_secs(20);
const STOP_BOUND: Duration = Duration::from_secs(10);

/// A server in a folder of its own. Dropping it kills the process and removes the folder.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    setup: Setup,
    dir: TempDir,
    starts: u32,
    child: Child,
    client: String,
}

impl Server {
    /// Starts a server and waits until it says that it is ready.
    ///
    /// # Panics
    /// When it isn't ready in time; the panic carries its log.
    #[must_use]
    pub fn start(kind: Kind, setup: &Setup) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("frond-test-")
            .tempdir()
            .expect("a temporary folder");
        if let Some(config) = &setup.config {
            write_config(dir.path(), config);
        }
        let mut child = spawn(kind, setup, dir.path(), 1);
        let client = ready(kind, &mut child, dir.path(), 1, || false);
        Self {
            kind,
            setup: setup.clone(),
            dir,
            starts: 1,
            child,
            client: client.unwrap_or_default(),
        }
    }

    /// Starts the server again in the same folder, after it has been killed or stopped.
    ///
    /// # Panics
    /// When it isn't ready in time.
    pub fn restart(&mut self) {
        self.restart_unless(|| false);
    }

    /// `restart`, given up when `is_over` says so; whether it is ready.
    ///
    /// # Panics
    /// When it isn't ready in time, and it isn't over either.
    pub fn restart_unless(&mut self, is_over: impl Fn() -> bool) -> bool {
        self.starts += 1;
        let (dir, nth) = (self.dir.path(), self.starts);
        self.child = spawn(self.kind, &self.setup, dir, nth);
        let client = ready(self.kind, &mut self.child, dir, nth, is_over);
        let is_ready = client.is_some();
        self.client = client.unwrap_or_default();
        is_ready
    }

    /// Starts the server again in the same folder, set up in another way (the configuration file stays).
    ///
    /// # Panics
    /// When it isn't ready in time.
    pub fn restart_as(&mut self, change: impl FnOnce(Setup) -> Setup) {
        self.setup = change(std::mem::take(&mut self.setup));
        self.restart();
    }

    /// SIGKILL: nothing is flushed, nobody is told.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, and waits for the end.
    ///
    /// # Panics
    /// When the process is still there after the bound.
    pub fn terminate(&mut self) {
        signal(self.child.id(), Signal::TERM);
        wait_for("the server to end after SIGTERM", STOP_BOUND, || {
            self.child.try_wait().expect("own child")
        });
    }

    /// Sends a signal: lame duck is `USR2`, reload is `HUP`.
    pub fn signal(&self, which: Signal) {
        signal(self.child.id(), which);
    }

    /// Gives the server another configuration file and tells it to read that. It may refuse: its log says.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn reload(&self, config: &str) {
        write_config(self.dir.path(), config);
        self.signal(Signal::HUP);
    }

    /// Which server this is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// `host:port` for clients.
    #[must_use]
    pub fn addr(&self) -> &str {
        &self.client
    }

    /// `nats://host:port` for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://{}", self.client)
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The server's own folder (`$DIR` of the configuration).
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// CPU, memory and writes so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage::of(self.child.id())
    }

    /// Waits until the server has logged these words.
    ///
    /// # Panics
    /// When it hasn't within `bound`: with all that it did log.
    pub fn wait_logged(&self, words: &str, bound: Duration) {
        let has = || self.log().contains(words).then_some(());
        wait_or(bound, has, || {
            format!("{words}; logged is:\n{}", self.log())
        });
    }

    /// What the server has logged since its last start.
    #[must_use]
    pub fn log(&self) -> String {
        read(&log_path(self.dir.path(), self.starts))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn write_config(dir: &Path, config: &str) {
    let text = config.replace("$DIR", &dir.display().to_string());
    std::fs::write(dir.join("server.conf"), text).expect("own folder can be written");
}

fn spawn(kind: Kind, setup: &Setup, dir: &Path, nth: u32) -> Child {
    let log = log_path(dir, nth);
    let mut command = command(kind, setup);
    command
        .args(&setup.args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if setup.config.is_some() {
        command.arg("-c").arg(dir.join("server.conf"));
    }
    command.stderr(File::create(&log).expect("own folder can be written"));
    command
        .spawn()
        .unwrap_or_else(|e| panic!("{} can't be started: {e}", kind.name()))
}

/// Waits until the server is ready and gives its address for clients; nothing when `is_over`.
fn ready(
    kind: Kind,
    child: &mut Child,
    dir: &Path,
    nth: u32,
    is_over: impl Fn() -> bool,
) -> Option<String> {
    let log = log_path(dir, nth);
    wait_for(&format!("{} to be ready", kind.name()), READY_BOUND, || {
        let text = read(&log);
        if text.contains("Server is ready") {
            return Some(Some(client_address(&text)));
        }
        if is_over() {
            return Some(None);
        }
        let ended = child.try_wait().expect("own child");
        assert!(
            ended.is_none(),
            "{} ended ({ended:?}) before it was ready:\n{text}",
            kind.name()
        );
        None
    })
}

/// The binary, or the command it is started through with the binary as its first argument.
fn command(kind: Kind, setup: &Setup) -> Command {
    let binary = setup.binary.clone().unwrap_or_else(|| kind.binary());
    let Some((first, rest)) = setup.through.split_first() else {
        return Command::new(binary);
    };
    let mut command = Command::new(first);
    command.args(rest).arg(binary);
    command
}

/// The address from the line that client libraries look for as well.
fn client_address(log: &str) -> String {
    const SIGN: &str = "Listening for client connections on ";
    let line = log.lines().find_map(|line| line.split_once(SIGN));
    let address = line
        .unwrap_or_else(|| panic!("no {SIGN:?} in the log:\n{log}"))
        .1
        .trim();
    address.replace("0.0.0.0", "127.0.0.1")
}

fn log_path(dir: &Path, nth: u32) -> PathBuf {
    dir.join(format!("server-{nth}.log"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
