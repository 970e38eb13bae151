use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use imager::{configure, disk_of};

use crate::{Guest, Setting, Shelf};

const DISK_MIB: u64 = 768;
/// This machine as the guest sees it.
const HOST: &str = "10.0.2.2";

/// A box that has nothing but the address of its next release: the line breaks in the middle of the
/// first attempt, the second one goes through; how long after the start it is confirmed.
///
/// # Panics
/// When it is not.
#[must_use]
pub fn update_from_web(shelf: &Shelf, image: &Path, bundle: &Path) -> Duration {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    disk_of(image, &at("disk"), DISK_MIB).expect("a disk");
    let content = std::fs::read(bundle).expect("a bundle");
    let port = serve(content);
    let address = format!("http://{HOST}:{port}/next.frondimg\n");
    std::fs::write(at("image.url"), address).expect("a file");
    configure(&at("disk"), &at("image.url")).expect("an address");
    let setting = Setting {
        profile: shelf.profile.clone(),
        disk: at("disk").display().to_string(),
        stick: None,
        is_wired: true,
        clock: None,
    };
    let mut guest = Guest::start(&setting, folder.path());
    guest.wait_to_say("image.url of the first partition is taken", 1);
    let console = guest.wait_to_say("the update from the web ended: status 1", 1);
    assert!(console.contains("version 2"), "{console}");
    assert!(!console.contains("starts next"), "{console}");
    guest.wait_to_say("the update from the web ended: status 0", 1);
    guest.wait_to_say("slot B, version 2", 1);
    guest.wait_to_say("the slot is confirmed", 2);
    guest.age()
}

/// Half of the content to the first who asks, all of it to the others; where.
fn serve(content: Vec<u8>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("its own").port();
    std::thread::spawn(move || {
        let half = content.get(..content.len() / 2).unwrap_or_default();
        for (nth, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { continue };
            let part = if nth == 0 { half } else { &content };
            // Who refuses it hangs up.
            let _ = answer(stream, part, content.len());
        }
    });
    port
}

fn answer(mut stream: TcpStream, part: &[u8], length: usize) -> std::io::Result<()> {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        asked.extend(byte);
    }
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(part)
}
