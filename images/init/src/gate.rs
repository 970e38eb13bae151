//! How `frond` is doing, as it tells on its monitoring port.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use frond_ota::Check;
use serde_json::Value;

/// Where the image's own configuration has it; a box without it is judged by what it tells the
/// first process.
const MONITOR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8222);
const PATIENCE: Duration = Duration::from_millis(500);
const ANSWER_BYTES_MAX: u64 = 256 * 1024;

/// What is looked at, with the names under which it is kept in the boot state.
pub(crate) const CHECKS: [(Check, &str); 2] = [(Check::Probe, "health"), (Check::Uplink, "uplink")];

/// Whether it is well.
pub(crate) fn look(check: Check) -> Result<(), String> {
    match check {
        Check::Uplink => uplink(),
        Check::Probe | Check::Listeners | Check::Clients | Check::Hub => health(),
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
