//! What the DHCP client calls when it has something to say.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// A file for each wire, with the servers that it told of.
const SERVERS: &str = "/run/resolvers";
/// Where all of them are put together.
const RESOLVERS: &str = "/run/resolv.conf";

/// Carries out what the first argument says, with what the environment holds.
pub(crate) fn run() -> ExitCode {
    let event = std::env::args().nth(1).unwrap_or_default();
    let told = |name: &str| std::env::var(name).ok();
    let Some(interface) = told("interface") else {
        return ExitCode::FAILURE;
    };
    let done = match event.as_str() {
        "deconfig" => ip(&["addr", "flush", "dev", &interface]).and_then(|()| tell(&interface, "")),
        "bound" | "renew" => take(&interface, told),
        _ => Ok(()),
    };
    if done.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn take(interface: &str, told: impl Fn(&str) -> Option<String>) -> io::Result<()> {
    let address = told("ip").ok_or_else(|| io::Error::other("no address"))?;
    let bits = told("mask").unwrap_or_else(|| "24".to_owned());
    let address = format!("{address}/{bits}");
    ip(&["addr", "replace", &address, "dev", interface])?;
    // A second wire adds a way out; the first one's goes before it.
    let metric = order(interface).to_string();
    let routers = told("router").unwrap_or_default();
    if let Some(router) = routers.split_whitespace().next() {
        ip(&[
            "route", "replace", "default", "via", router, "dev", interface, "metric", &metric,
        ])?;
    }
    tell(interface, &told("dns").unwrap_or_default())
}

/// In which order the kernel found the wires.
fn order(interface: &str) -> u32 {
    let index = std::fs::read_to_string(format!("/sys/class/net/{interface}/ifindex"));
    index
        .ok()
        .and_then(|index| index.trim().parse().ok())
        .unwrap_or(u32::MAX)
}

/// These are the servers of a wire; none takes them away.
fn tell(interface: &str, servers: &str) -> io::Result<()> {
    let folder = Path::new(SERVERS);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(interface), servers)?;
    std::fs::write(RESOLVERS, resolvers(folder, order)?)
}

/// The servers of all wires, each once, those of the first wire first.
fn resolvers(folder: &Path, order: impl Fn(&str) -> u32) -> io::Result<String> {
    let mut wires = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        wires.push((order(&name), name));
    }
    wires.sort();
    let mut lines = String::new();
    for (_, name) in wires {
        for server in std::fs::read_to_string(folder.join(name))?.split_whitespace() {
            let line = format!("nameserver {server}\n");
            if !lines.contains(&line) {
                lines.push_str(&line);
            }
        }
    }
    Ok(lines)
}

fn ip(words: &[&str]) -> io::Result<()> {
    let status = Command::new("/bin/busybox")
        .arg("ip")
        .args(words)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other("ip refuses"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_wire_takes_no_server_away() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |wire: &str, servers: &str| std::fs::write(folder.path().join(wire), servers).unwrap();
        let all = || resolvers(folder.path(), |wire| if wire == "eth0" { 2 } else { 3 }).unwrap();
        write("wlan0", "10.0.0.1 10.0.0.9");
        assert_eq!(all(), "nameserver 10.0.0.1\nnameserver 10.0.0.9\n");
        write("eth0", "192.168.1.1 10.0.0.9");
        assert_eq!(
            all(),
            "nameserver 192.168.1.1\nnameserver 10.0.0.9\nnameserver 10.0.0.1\n"
        );
        write("eth0", "");
        assert_eq!(all(), "nameserver 10.0.0.1\nnameserver 10.0.0.9\n");
    }
}
