//! A GET of a small text, for the URL resolver.

use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::limits::JWT_BYTES_MAX;
use crate::line::Line;
use crate::tls::{self, Contexts, Scratch, Tunnel};

/// How a URL with `https` is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secrets<'a> {
    /// Whom to trust, and what to show.
    pub(crate) contexts: &'a Contexts,
    /// Buffers all sessions share.
    pub(crate) scratch: &'a Rc<Scratch>,
}

/// The body that `url` answers with status 200.
///
/// # Errors
/// As nats-server says it: `could not fetch <"url">: why`.
pub(crate) async fn get(url: &str, secrets: Secrets<'_>) -> Result<String, String> {
    let failed = |why: String| format!("could not fetch <{:?}>: {why}", redacted(url));
    match tokio::time::timeout(TIMEOUT, follow(url, secrets)).await {
        Ok(result) => result.map_err(failed),
        Err(_) => Err(failed("timeout".to_owned())),
    }
}

async fn follow(url: &str, secrets: Secrets<'_>) -> Result<String, String> {
    let mut url = url.to_owned();
    for _ in 0..=REDIRECTS_MAX {
        let place = Place::of(&url)?;
        let answer = ask(&place, secrets).await?;
        match answer {
            Answer::Body(text) => return Ok(text),
            Answer::Elsewhere(to) if to.starts_with('/') => {
                url = format!("{}://{}{to}", place.scheme, place.authority);
            }
            Answer::Elsewhere(to) => url = to,
        }
    }
    Err(format!("stopped after {REDIRECTS_MAX} redirects"))
}

async fn ask(place: &Place<'_>, secrets: Secrets<'_>) -> Result<Answer, String> {
    let address = (place.host, place.port);
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| format!("dial tcp {}: {error}", place.authority))?;
    if place.scheme != "https" {
        return exchange(stream, place).await;
    }
    let context = secrets.contexts.resolver()?;
    let (line, mut early) = (Line::plain(stream), Vec::new());
    tls::connect(&line, &context, place.host, secrets.scratch, &mut early)
        .await
        .map_err(|fault| fault.to_string())?;
    exchange(Tunnel::new(line, early), place).await
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    place: &Place<'_>,
) -> Result<Answer, String> {
    // Version 1.0: the answer is not in chunks and ends with the connection.
    let request = format!(
        "GET {} HTTP/1.0\r\nHost: {}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        place.path, place.authority
    );
    let io = |error: std::io::Error| error.to_string();
    stream.write_all(request.as_bytes()).await.map_err(io)?;
    stream.flush().await.map_err(io)?;
    let mut bytes = Vec::new();
    let most = JWT_BYTES_MAX + HEAD_BYTES_MAX;
    stream
        .take(most)
        .read_to_end(&mut bytes)
        .await
        .map_err(io)?;
    read_answer(&bytes)
}

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Body(String),
    Elsewhere(String),
}

fn read_answer(bytes: &[u8]) -> Result<Answer, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Err("unexpected EOF".to_owned()),
        Err(error) => return Err(format!("malformed HTTP response: {error}")),
    };
    let code = response.code.unwrap_or(0);
    match code {
        200 => {
            let body = bytes.get(head..).unwrap_or_default();
            let text = String::from_utf8(body.to_vec());
            text.map(Answer::Body).map_err(|error| error.to_string())
        }
        301 | 302 | 303 | 307 | 308 => {
            let location = response
                .headers
                .iter()
                .find(|header| header.name.eq_ignore_ascii_case("location"))
                .map(|header| String::from_utf8_lossy(header.value).into_owned());
            location
                .map(Answer::Elsewhere)
                .ok_or_else(|| format!("{code} response missing Location header"))
        }
        code => Err(format!("{code} {}", response.reason.unwrap_or_default())),
    }
}

/// The parts of a URL.
pub(crate) struct Place<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) authority: &'a str,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) path: String,
}

impl<'a> Place<'a> {
    pub(crate) fn of(url: &'a str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("missing protocol scheme")?;
        let default = match scheme {
            "http" => 80,
            "https" => 443,
            other => return Err(format!("unsupported protocol scheme {other:?}")),
        };
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (rest, "/".to_owned()),
        };
        let authority = authority.rsplit_once('@').map_or(authority, |(_, it)| it);
        let bare = |host: &'a str| host.trim_start_matches('[').trim_end_matches(']');
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                let port = port.parse().map_err(|_| format!("invalid port {port:?}"))?;
                (bare(host), port)
            }
            Some(_) | None => (bare(authority), default),
        };
        Ok(Self {
            scheme,
            authority,
            host,
            port,
            path,
        })
    }
}

/// The URL without a password.
fn redacted(url: &str) -> String {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let (user, host) = rest.split_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some(format!("{scheme}://{user}:xxxxx@{host}"))
    });
    parts.unwrap_or_else(|| url.to_owned())
}

/// spec: nats-server v2.15.1 server/const.go `DEFAULT_ACCOUNT_FETCH_TIMEOUT`
pub(crate) const TIMEOUT: Duration = Duration::from_millis(1_900);
pub(crate) const REDIRECTS_MAX: usize = 10;
const HEAD_BYTES_MAX: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_its_parts() {
        let parts = |url: &str| {
            Place::of(url).map(|it| {
                (
                    it.host.to_owned(),
                    it.port,
                    it.path,
                    it.authority.to_owned(),
                )
            })
        };
        let want = |host: &str, port, path: &str, authority: &str| {
            Ok((host.to_owned(), port, path.to_owned(), authority.to_owned()))
        };
        assert_eq!(
            parts("http://a/jwt/v1/accounts/AKEY"),
            want("a", 80, "/jwt/v1/accounts/AKEY", "a")
        );
        assert_eq!(parts("http://[::1]:9/"), want("::1", 9, "/", "[::1]:9"));
        assert_eq!(parts("https://u:p@h"), want("h", 443, "/", "h"));
        assert!(parts("ftp://a").is_err() && parts("a").is_err() && parts("http://a:x").is_err());
        assert_eq!(redacted("http://u:p@h/x"), "http://u:xxxxx@h/x");
    }

    #[test]
    fn an_answer_is_a_body_or_another_place() {
        let body = Answer::Body("eyJ".to_owned());
        assert_eq!(read_answer(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\neyJ"), Ok(body));
        let elsewhere = Answer::Elsewhere("/b".to_owned());
        assert_eq!(
            read_answer(b"HTTP/1.0 302 Found\r\nLocation: /b\r\n\r\n"),
            Ok(elsewhere)
        );
        let missing = read_answer(b"HTTP/1.1 404 Not Found\r\n\r\n");
        assert_eq!(missing, Err("404 Not Found".to_owned()));
        assert!(read_answer(b"HTTP/1.1 200").is_err() && read_answer(b"x\r\n\r\n").is_err());
    }
}
