//! What is left on a data partition, looked at on this machine.

use std::path::Path;
use std::process::Command;

use interop::{Kind, Server, Setup};

use crate::Load;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Acknowledged messages that are gone.
    pub(crate) lost: u64,
    /// The file system had to be mended.
    pub(crate) is_mended: bool,
}

/// Checks the file system as a box does at its start, and starts `frond` on what is in it.
///
/// # Panics
/// When either cannot be done.
pub(crate) async fn look(partition: &Path, acked: u64) -> Found {
    let is_mended = check(partition);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dump = format!("rdump /frond {}", folder.path().display());
    let mut debugfs = Command::new("/sbin/debugfs");
    let output = debugfs.args(["-R", &dump]).arg(partition).output();
    let output = output.expect("e2fsprogs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let store = folder.path().join("frond");
    assert!(store.exists(), "{said}");
    let config = format!(
        "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"{}\" }}\n",
        store.display()
    );
    let server = Server::start(Kind::Leaf, &Setup::config(&config));
    let client = async_nats::connect(server.url()).await.expect("a client");
    Found {
        lost: Load::lost_at(client, acked).await,
        is_mended,
    }
}

/// Whether something had to be mended; playing the journal back is no mending.
fn check(partition: &Path) -> bool {
    let run = |words: &[&str]| {
        let output = Command::new("/sbin/e2fsck")
            .args(words)
            .arg(partition)
            .output();
        let output = output.expect("e2fsprogs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code().unwrap_or(i32::MAX), said)
    };
    let (mended, said) = run(&["-p"]);
    assert!(mended <= 1, "{mended}: {said}");
    // After the journal all of it must be in order.
    let (code, said) = run(&["-f", "-n"]);
    assert_eq!(code, 0, "{said}");
    mended == 1
}
