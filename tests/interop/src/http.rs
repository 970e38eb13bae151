//! One HTTP request, as monitoring tools make them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

const READ_BOUND: Duration = Duration::from_secs(10);

/// Asks for a path; gives the status code and the body.
///
/// # Panics
/// When nobody answers, or not in HTTP.
#[must_use]
pub fn http_get(addr: &str, path: &str) -> (u16, String) {
    let (code, _, body) = http_ask(addr, "GET", path);
    (code, body)
}

/// Asks with any method; gives the status code, the head's lines and the body.
///
/// # Panics
/// When nobody answers, or not in HTTP.
#[must_use]
pub fn http_ask(addr: &str, method: &str, path: &str) -> (u16, String, String) {
    http_say(
        addr,
        &format!("{method} {path} HTTP/1.0\r\nHost: {addr}\r\n\r\n"),
    )
}

/// Says a whole request, whose version is 1.0: that keeps the body in one piece. Gives the status
/// code, the head's lines and the body.
///
/// # Panics
/// When nobody answers, or not in HTTP.
#[must_use]
pub fn http_say(addr: &str, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(addr).expect("somebody listens for HTTP");
    stream
        .set_read_timeout(Some(READ_BOUND))
        .expect("a socket option");
    stream
        .write_all(request.as_bytes())
        .expect("the request is taken");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("an answer in text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let code = head
        .split_whitespace()
        .nth(1)
        .and_then(|code| code.parse().ok());
    (
        code.expect("a status code"),
        head.to_owned(),
        body.to_owned(),
    )
}

/// Asks for a path without holding up others; gives the body.
///
/// # Panics
/// When nobody answers, or not in HTTP.
pub(crate) async fn http_get_soon(addr: &str, path: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let asked = async {
        let mut stream = tokio::net::TcpStream::connect(addr).await?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: {addr}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = tokio::time::timeout(READ_BOUND, asked).await;
    let answer = answer.expect("an answer in time").expect("HTTP");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    body.to_owned()
}
