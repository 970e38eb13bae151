use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use imager::{configure, disk_of};
use serde_json::Value;

use crate::{Guest, Setting, Shelf};

/// Lines of the one GPIO chip that QEMU's `virt` has. QEMU pulls the fourth when somebody presses
/// its power button.
const CONFIG: &str = r#"
listen: "0.0.0.0:4222"
http: "127.0.0.1:8222"
jetstream { store_dir: /data/frond }
appliance {
  board: qemu-aarch64
  outputs: [ { name: bell, line: "gpiochip0:1", subject: cmd.bell, safe: off } ]
  inputs: [ { name: key, line: "gpiochip0:3", subject: door.key } ]
}
"#;
const DISK_MIB: u64 = 512;
const PATIENCE: Duration = Duration::from_secs(60);

/// Switches a line of the guest's GPIO chip, and has QEMU pull another: what the box said of both.
///
/// # Panics
/// When it says nothing, or something else.
pub async fn devices(shelf: &Shelf, image: &Path) -> [Value; 2] {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    disk_of(image, &at("disk"), DISK_MIB).expect("a disk");
    std::fs::write(at("frond.conf"), CONFIG).expect("a file");
    configure(&at("disk"), &at("frond.conf")).expect("a configuration");
    let setting = Setting {
        profile: shelf.profile.clone(),
        disk: at("disk").display().to_string(),
        stick: None,
        is_wired: true,
        clock: None,
    };
    let mut guest = Guest::start(&setting, folder.path());
    let console = guest.wait_to_say("frond serves", 1);
    assert!(
        console.contains("frond may use /dev/gpiochip0"),
        "{console}"
    );
    assert!(console.contains("the watchdog bites after"), "{console}");
    let client = guest.client().await;
    let asked = client.request("cmd.bell", "on".into());
    let bell = tokio::time::timeout(PATIENCE, asked).await;
    let bell = bell.expect("in time").expect("an answer");
    let mut keys = client.subscribe("door.key").await.expect("a line up");
    client.flush().await.expect("a line up");
    let mut monitor = UnixStream::connect(guest.monitor()).expect("QEMU's monitor");
    monitor.write_all(b"system_powerdown\n").expect("QEMU");
    let key = tokio::time::timeout(PATIENCE, keys.next()).await;
    let key = key.expect("in time").expect("a message");
    [bell.payload, key.payload].map(|it| serde_json::from_slice(&it).expect("JSON"))
}
