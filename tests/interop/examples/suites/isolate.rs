//! Each test gets a network, processes, a home and a temporary folder of its own, so that fixed ports never collide
//! and nothing outlives its test.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

/// What a command said and whether it liked what it saw.
pub(crate) struct Said {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

/// Runs `program args` isolated, at most `seconds`, with the shim first on `PATH`.
pub(crate) fn isolated<S: AsRef<OsStr>>(
    program: &Path,
    args: impl IntoIterator<Item = S>,
    cwd: &Path,
    shim: &Path,
    seconds: u64,
    env: &[(&str, String)],
) -> Said {
    let scratch = TempDir::new().expect("a temporary folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{}:{}", shim.display(), path.to_string_lossy());
    let mut command = Command::new("unshare");
    command
        .args(["-n", "-p", "-m", "-f", "--mount-proc", "--kill-child=KILL"])
        .args(["sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .args(["timeout", "-k", "1", &seconds.to_string()])
        .arg(program)
        .args(args)
        .current_dir(cwd)
        .env("PATH", path)
        .env("HOME", scratch.path())
        .env("TMPDIR", scratch.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null());
    for (name, value) in env {
        command.env(name, value);
    }
    let out = command.output().expect("unshare (util-linux) can be run");
    let mut text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&out.stderr));
    Said {
        ok: out.status.success(),
        text,
    }
}

/// `work` on each item, `jobs` at a time; results in the order of the items.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else {
                        return;
                    };
                    let result = work(item);
                    done.lock().expect("no worker panics").push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
