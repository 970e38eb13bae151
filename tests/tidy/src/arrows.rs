//! Which crate may name which: the arrows of the design, and what follows from them.

use crate::manifest::Manifest;
use crate::tree::Tree;

/// The design's arrows, lowest level first: a crate (by folder) and what it builds on. What those build on may be named
/// as well; nothing else. A new arrow is a design change: it gets a commit and a reason of its own.
const ARROWS: &[(&str, &[&str])] = &[
    ("firmware/clock", &[]),
    ("firmware/subject", &[]),
    ("firmware/wire", &[]),
    ("firmware/websocket", &[]),
    ("firmware/s2", &[]),
    ("firmware/ocsp", &["firmware/clock"]),
    ("firmware/backup", &["firmware/s2"]),
    ("firmware/trim", &[]),
    ("board-support/board", &[]),
    ("firmware/account", &["firmware/subject"]),
    (
        "firmware/config",
        &["firmware/subject", "firmware/websocket"],
    ),
    ("firmware/ledger", &["firmware/clock"]),
    ("board-support/patience", &[]),
    (
        "board-support/linux",
        &["board-support/board", "board-support/patience"],
    ),
    (
        "firmware/broker",
        &[
            "firmware/wire",
            "firmware/subject",
            "firmware/account",
            "firmware/clock",
        ],
    ),
    (
        "firmware/jetstream",
        &[
            "firmware/ledger",
            "firmware/wire",
            "firmware/subject",
            "firmware/clock",
            "firmware/backup",
        ],
    ),
    (
        "firmware/field",
        &[
            "board-support/board",
            "firmware/clock",
            "firmware/config",
            "firmware/subject",
        ],
    ),
    (
        "firmware/appliance",
        &["firmware/field", "board-support/linux"],
    ),
    // A client of the server and of its hub: it knows no more of them than the configuration says.
    (
        "firmware/forward",
        &["firmware/clock", "firmware/config", "firmware/subject"],
    ),
    ("firmware/store", &["firmware/ledger"]),
    // Updates are signed with nkeys, which `account` reads and judges.
    (
        "firmware/ota",
        &["firmware/account", "firmware/config", "firmware/ledger"],
    ),
    ("firmware/leaf", &["firmware/broker", "firmware/config"]),
    ("hub/route", &["firmware/broker", "firmware/config"]),
    ("hub/gateway", &["firmware/broker", "firmware/config"]),
    ("hub/cluster", &["firmware/jetstream"]),
    // Reads of a bundle for whom it is.
    ("hub/fleet", &["firmware/ota"]),
    (
        "firmware/node",
        &["firmware/broker", "firmware/jetstream", "firmware/config"],
    ),
    ("firmware/monitor", &["firmware/node", "firmware/forward"]),
    (
        "firmware/runtime",
        &[
            "firmware/node",
            "firmware/monitor",
            "firmware/forward",
            "firmware/store",
            "firmware/websocket",
            "firmware/s2",
            "firmware/ocsp",
            "firmware/trim",
        ],
    ),
    (
        "firmware/frond",
        &[
            "firmware/runtime",
            "firmware/leaf",
            "firmware/ota",
            "firmware/appliance",
        ],
    ),
    (
        "hub/frond-hub",
        &[
            "firmware/runtime",
            "firmware/leaf",
            // It signs what boxes judge.
            "firmware/ota",
            "hub/route",
            "hub/gateway",
            "hub/cluster",
            "hub/fleet",
        ],
    ),
    // Bundles of images are signed as configurations are, and a new slot is confirmed by the same gate.
    ("images/slot", &["firmware/account", "firmware/ota"]),
    ("images/restart", &[]),
    (
        "images/init",
        &["images/slot", "images/restart", "board-support/linux"],
    ),
    ("images/imager", &["images/slot"]),
    (
        "tests/sim",
        &[
            "firmware/node",
            "firmware/leaf",
            "firmware/backup",
            "firmware/ocsp",
            "firmware/ota",
            "firmware/s2",
            "firmware/store",
            "firmware/websocket",
            "hub/route",
            "hub/gateway",
            "hub/cluster",
        ],
    ),
    ("tests/fuzz", &["tests/sim"]),
    // Makes the JWTs of the operators under test, signs configurations, answers about certificates.
    (
        "tests/interop",
        &["firmware/account", "firmware/ota", "firmware/ocsp"],
    ),
    ("tests/powercut", &["tests/interop"]),
    ("tests/script", &["tests/interop"]),
    (
        "tests/bench",
        &[
            "tests/interop",
            "firmware/field",
            "firmware/node",
            "firmware/store",
        ],
    ),
    ("tests/image", &["tests/interop", "images/imager"]),
    ("tests/tidy", &[]),
];

/// Crates that are plain values and machines: no clock, socket, file, thread or database beneath them.
pub(crate) const PURE: &[&str] = &[
    "board-support/board",
    "firmware/account",
    "firmware/backup",
    "firmware/broker",
    "firmware/clock",
    "firmware/config",
    "firmware/field",
    "firmware/forward",
    "firmware/jetstream",
    "firmware/leaf",
    "firmware/ledger",
    "firmware/monitor",
    "firmware/node",
    "firmware/ocsp",
    "firmware/ota",
    "firmware/s2",
    "firmware/subject",
    "firmware/websocket",
    "firmware/wire",
    "hub/cluster",
    "hub/fleet",
    "hub/gateway",
    "hub/route",
];

/// Outside crates that bring a clock, a socket, a file, a thread or a database.
const IMPURE: &[&str] = &[
    "async-std",
    "futures-executor",
    "getrandom",
    "libc",
    "mio",
    "nix",
    "rand",
    "rayon",
    "redb",
    "rustix",
    "rustls",
    "smol",
    "socket2",
    "tempfile",
    "tokio",
    "tokio-rustls",
];

/// A crate names only what the design's arrows lead to.
#[must_use]
pub fn arrows(tree: &Tree) -> Vec<String> {
    let manifests = Manifest::all(tree);
    let mut wrong = Vec::new();
    for manifest in &manifests {
        let Some(allowed) = reach(&manifest.folder) else {
            wrong.push(format!(
                "{}: a crate the design doesn't know",
                manifest.folder
            ));
            continue;
        };
        let named = manifest
            .dependencies
            .iter()
            .filter_map(|name| manifests.iter().find(|m| m.name == *name));
        for other in named.filter(|other| !allowed.contains(&other.folder.as_str())) {
            wrong.push(format!("{} may not name {}", manifest.folder, other.folder));
        }
    }
    wrong
}

/// Pure crates take nothing from outside that is not pure.
#[must_use]
pub fn outside_crates(tree: &Tree) -> Vec<String> {
    let manifests = Manifest::all(tree);
    let pure = manifests
        .iter()
        .filter(|m| PURE.contains(&m.folder.as_str()));
    pure.flat_map(|m| m.dependencies.iter().map(move |d| (m, d)))
        .filter(|(_, dependency)| IMPURE.contains(&dependency.as_str()))
        .map(|(m, dependency)| format!("{} is pure and may not name {dependency}", m.folder))
        .collect()
}

/// Everything a crate's arrows lead to, or nothing for a crate the design doesn't know.
fn reach(folder: &str) -> Option<Vec<&'static str>> {
    let (_, direct) = ARROWS.iter().find(|(name, _)| *name == folder)?;
    let mut all = direct.to_vec();
    for next in *direct {
        all.extend(reach(next)?);
    }
    Some(all)
}
