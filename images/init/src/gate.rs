//! How `frond` is doing, as it tells on its monitoring port and as a client finds it.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use frond_ota::Check;
use serde_json::Value;

use crate::probe;

/// Where the image's own configuration has it; a box without it is judged by what it tells the
/// first process.
const MONITOR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8222);
const PATIENCE: Duration = Duration::from_millis(500);
const ANSWER_BYTES_MAX: u64 = 256 * 1024;

/// Something that is looked at before an update and must be as well after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// `frond` says of itself that it is well.
    Health,
    /// A message is stored and acknowledged.
    Publish,
    /// There is a line to a hub.
    Uplink,
}

impl Look {
    pub(crate) const ALL: [Self; 3] = [Self::Health, Self::Publish, Self::Uplink];

    /// Under which it is kept in the boot state.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Publish => "publish",
            Self::Uplink => "uplink",
        }
    }

    /// What of the gate it belongs to.
    pub(crate) const fn check(self) -> Check {
        match self {
            Self::Health | Self::Publish => Check::Probe,
            Self::Uplink => Check::Uplink,
        }
    }

    /// Whether it is well.
    pub(crate) fn take(self) -> Result<(), String> {
        match self {
            Self::Health => health(),
            Self::Publish => probe::publish(),
            Self::Uplink => uplink(),
        }
    }
}

fn health() -> Result<(), String> {
    let answer = ask("/healthz")?;
    match answer.get("status").and_then(Value::as_str) {
        Some("ok") => Ok(()),
        Some(_) | None => Err(answer.to_string()),
    }
}

fn uplink() -> Result<(), String> {
    let answer = ask("/leafz")?;
    match answer.get("leafnodes").and_then(Value::as_u64) {
        Some(lines) if lines > 0 => Ok(()),
        Some(_) | None => Err("no line to a hub".to_owned()),
    }
}

fn ask(path: &str) -> Result<Value, String> {
    let answer = get(path).map_err(|error| error.to_string())?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
    let body = body.ok_or("no answer")?;
    serde_json::from_str(body).map_err(|error| error.to_string())
}

fn get(path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&MONITOR, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}
