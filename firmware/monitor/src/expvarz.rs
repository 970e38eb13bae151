//! `/debug/vars` and what else only a program in Go has to say.
//!
//! spec: nats-server v2.15.1 server/monitor.go `expvarz`, `profilez`, `HandleStacksz`

use serde::Serialize;

use crate::process::Process;
use crate::text::empty;

/// The variables of a Go program, as far as there are any here.
#[derive(Debug, Serialize)]
pub(crate) struct Expvarz {
    cmdline: [&'static str; 1],
    memstats: MemStats,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct MemStats {
    alloc: u64,
    sys: u64,
    heap_alloc: u64,
    heap_sys: u64,
}

/// A profile that cannot be taken.
#[derive(Debug, Serialize)]
pub(crate) struct Profilez {
    profile: Option<()>,
    #[serde(skip_serializing_if = "empty")]
    error: String,
}

/// The command line is told without its arguments: they may hold a password.
pub(crate) const fn document(process: &Process<'_>) -> Expvarz {
    Expvarz {
        cmdline: ["frond"],
        memstats: MemStats {
            alloc: process.resident_bytes,
            sys: process.resident_bytes,
            heap_alloc: process.resident_bytes,
            heap_sys: process.resident_bytes,
        },
    }
}

/// Profiles of the Go runtime are not there, whatever they are called.
pub(crate) fn profilez(name: &str) -> Profilez {
    let error = if name.is_empty() {
        "Profile name not specified".to_owned()
    } else {
        format!("Profile {name:?} not found")
    };
    Profilez {
        profile: None,
        error,
    }
}
