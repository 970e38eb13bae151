//! `/stacksz`: nats-server tells the stacks of its goroutines; here are threads, and where the
//! system holds each of them.
//!
//! spec: nats-server v2.15.1 server/monitor.go `HandleStacksz`

use std::fmt::Write as _;

use crate::page::Page;

/// A thread of the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// The system's number.
    pub id: u32,
    /// What it is called.
    pub name: String,
    /// What it does, in a word: `running`, `sleeping`, `waiting for a device`.
    pub state: String,
    /// Where in the kernel it waits; empty where that is not told.
    pub waits_in: String,
    /// Processor time it has used.
    pub cpu_seconds: f64,
}

/// All threads, the one that answers among them.
pub(crate) fn page(threads: &[Thread]) -> Page {
    let mut text = format!("{} threads\n", threads.len());
    for thread in threads {
        let Thread { id, name, .. } = thread;
        let (state, seconds) = (&thread.state, thread.cpu_seconds);
        let _ = write!(
            text,
            "\nthread {id} {name:?}: {state}, {seconds:.2} s of processor"
        );
        if !thread.waits_in.is_empty() {
            let _ = write!(text, ", in {}", thread.waits_in);
        }
    }
    text.push_str(
        "\n\nThere are no goroutines, so no stacks of them: `gdb -p PID -batch -ex 'thread apply all bt'` shows those of the threads.\n",
    );
    Page::text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_is_a_line() {
        let thread = |id, name: &str, waits_in: &str| Thread {
            id,
            name: name.to_owned(),
            state: "sleeping".to_owned(),
            waits_in: waits_in.to_owned(),
            cpu_seconds: 1.234,
        };
        let said = page(&[thread(7, "frond", ""), thread(8, "disk", "fdatasync")]);
        assert_eq!(said.status, 200);
        let begin = "2 threads\n\nthread 7 \"frond\": sleeping, 1.23 s of processor\n\
                     thread 8 \"disk\": sleeping, 1.23 s of processor, in fdatasync\n";
        assert!(said.body.starts_with(begin), "{}", said.body);
    }
}
