use std::path::{Path, PathBuf};

use frond_config::Config;
use frond_node::StorageLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What JetStream may use in all: as configured, else three quarters of what the machine has.
///
/// spec: nats-server v2.15.1 server/jetstream.go `dynJetStreamConfig`
pub(crate) fn limits(config: &Config, dir: &Path) -> StorageLimits {
    let three_quarters = |bytes: u64| bytes / 4 * 3;
    let memory = config
        .jetstream
        .max_memory
        .unwrap_or_else(|| three_quarters(memory_bytes()));
    let file = config
        .jetstream
        .max_file
        .unwrap_or_else(|| three_quarters(free_bytes(dir)));
    // What is known of messages is no message: it has a share of its own.
    let index = config
        .jetstream
        .max_index_memory
        .unwrap_or_else(|| memory_bytes() / 4);
    StorageLimits {
        memory_bytes_max: memory,
        file_bytes_max: file,
        index_bytes_max: Some(index),
        dir: dir.to_string_lossy().into_owned(),
    }
}

/// Memory this process may have: the machine's, or what its control group leaves of it; 256 MiB
/// when nothing says.
pub(crate) fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let machine = kib.map_or(256 << 20, |kib| kib * 1024);
    let group = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = group_limits(&group).into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    });
    limits.fold(machine, u64::min)
}

/// How many files this process may open, after it took what the system lets it have.
pub(crate) fn raise_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Who may not raise it lives with what there is.
    let raised = limit.current != limit.maximum && setrlimit(Resource::Nofile, wanted).is_ok();
    let current = if raised { limit.maximum } else { limit.current };
    current.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    })
}

/// Files that limit the memory of the group which `/proc/self/cgroup` names, its parents' included.
fn group_limits(cgroup: &str) -> Vec<PathBuf> {
    let own = cgroup.lines().find_map(|line| line.strip_prefix("0::/"));
    let root = Path::new("/sys/fs/cgroup");
    own.map_or_else(Vec::new, |own| {
        let own = root.join(own);
        own.ancestors()
            .take_while(|group| group.starts_with(root))
            .map(|group| group.join("memory.max"))
            .collect()
    })
}

/// Free bytes where `dir` is or will be; 1 TiB, nats-server's guess, when the system does not say.
pub(crate) fn free_bytes(dir: &Path) -> u64 {
    let existing = dir
        .ancestors()
        .find(|dir| dir.exists())
        .unwrap_or_else(|| Path::new("."));
    rustix::fs::statvfs(existing)
        .map_or(1 << 40, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Resident memory of this process in bytes.
pub(crate) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// Processor seconds this process has used.
pub(crate) fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|t| t.parse::<u64>().ok())
        .sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Bytes as nats-server prints them: `58.56 GB`, powers of 1024.
pub(crate) fn friendly(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KB", "MB", "GB", "TB"] {
        if value < 1024.0 {
            return if unit == "B" {
                format!("{bytes} B")
            } else {
                format!("{value:.2} {unit}")
            };
        }
        value /= 1024.0;
    }
    format!("{value:.2} PB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_limited_by_its_parents_too() {
        let paths = group_limits("0::/system.slice/frond.service\n");
        let shown: Vec<_> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        assert_eq!(
            shown,
            [
                "/sys/fs/cgroup/system.slice/frond.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        assert!(group_limits("4:memory:/x\n").is_empty());
    }

    #[test]
    fn sizes_read_as_nats_server_prints_them() {
        assert_eq!(friendly(512), "512 B");
        assert_eq!(friendly(18_957_385_728), "17.66 GB");
        assert_eq!(friendly(62_879_523_840), "58.56 GB");
    }
}
