//! What the meta layer takes from here, so that each fact is written once: the crates of
//! `Cargo.lock`, and the sizes of the profiles.

use std::path::PathBuf;

use serde::Deserialize;

use crate::error::{About as _, Outcome};
use crate::place::Place;
use crate::profile::Profile;

/// Boards, and what the layer calls them.
const MACHINES: [(&str, &str); 3] = [
    ("qemu-aarch64", "qemuarm64"),
    ("rpi4", "raspberrypi4-64"),
    ("rpi5", "raspberrypi5"),
];
const CRATES: &str = "yocto/meta-frond/recipes-frond/frond/frond-crates.inc";
const BOARDS: &str = "yocto/meta-frond/conf/frond-boards.inc";

#[derive(Debug, Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// Files of the layer and what they should say.
///
/// # Errors
/// When what they follow from cannot be read.
pub fn generated(place: &Place) -> Outcome<Vec<(PathBuf, String)>> {
    Ok(vec![
        (place.sources().join(CRATES), crates(place)?),
        (place.sources().join(BOARDS), boards(place)?),
    ])
}

fn crates(place: &Place) -> Outcome<String> {
    let path = place.sources().join("Cargo.lock");
    let text = std::fs::read_to_string(&path).about(&path)?;
    let lock: Lock = toml::from_str(&text).about(&path)?;
    let mut uris =
        "# From Cargo.lock, by `cargo run -p imager -- yocto`.\nSRC_URI += \"\\\n".to_owned();
    let mut sums = String::new();
    for it in lock.package {
        // Those without are of this workspace.
        let Some(checksum) = it.checksum else {
            continue;
        };
        let (name, version) = (it.name, it.version);
        uris.push_str(&format!("    crate://crates.io/{name}/{version} \\\n"));
        sums.push_str(&format!(
            "SRC_URI[{name}-{version}.sha256sum] = \"{checksum}\"\n"
        ));
    }
    Ok(format!("{uris}\"\n\n{sums}"))
}

fn boards(place: &Place) -> Outcome<String> {
    let mut text = "# From images/profiles, by `cargo run -p imager -- yocto`.\n".to_owned();
    for (nth, (board, machine)) in MACHINES.into_iter().enumerate() {
        let sizes = Profile::read(place, board)?.sizes;
        let suffix = if nth == 0 {
            String::new()
        } else {
            format!(":{machine}")
        };
        let operator = if nth == 0 { "?=" } else { "=" };
        let facts = [
            ("SELECT", sizes.select),
            ("BOOT", sizes.boot),
            ("ROOT", sizes.root * ROOTS),
            ("STATE", sizes.state),
        ];
        for (name, mib) in facts {
            text.push_str(&format!("FROND_{name}_MIB{suffix} {operator} \"{mib}\"\n"));
        }
    }
    Ok(text)
}

/// A root with systemd and no compression takes that many times as much.
const ROOTS: u64 = 8;
