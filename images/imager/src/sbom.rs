//! The bill of materials: what is in an image, as CycloneDX.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::error::{About as _, Outcome, text_of};
use crate::kernel::Kernel;
use crate::place::Place;
use crate::profile::Profile;
use crate::root::Programs;

/// Writes it beside the image.
pub(crate) fn write(
    place: &Place,
    profile: &Profile,
    version: u64,
    kernel: &Kernel,
    programs: &Programs,
    base: &Path,
) -> Outcome<PathBuf> {
    let mut components = crates(place, profile)?;
    for package in programs.packages.iter().chain(&kernel.packages) {
        let (name, version) = (&package.name, &package.version);
        let arch = &profile.architecture;
        let purl = format!(
            "pkg:deb/debian/{name}@{version}?arch={arch}&distro={}",
            profile.release
        );
        components.push(json!({
            "type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl,
        }));
    }
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "operating-system",
            "name": format!("frond-{}", profile.name),
            "version": version.to_string(),
            "bom-ref": "image",
        }},
        "components": components,
    });
    let path = base.with_extension("cdx.json");
    let text = serde_json::to_string_pretty(&bill).about(&path)?;
    std::fs::write(&path, text).about(&path)?;
    Ok(path)
}

/// The crates that `frond` and the first process are built from.
fn crates(place: &Place, profile: &Profile) -> Outcome<Vec<Value>> {
    let mut tree = Command::new("cargo");
    tree.current_dir(place.sources());
    tree.args([
        "tree",
        "--locked",
        "--quiet",
        "-p",
        "frond",
        "-p",
        "frond-init",
    ]);
    tree.args(["--edges", "normal,build", "--prefix", "none", "--no-dedupe"]);
    tree.args(["--target", &profile.target, "--format", "{p}|{l}"]);
    let told = text_of(&mut tree)?;
    let mut lines: Vec<&str> = told.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines.dedup();
    Ok(lines.into_iter().filter_map(component).collect())
}

fn component(line: &str) -> Option<Value> {
    let (package, license) = line.split_once('|')?;
    let mut words = package.split(' ');
    let name = words.next()?;
    let version = words.next()?.trim_start_matches('v');
    let purl = format!("pkg:cargo/{name}@{version}");
    let license = license.replace('/', " OR ");
    Some(json!({
        "type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl,
        "licenses": [{ "expression": license }],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_named_with_version_and_license() {
        let found = component("redb v4.6.0|MIT/Apache-2.0").unwrap();
        assert_eq!(found["purl"], "pkg:cargo/redb@4.6.0");
        assert_eq!(found["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let own = component("frond v0.1.0 (/somewhere/firmware/frond)|Apache-2.0").unwrap();
        assert_eq!(own["version"], "0.1.0");
    }
}
