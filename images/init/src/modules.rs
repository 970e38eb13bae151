//! Kernel modules, which the image names in their order.

use std::fs::File;
use std::path::Path;

use crate::message::grumble;

/// Loads the modules that a list names, one path in a line. One that is there already, or whose
/// device is not, is no failure of the others.
pub(crate) fn load(list: &str) {
    for path in std::fs::read_to_string(list).unwrap_or_default().lines() {
        if !path.is_empty() {
            grumble(path, load_one(Path::new(path)));
        }
    }
}

fn load_one(path: &Path) -> std::io::Result<()> {
    let file = File::open(path)?;
    match rustix::system::finit_module(&file, c"", 0) {
        // There already, or nothing to drive (a watchdog that the board lacks).
        Ok(()) | Err(rustix::io::Errno::EXIST | rustix::io::Errno::NODEV) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
