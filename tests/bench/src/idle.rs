//! What a server weighs while nothing happens.

use std::io::Read as _;
use std::net::TcpStream;

use interop::Server;

use crate::carrier::Carrier;
use crate::conn::Conn;

/// Clients that bring the code of a connection back into memory: a server that has just started
/// holds none of it.
const FIRST_ONES: usize = 64;

/// Bytes of resident memory that each of many idle clients costs.
///
/// # Panics
/// When the server refuses one.
#[must_use]
pub fn idle_bytes_per_connection(server: &Server, connections: usize) -> f64 {
    let first = Conn::open(server, &Carrier::Plain);
    let warm: Vec<TcpStream> = (0..FIRST_ONES).map(|_| quiet(server)).collect();
    let before = server.usage().rss_bytes;
    let held: Vec<TcpStream> = (0..connections).map(|_| quiet(server)).collect();
    let after = server.usage().rss_bytes;
    drop((first, warm, held));
    #[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^52")]
    let each = after.saturating_sub(before) as f64 / connections as f64;
    each
}

/// A client that has greeted, with no buffer on this side.
fn quiet(server: &Server) -> TcpStream {
    use std::io::Write as _;
    let mut stream = TcpStream::connect(server.addr()).expect("the server is there");
    stream
        .write_all(b"CONNECT {\"verbose\":false,\"protocol\":1,\"name\":\"idle\",\"lang\":\"rust\",\"version\":\"1.0\"}\r\nPING\r\n")
        .expect("the server takes what is sent");
    let mut got = Vec::new();
    let mut buffer = [0; 2048];
    while !got.ends_with(b"PONG\r\n") && !got.windows(6).any(|w| w == b"PONG\r\n") {
        let read = stream.read(&mut buffer).expect("the server answers");
        assert!(read > 0, "the server has closed");
        got.extend_from_slice(&buffer[..read]);
    }
    stream
}
