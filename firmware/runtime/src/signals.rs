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

/// `--signal name[=pid or pid file]`: sends it to another process of this program.
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
    let pid = match target {
        Some(target) => pid_of(target)?,
        None => only_other(program)?,
    };
    let pid = Pid::from_raw(pid).ok_or_else(|| format!("invalid pid: {pid}"))?;
    kill_process(pid, number).map_err(|error| {
        format!(
            "unable to send signal to process {}: {error}",
            pid.as_raw_nonzero()
        )
    })
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
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").map_err(|error| format!("/proc: {error}"))?;
    let mut found: Vec<i32> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|pid| *pid != own)
        .filter_map(|pid| pid.parse().ok())
        .filter(|pid: &i32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.trim() == program)
        })
        .collect();
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(format!("no {program} processes running")),
        (Some(pid), true) => Ok(pid),
        (Some(_), false) => Err(format!(
            "multiple {program} processes running, name one by its pid"
        )),
    }
}
