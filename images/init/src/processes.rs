//! The processes that the first one keeps: each with its log in memory.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use frond_clock::Instant;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};

use crate::logs::{Log, follow};
use crate::message::{grumble, say};
use crate::service::{Event, Order, Service};

const LOGS: &str = "/run/log";

/// How a process is started.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) path: &'static str,
    pub(crate) words: Vec<String>,
    /// Under which user and group; nobody else's files are its business.
    pub(crate) user: Option<u32>,
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) is_chatty: bool,
}

/// A process that is kept running.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) program: Program,
    pub(crate) service: Service,
    pid: Option<Pid>,
}

impl Program {
    /// Starts it; its process id.
    pub(crate) fn start(&self) -> io::Result<Pid> {
        let (reader, writer) = io::pipe()?;
        let log = Log::open(Path::new(LOGS), &self.name)?;
        let is_chatty = self.is_chatty;
        let mut command = Command::new(self.path);
        command.args(&self.words).stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/usr/sbin:/bin:/sbin");
        command.envs(self.environment.iter().map(|(name, value)| (*name, value)));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let child = command.spawn()?;
        // Until the command is gone, this end of the pipe is open here too.
        drop(command);
        std::thread::spawn(move || follow(log, reader, is_chatty));
        Ok(Pid::from_child(&child))
    }
}

impl Kept {
    /// To be started at the next turn; one that `tells` says itself that it serves and lives.
    pub(crate) const fn new(program: Program, now: Instant, tells: bool) -> Self {
        Self {
            program,
            service: Service::new(now, tells),
            pid: None,
        }
    }

    /// Does what is due.
    pub(crate) fn turn(&mut self, now: Instant) {
        let name = &self.program.name;
        match self.service.poll(now) {
            Some(Order::Start) => {
                self.pid = grumble(name, self.program.start());
                if self.pid.is_none() {
                    self.service.handle(now, Event::Ended);
                }
            }
            Some(Order::Kill) => {
                say(&format!("{name} is silent: it is ended"));
                self.signal(Signal::KILL);
            }
            None => {}
        }
    }

    /// A process ended; whether it was this one.
    pub(crate) fn reap(&mut self, now: Instant, pid: Pid, how: &str) -> bool {
        if self.pid != Some(pid) {
            return false;
        }
        self.pid = None;
        self.service.handle(now, Event::Ended);
        let (name, failures) = (&self.program.name, self.service.failures());
        say(&format!("{name} ended ({how}), {failures} in a row"));
        true
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            let _ = kill_process(pid, signal);
        }
    }

    pub(crate) const fn is_running(&self) -> bool {
        self.pid.is_some()
    }
}

/// The next process that ended, ours or one that nobody waits for any more, and how.
pub(crate) fn next_ended() -> Option<(Pid, String)> {
    let (pid, status) = rustix::process::wait(WaitOptions::NOHANG).ok()??;
    let how = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "stopped".to_owned(),
    };
    Some((pid, how))
}
