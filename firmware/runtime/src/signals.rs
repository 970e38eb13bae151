use std::path::Path;
use std::rc::Rc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

/// What the operator asks of a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// SIGTERM, SIGINT: end now, in good order.
    Stop(&'static str),
    /// A certificate was revoked that the server must not show.
    End,
    /// SIGUSR2: move the clients away, then end.
    LameDuck,
    /// SIGHUP: read the configuration again.
    Reload,
    /// SIGUSR1: open the log file again.
    Reopen,
}

impl Order {
    /// The signal it came by, if by any, as Go names it.
    pub(crate) const fn signal(self) -> Option<&'static str> {
        match self {
            Self::Stop(name) => Some(name),
            Self::LameDuck => Some("user defined signal 2"),
            Self::Reload => Some("hangup"),
            Self::Reopen => Some("user defined signal 1"),
            Self::End => None,
        }
    }
}

/// Listens for signals until the task is aborted.
///
/// # Errors
/// When the system refuses a handler.
pub(crate) fn listen(orders: UnboundedSender<Order>) -> std::io::Result<()> {
    let wanted = [
        (SignalKind::terminate(), Order::Stop("terminated")),
        (SignalKind::interrupt(), Order::Stop("interrupt")),
        (SignalKind::user_defined2(), Order::LameDuck),
        (SignalKind::hangup(), Order::Reload),
        (SignalKind::user_defined1(), Order::Reopen),
    ];
    let orders = Rc::new(orders);
    for (kind, order) in wanted {
        tokio::task::spawn_local(pass_on(signal(kind)?, order, Rc::clone(&orders)));
    }
    Ok(())
}

async fn pass_on(mut signals: Signal, order: Order, orders: Rc<UnboundedSender<Order>>) {
    while signals.recv().await.is_some() {
        if orders.send(order).is_err() {
            return;
        }
    }
}

/// `--signal name[=pid, pid file or the beginning of pids with a `*`]`: sends it to other
/// processes of this program.
///
/// spec: nats-server v2.15.1 server/signal.go `ProcessSignal`
///
/// # Errors
/// What to print.
pub(crate) fn send(spec: &str, program: &str) -> Result<(), String> {
    use rustix::process::{Pid, Signal as Number, kill_process};
    let (name, target) = spec
        .split_once('=')
        .map_or((spec, None), |(name, target)| (name, Some(target)));
    let number = match name {
        "stop" => Number::KILL,
        "quit" => Number::INT,
        "term" => Number::TERM,
        "reopen" => Number::USR1,
        "reload" => Number::HUP,
        "ldm" => Number::USR2,
        other => return Err(format!("unknown signal {other:?}")),
    };
    let pids = match target.map(|target| (target, target.strip_suffix('*'))) {
        Some((_, Some(beginning))) => some_others(program, beginning)?,
        Some((target, None)) => vec![pid_of(target)?],
        None => vec![only_other(program)?],
    };
    let mut failed = Vec::new();
    for pid in pids {
        let pid = Pid::from_raw(pid).ok_or_else(|| format!("invalid pid: {pid}"))?;
        if let Err(error) = kill_process(pid, number) {
            let pid = pid.as_raw_nonzero();
            failed.push(format!("unable to send signal to process {pid}: {error}"));
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

fn pid_of(target: &str) -> Result<i32, String> {
    let text = if Path::new(target).is_file() {
        std::fs::read_to_string(target).map_err(|error| format!("{target}: {error}"))?
    } else {
        target.to_owned()
    };
    // 0 and below are groups of processes, and -1 is all of them.
    match text.trim().parse() {
        Ok(pid) if pid > 0 => Ok(pid),
        Ok(_) | Err(_) => Err(format!("invalid pid: {}", text.trim())),
    }
}

/// The one other process with this program's name.
fn only_other(program: &str) -> Result<i32, String> {
    let found = others(program)?;
    match found.as_slice() {
        [] => Err(format!("no {program} processes running")),
        [pid] => Ok(*pid),
        pids => {
            let pids: Vec<_> = pids.iter().map(ToString::to_string).collect();
            Err(format!(
                "multiple {program} processes running:\n{}\nname one: --signal NAME=PID",
                pids.join("\n")
            ))
        }
    }
}

/// Those whose pid begins like that.
fn some_others(program: &str, beginning: &str) -> Result<Vec<i32>, String> {
    if !beginning.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("invalid pid: {beginning}"));
    }
    let mut found = others(program)?;
    if found.is_empty() {
        return Err(format!("no {program} processes running"));
    }
    found.retain(|pid| pid.to_string().starts_with(beginning));
    Ok(found)
}

/// All other processes with this program's name that still run: one that ended and that nobody
/// asked about keeps its name.
fn others(program: &str) -> Result<Vec<i32>, String> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").map_err(|error| format!("/proc: {error}"))?;
    let mut found: Vec<i32> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|pid| *pid != own)
        .filter_map(|pid| pid.parse().ok())
        .filter(|pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| runs_as(&stat, program))
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

/// Whether a process, by its `/proc/PID/stat`, has this name and has not ended.
fn runs_as(stat: &str, program: &str) -> bool {
    let Some((head, tail)) = stat.rsplit_once(')') else {
        return false;
    };
    let name = head.split_once('(').map_or("", |(_, name)| name);
    // The kernel keeps 15 bytes.
    let kept = program.as_bytes().get(..15).unwrap_or(program.as_bytes());
    kept == name.as_bytes() && !matches!(tail.trim_start().chars().next(), Some('Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_is_no_process() {
        for (stat, runs) in [
            ("7 (frond) S 1 7 7", true),
            ("7 (frond) R 1 7 7", true),
            ("7 (frond) Z 1 7 7", false),
            ("7 (frond-hub) S 1 7 7", false),
            ("7 (a) (frond) S 1 7 7", false),
            ("", false),
        ] {
            assert_eq!(runs_as(stat, "frond"), runs, "{stat}");
        }
        assert!(runs_as("7 (a-long-program-) S 1", "a-long-program-name"));
    }

    #[test]
    fn the_beginning_of_pids_is_digits() {
        for wrong in ["x", "1x", "-1"] {
            let said = some_others("frond", wrong).unwrap_err();
            assert_eq!(said, format!("invalid pid: {wrong}"));
        }
        let said = send("reload=*", "no-such-program").unwrap_err();
        assert_eq!(said, "no no-such-program processes running");
    }
}
