use std::path::{Path, PathBuf};
use std::process::Command;

use imager::Place;
use interop::say;

use crate::{Release, Shelf};

/// Builds the same commit in two folders, from nothing, and compares: names of files, and whether
/// both have the same bytes.
///
/// # Panics
/// When one of the two cannot be built.
#[must_use]
pub fn twins(board: &str) -> Vec<(String, bool)> {
    let here = Place::here().expect("a target folder");
    let folder = here.made_anew("twins").expect("a folder");
    // Names of different lengths: what has a path in it is found out.
    let places = ["a", "another/place"].map(|name| {
        let sources = folder.join(name);
        copy(here.sources(), &sources);
        Place::at(&sources, &sources.join("target"))
    });
    let key = here.made("key").expect("a folder").join("twins.seed");
    let made = places.map(|place| {
        let own = place
            .made("key")
            .expect("a folder")
            .join("development.seed");
        if key.exists() {
            std::fs::copy(&key, &own).expect("a key");
        }
        say(&format!("building in {}", place.sources().display()));
        let shelf = Shelf::crossed_in(place, board);
        let built = shelf.release(1, Release::Good);
        std::fs::copy(&own, &key).expect("a key");
        (shelf, built)
    });
    let [(one, built), (other, others)] = &made;
    let mut pairs: Vec<(PathBuf, PathBuf)> =
        one.programs().into_iter().zip(other.programs()).collect();
    pairs.push((built.image.clone(), others.image.clone()));
    pairs.push((built.bundle.clone(), others.bundle.clone()));
    for ending in ["cdx.json", "sha256", "sha256.sig", "manifest.json"] {
        pairs.push((
            built.image.with_extension(ending),
            others.image.with_extension(ending),
        ));
    }
    let compared = pairs.iter().map(|(one, other)| {
        let read = |path: &Path| std::fs::read(path).expect("a file");
        let name = one.file_name().unwrap_or_default().to_string_lossy();
        (name.into_owned(), read(one) == read(other))
    });
    compared.collect()
}

/// The last commit.
fn copy(from: &Path, to: &Path) {
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"]).arg(from).arg(to);
    assert!(git.status().expect("git").success());
}
