use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use interop::Kind;
use tempfile::TempDir;

/// A folder whose `nats-server` is the server under test, called by that name.
pub(crate) struct Shim {
    dir: TempDir,
}

impl Shim {
    pub(crate) fn of(kind: Kind) -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        let mut script = String::from("#!/bin/bash\n");
        let binary = kind.binary();
        let binary = binary.canonicalize().expect("the binary is there");
        writeln!(script, "exec -a nats-server '{}' \"$@\"", binary.display()).expect("a string");
        let path = dir.path().join("nats-server");
        std::fs::write(&path, script).expect("a temporary folder can be written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("a script can be made executable");
        Self { dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }
}
