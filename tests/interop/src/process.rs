//! What a process uses, from `/proc`, and signals by pid.

use rustix::process::{Pid, Signal, kill_process};

/// Ticks per second of `/proc/<pid>/stat`; fixed at 100 on Linux for user space.
const TICKS_PER_S: f64 = 100.0;

/// What a process has used so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// User and system time, in seconds.
    pub cpu_s: f64,
    /// Resident memory, in bytes.
    pub rss_bytes: u64,
    /// The most resident memory there ever was, in bytes.
    pub rss_peak_bytes: u64,
}

impl Usage {
    /// Reads the usage of a running process.
    ///
    /// # Panics
    /// When the process is gone.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        let stat = read(pid, "stat");
        // The command name may hold spaces; fields count from behind its closing parenthesis.
        let after = stat.rsplit_once(')').expect("stat has a command name").1;
        let field = |n: usize| {
            after
                .split_whitespace()
                .nth(n)
                .and_then(|v| v.parse::<f64>().ok())
        };
        let ticks = field(11).expect("utime") + field(12).expect("stime");
        let status = read(pid, "status");
        let bytes = |key| keyed(&status, key).unwrap_or(0) * 1024;
        Self {
            cpu_s: ticks / TICKS_PER_S,
            rss_bytes: bytes("VmRSS:"),
            rss_peak_bytes: bytes("VmHWM:"),
        }
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a child's pid");
    kill_process(pid, signal).expect("the process is ours and running");
}

fn read(pid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

fn keyed(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
