//! Finds GPIO chips and lines by their names.

use std::io;
use std::path::{Path, PathBuf};

use gpiocdev::{Chip, Error};

use crate::roots::Roots;

/// The chip of that name below `/dev`, or of that label: the label stays when the number changes
/// with the kernel.
pub(crate) fn chip_called(roots: &Roots, name: &str) -> Result<PathBuf, String> {
    let path = roots.device(name);
    if path.exists() {
        return Ok(path);
    }
    let what = format!("no GPIO chip is called {name:?}");
    search(roots, &what, |chip| {
        let info = chip.info().ok()?;
        (info.label == name).then(|| chip.path().to_owned())
    })
}

/// The chip and the number of the line of that name.
pub(crate) fn line_called(roots: &Roots, name: &str) -> Result<(PathBuf, u32), String> {
    let what = format!("no line of this machine is called {name:?}");
    search(roots, &what, |chip| {
        let info = chip.find_line_info(name)?;
        Some((chip.path().to_owned(), info.offset))
    })
}

fn search<T>(
    roots: &Roots,
    what: &str,
    mut look: impl FnMut(&Chip) -> Option<T>,
) -> Result<T, String> {
    let mut looked_at = 0;
    let mut closed = None;
    for path in paths(&roots.dev) {
        match Chip::from_path(&path) {
            Ok(chip) => {
                looked_at += 1;
                if let Some(found) = look(&chip) {
                    return Ok(found);
                }
            }
            Err(Error::Os(errno)) if is_denied(errno.0) => closed = closed.or(Some(path)),
            // It went, or is none.
            Err(_) => {}
        }
    }
    Err(nowhere(what, &roots.dev, looked_at, closed.as_deref()))
}

fn paths(dev: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dev).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(b"gpiochip")
        })
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

fn is_denied(errno: i32) -> bool {
    io::Error::from_raw_os_error(errno).kind() == io::ErrorKind::PermissionDenied
}

/// Whoever may not look does not know that there is none.
fn nowhere(what: &str, dev: &Path, looked_at: usize, closed: Option<&Path>) -> String {
    match (closed, looked_at) {
        (Some(path), _) => format!(
            "{what}, as far as can be seen: {} may not be opened (put the service into the group gpio)",
            path.display()
        ),
        (None, 0) => format!("{what}: no GPIO chip is below {}", dev.display()),
        (None, _) => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_chip_no_leave_and_no_such_name_are_three_things() {
        let told = |looked_at, closed: Option<&str>| {
            nowhere("no X", Path::new("/dev"), looked_at, closed.map(Path::new))
        };
        assert_eq!(told(0, None), "no X: no GPIO chip is below /dev");
        assert_eq!(told(2, None), "no X");
        for looked_at in [0, 1] {
            let told = told(looked_at, Some("/dev/gpiochip4"));
            assert!(told.contains("/dev/gpiochip4 may not be opened"), "{told}");
            assert!(told.contains("group gpio"), "{told}");
        }
        assert!(is_denied(13) && is_denied(1) && !is_denied(2));
    }

    #[test]
    fn chips_are_looked_for_where_devices_are() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().to_owned(),
            dev: dir.path().to_owned(),
        };
        let none = format!("no GPIO chip is below {}", dir.path().display());
        for name in ["gpiochip1", "gpiochip0", "gpiomem"] {
            let told = [
                line_called(&roots, "GPIO17").unwrap_err(),
                chip_called(&roots, "pinctrl-rp1").unwrap_err(),
            ];
            assert!(told[0].starts_with("no line of this machine is called \"GPIO17\""));
            assert!(told[1].starts_with("no GPIO chip is called \"pinctrl-rp1\""));
            assert!(told.iter().all(|told| told.ends_with(&none)), "{told:?}");
            // A file of that name is no chip yet.
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let both = ["gpiochip0", "gpiochip1"].map(|name| dir.path().join(name));
        assert_eq!(paths(&roots.dev), both);
        assert_eq!(chip_called(&roots, "gpiochip1").as_ref(), Ok(&both[1]));
    }
}
