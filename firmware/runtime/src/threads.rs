use std::fs;
use std::path::Path;

use frond_monitor::Thread;

/// The threads of this process, by their numbers; none where the system does not say.
pub(crate) fn all() -> Vec<Thread> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let tasks = entries.filter_map(Result::ok);
    let mut threads: Vec<_> = tasks.filter_map(|task| look(&task.path())).collect();
    threads.sort_by_key(|thread| thread.id);
    threads
}

/// One that ends meanwhile is none.
fn look(task: &Path) -> Option<Thread> {
    let stat = fs::read_to_string(task.join("stat")).ok()?;
    let waits_in = fs::read_to_string(task.join("wchan")).unwrap_or_default();
    // 0 is nowhere, or not to be told.
    read(
        &stat,
        if waits_in.trim() == "0" {
            ""
        } else {
            &waits_in
        },
    )
}

/// From what `/proc/PID/task/TID/stat` and `wchan` say.
fn read(stat: &str, waits_in: &str) -> Option<Thread> {
    let (head, tail) = stat.rsplit_once(')')?;
    let (id, name) = head.split_once('(')?;
    let mut fields = tail.split_whitespace();
    let state = match fields.next()? {
        "R" => "running",
        "S" => "sleeping",
        "D" => "waiting for a device",
        "T" | "t" => "stopped",
        _ => "ending",
    };
    let ticks = fields
        .skip(10)
        .take(2)
        .filter_map(|it| it.parse::<u64>().ok());
    let ticks: u64 = ticks.sum();
    Some(Thread {
        id: id.trim().parse().ok()?,
        name: name.to_owned(),
        state: state.to_owned(),
        waits_in: waits_in.trim().to_owned(),
        cpu_seconds: ticks as f64 / rustix::param::clock_ticks_per_second() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_is_among_them() {
        let own = all().into_iter().find(|thread| thread.state == "running");
        assert!(own.is_some_and(|thread| thread.id > 0 && !thread.name.is_empty()));
    }

    #[test]
    fn names_may_hold_anything() {
        let stat = "42 (a) b (c) D 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
        let thread = read(stat, "io_schedule").unwrap();
        assert_eq!((thread.id, thread.name.as_str()), (42, "a) b (c"));
        assert_eq!(thread.state, "waiting for a device");
        assert_eq!(thread.waits_in, "io_schedule");
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        assert!((thread.cpu_seconds - 200.0 / ticks).abs() < 1e-9);
        assert_eq!(read("42 (x", ""), None);
    }
}
