//! A start that takes its time: a service manager is asked for more of it for as long as the
//! process gets on, and no longer.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

use frond_linux::Notice;

use crate::appliance::tell;
use crate::limits::{OPENING_EVERY, OPENING_MORE, STACK_BYTES};

/// Asks for more time until it is dropped.
#[derive(Debug)]
pub(crate) struct Opening(#[expect(dead_code, reason = "its end is what it is for")] Sender<()>);

impl Opening {
    pub(crate) fn begin() -> Option<Self> {
        std::env::var_os("NOTIFY_SOCKET")?;
        let (end, ended) = channel();
        let work = move || {
            let mut before = progress();
            while ended.recv_timeout(OPENING_EVERY) == Err(RecvTimeoutError::Timeout) {
                let now = progress();
                // A start that hangs gets no more time from this.
                if now != before {
                    tell(Notice::Longer(OPENING_MORE));
                }
                before = now;
            }
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let started = thread.name("opening".to_owned()).spawn(work);
        started.ok().map(|_| Self(end))
    }
}

/// What the process has read and written so far, and the time it computed: it stands still when
/// the process does.
fn progress() -> (String, String) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let times: Vec<&str> = after.split_whitespace().skip(11).take(2).collect();
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let bytes: Vec<&str> = io.lines().filter(|line| line.contains("_bytes")).collect();
    (times.join(" "), bytes.join(" "))
}
