//! Many leafnodes of one hub, all in this process.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use interop::{Kind, Server, Setup, free_port};

use crate::floods::raise_open_files;

/// Leafnodes that come before anything is measured.
const FIRST_ONES: usize = 64;
/// Threads that dial at once.
const DIALERS: usize = 8;
const READ_BOUND: Duration = Duration::from_secs(60);

/// What a herd costs its hub.
#[derive(Clone, Copy, Debug)]
pub struct Herd {
    /// Resident bytes of each, when nothing happens.
    pub idle_bytes: f64,
    /// From the first dial to the last greeting, when all come again at once.
    pub back_after: Duration,
    /// Processor time of the hub for that.
    pub back_cpu_s: f64,
    /// Those that were not let in again at the first attempt.
    pub refused: usize,
}

/// So many leafnodes come, rest, lose their lines and come again all at once.
///
/// # Panics
/// When the hub refuses one at rest.
#[must_use]
pub fn herd(kind: Kind, leafs: usize) -> Herd {
    raise_open_files();
    let port = free_port();
    let config = format!(
        "listen: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{port}\", isolate_leafnode_interest: true }}"
    );
    let hub = Server::start(kind, &Setup::config(&config));
    let come = |leaf: usize| attach(port, leaf).expect("the hub lets it in");
    let warm: Vec<_> = (0..FIRST_ONES).map(|nth| come(leafs + nth)).collect();
    let before = hub.usage().rss_bytes;
    let lines: Vec<_> = (0..leafs).map(come).collect();
    let after = hub.usage().rss_bytes;
    drop((lines, warm));
    let (cpu_before, start) = (hub.usage().cpu_s, Instant::now());
    let back: Vec<Option<TcpStream>> = std::thread::scope(|scope| {
        let dialers: Vec<_> = (0..DIALERS)
            .map(|nth| {
                scope.spawn(move || {
                    let own = (nth..leafs).step_by(DIALERS);
                    own.map(|leaf| attach(port, leaf)).collect::<Vec<_>>()
                })
            })
            .collect();
        let back = dialers.into_iter().map(|one| one.join().expect("a dialer"));
        back.flatten().collect()
    });
    #[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^52")]
    let idle_bytes = after.saturating_sub(before) as f64 / leafs as f64;
    Herd {
        idle_bytes,
        back_after: start.elapsed(),
        back_cpu_s: hub.usage().cpu_s - cpu_before,
        refused: back.iter().filter(|one| one.is_none()).count(),
    }
}

/// A leafnode that says who it is and what it wants, and has heard that it is in.
fn attach(port: u16, leaf: usize) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(READ_BOUND)).ok()?;
    until(&mut stream, b"\r\n")?;
    let hello = format!(
        "CONNECT {{\"server_id\":\"NLEAF{leaf:06}\",\"name\":\"leaf-{leaf}\",\"cluster\":\"leaf-{leaf}\",\
         \"headers\":true,\"protocol\":1,\"version\":\"2.15.1\"}}\r\n\
         LS+ $LDS.leaf{leaf}\r\nLS+ shop.{leaf}.>\r\nPING\r\n"
    );
    stream.write_all(hello.as_bytes()).ok()?;
    until(&mut stream, b"PONG\r\n")?;
    Some(stream)
}

/// Reads until these bytes came; nothing when the line ends or it was refused.
fn until(stream: &mut TcpStream, words: &[u8]) -> Option<()> {
    let mut got = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        got.extend_from_slice(&buffer[..read]);
        if got.windows(5).any(|found| found == b"-ERR ") {
            return None;
        }
        if got.windows(words.len()).any(|found| found == words) {
            return Some(());
        }
    }
}
