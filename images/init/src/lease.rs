//! What the DHCP client calls when it has something to say.

use std::io;
use std::process::{Command, ExitCode};

/// Carries out what the first argument says, with what the environment holds.
pub(crate) fn run() -> ExitCode {
    let event = std::env::args().nth(1).unwrap_or_default();
    let told = |name: &str| std::env::var(name).ok();
    let Some(interface) = told("interface") else {
        return ExitCode::FAILURE;
    };
    let done = match event.as_str() {
        "deconfig" => ip(&["addr", "flush", "dev", &interface]),
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
    let routers = told("router").unwrap_or_default();
    if let Some(router) = routers.split_whitespace().next() {
        ip(&[
            "route", "replace", "default", "via", router, "dev", interface,
        ])?;
    }
    let servers = told("dns").unwrap_or_default();
    let lines = servers.split_whitespace();
    let lines: String = lines.map(|it| format!("nameserver {it}\n")).collect();
    std::fs::write("/run/resolv.conf", lines)
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
