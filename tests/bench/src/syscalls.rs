//! Counts the system calls of a process with `perf`, where that is installed and allowed.

use std::process::{Child, Command, Stdio};

use interop::{Server, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(5);

/// System calls per message of the server while `load` runs; none when they can't be counted.
#[must_use]
pub fn syscalls_per_message(server: &Server, load: impl FnOnce() -> u64) -> Option<f64> {
    let out = server.dir().join("perf.csv");
    let mut perf = Command::new("perf")
        .args(["stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p"])
        .arg(server.pid().to_string())
        .arg("-o")
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    wait_for("perf to be attached", BOUND, || {
        (out.exists() || ended(&mut perf)).then_some(())
    });
    let messages = load();
    let pid = i32::try_from(perf.id()).ok().and_then(Pid::from_raw)?;
    let _ = kill_process(pid, Signal::INT);
    let _ = perf.wait();
    let text = std::fs::read_to_string(&out).ok()?;
    let line = text.lines().find(|line| line.contains("raw_syscalls"))?;
    let count: f64 = line.split(',').next()?.parse().ok()?;
    let messages = u32::try_from(messages).ok()?;
    Some(count / f64::from(messages))
}

fn ended(perf: &mut Child) -> bool {
    perf.try_wait().is_ok_and(|status| status.is_some())
}
