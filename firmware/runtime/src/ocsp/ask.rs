//! One question to a responder over plain HTTP. It waits: never call it on the core's thread.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::fetch::Place;
use crate::limits::{OCSP_ANSWER_BYTES_MAX, OCSP_HEAD_BYTES_MAX};
use crate::options::plain;

/// What was answered, with which status.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// How a question is put.
#[derive(Clone, Copy, Debug)]
pub(super) enum Method<'a> {
    Get,
    /// With the question as its body.
    Post(&'a [u8]),
}

/// Asks `url` within `timeout`.
///
/// # Errors
/// In Go's words, with the method and the URL.
pub(super) fn ask(url: &str, method: Method<'_>, timeout: Duration) -> Result<Answer, String> {
    let name = match method {
        Method::Get => "Get",
        Method::Post(_) => "Post",
    };
    try_ask(url, method, timeout).map_err(|why| format!("{name} {url:?}: {why}"))
}

fn try_ask(url: &str, method: Method<'_>, timeout: Duration) -> Result<Answer, String> {
    let place = Place::of(url)?;
    if place.scheme != "http" {
        return Err(format!("unsupported protocol scheme {:?}", place.scheme));
    }
    let until = Instant::now() + timeout;
    let mut stream = connect(&place, until)?;
    let told = |error: io::Error| {
        let kinds = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
        if kinds.contains(&error.kind()) {
            TOO_LATE.to_owned()
        } else {
            plain(&error)
        }
    };
    let (verb, head, body) = match method {
        Method::Get => ("GET", String::new(), &[][..]),
        Method::Post(body) => {
            let head = format!(
                "Content-Type: application/ocsp-request\r\nAccept: \
                 application/ocsp-response\r\nContent-Length: {}\r\n",
                body.len()
            );
            ("POST", head, body)
        }
    };
    // Version 1.0: the answer is not in chunks and ends with the connection.
    let mut request = format!(
        "{verb} {} HTTP/1.0\r\nHost: {}\r\n{head}Connection: close\r\n\r\n",
        place.path, place.authority
    )
    .into_bytes();
    request.extend_from_slice(body);
    stream.set_write_timeout(Some(left(until)?)).map_err(told)?;
    stream.write_all(&request).map_err(told)?;
    let (mut bytes, mut some) = (Vec::new(), [0; 4096]);
    loop {
        stream.set_read_timeout(Some(left(until)?)).map_err(told)?;
        match stream.read(&mut some).map_err(told)? {
            0 => break,
            count => bytes.extend_from_slice(some.get(..count).unwrap_or_default()),
        }
        if bytes.len() > OCSP_ANSWER_BYTES_MAX + OCSP_HEAD_BYTES_MAX {
            return Err("the answer is too long".to_owned());
        }
        if is_whole(&bytes) {
            break;
        }
    }
    read(&bytes)
}

fn connect(place: &Place<'_>, until: Instant) -> Result<TcpStream, String> {
    let failed = |why: String| format!("dial tcp {}:{}: {why}", place.host, place.port);
    let found = (place.host, place.port).to_socket_addrs();
    let found = found.map_err(|error| failed(format!("lookup: {}", plain(&error))))?;
    let mut last = failed("no such host".to_owned());
    for address in found {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = failed(format!("connect: {}", plain(&error))),
        }
    }
    Err(last)
}

fn left(until: Instant) -> Result<Duration, String> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(TOO_LATE.to_owned())
    } else {
        Ok(left)
    }
}

/// Whether an answer that says how long it is has all of that.
fn is_whole(bytes: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(head)) = response.parse(bytes) else {
        return false;
    };
    let mut headers = response.headers.iter();
    let length = headers.find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length =
        length.and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse().ok());
    length.is_some_and(|length: usize| bytes.len() - head >= length)
}

fn read(bytes: &[u8]) -> Result<Answer, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => Ok(Answer {
            status: response.code.unwrap_or(0),
            body: bytes.get(head..).unwrap_or_default().to_vec(),
        }),
        Ok(httparse::Status::Partial) => Err("unexpected EOF".to_owned()),
        Err(error) => Err(format!("malformed HTTP response: {error}")),
    }
}

const TOO_LATE: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_answer_ends_with_its_length_or_the_connection() {
        assert!(is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\n\r\nab"));
        let answer = read(b"HTTP/1.1 404 No\r\n\r\nab").unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (404, &b"ab"[..]));
        assert!(read(b"HTTP/1.1 200").is_err() && read(b"x\r\n\r\n").is_err());
    }

    #[test]
    fn who_does_not_answer_is_waited_for_no_longer_than_was_said() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let why = ask(&url, Method::Get, Duration::from_millis(50)).map(|_| ());
        assert!(why.unwrap_err().contains("deadline exceeded"));
        let why = ask("https://127.0.0.1:1", Method::Get, Duration::from_secs(1)).map(|_| ());
        assert!(why.unwrap_err().contains("unsupported protocol scheme"));
    }
}
