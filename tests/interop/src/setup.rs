//! How a server is to be started.

use std::net::TcpListener;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Arguments and configuration for one server. `$DIR` in the configuration becomes the server's own folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    pub(crate) config: Option<String>,
    pub(crate) args: Vec<String>,
    pub(crate) binary: Option<PathBuf>,
    pub(crate) through: Vec<String>,
}

impl Setup {
    /// A server on a free client port, no JetStream.
    #[must_use]
    pub fn core() -> Self {
        Self::default().args(["-a", "127.0.0.1", "-p", "-1"])
    }

    /// A server on a free client port with JetStream on files in its own folder.
    #[must_use]
    pub fn jetstream() -> Self {
        Self::config("listen: \"127.0.0.1:-1\"\njetstream { store_dir: \"$DIR/js\" }\n")
    }

    /// A server with this configuration text.
    #[must_use]
    pub fn config(text: &str) -> Self {
        Self {
            config: Some(text.to_owned()),
            ..Self::default()
        }
    }

    /// Adds command-line arguments.
    #[must_use]
    pub fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.args.extend(args.into_iter().map(str::to_owned));
        self
    }

    /// Starts the server through a command that ends in `exec`, such as a shell that sets limits first.
    #[must_use]
    pub fn through<'a>(self, command: impl IntoIterator<Item = &'a str>) -> Self {
        let through = command.into_iter().map(str::to_owned).collect();
        Self { through, ..self }
    }

    /// Starts this binary instead of the kind's own.
    #[must_use]
    pub fn binary(self, path: PathBuf) -> Self {
        Self {
            binary: Some(path),
            ..self
        }
    }
}

/// A port nobody listens on at this moment, for listeners which have to be known before they exist.
///
/// It is below those that systems hand out by themselves, so that no other socket gets it meanwhile, and this process is
/// told it once.
///
/// # Panics
/// When no port is left.
#[must_use]
pub fn free_port() -> u16 {
    const PORTS: Range<u32> = 10_000..32_000;
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(101);
    let mut ports = PORTS.map(|_| {
        let nth = start.wrapping_add(TOLD.fetch_add(1, Ordering::Relaxed));
        PORTS.start + nth % (PORTS.end - PORTS.start)
    });
    let free = ports.find_map(|port| {
        let port = u16::try_from(port).ok()?;
        TcpListener::bind(("127.0.0.1", port))
            .is_ok()
            .then_some(port)
    });
    free.expect("loopback has a free port")
}
