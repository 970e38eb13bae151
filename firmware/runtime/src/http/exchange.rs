use std::io;
use std::rc::Rc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use frond_monitor::{Page, Seen};

use super::Asker;
use super::entry::{Claims, Denied};
use super::peers::Seat;
use crate::core::Core;
use crate::limits::{
    HTTP_HEAD_BYTES_MAX, HTTP_HEAD_WAIT, HTTP_HEADERS_MAX, HTTP_IDLE_WAIT, HTTP_WRITE_WAIT,
};

/// What carries an exchange: TCP, or TLS over it.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Wire for T {}

/// A document and how to send it.
#[derive(Debug)]
struct Answer {
    status: u16,
    content_type: &'static str,
    /// More lines of its head.
    head: &'static str,
    body: String,
}

/// Anybody's page may read it, as with nats-server.
const FOR_ANYBODY: &str = "Access-Control-Allow-Origin: *\r\n";

/// No other page may read it, hold it or pass for it.
const PRIVATE: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
    Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'\r\n";

/// What proxies add to what they pass on.
const PASSED_ON: [&str; 5] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-real-ip",
    "via",
];

/// Asks for a user and a password.
const WHO_ARE_YOU: &str = "WWW-Authenticate: Basic realm=\"Frond\", charset=\"UTF-8\"\r\n";

/// A request's head.
#[derive(Debug)]
struct Request {
    /// Bytes of it.
    length: usize,
    /// What is asked for.
    target: String,
    method: Method,
    after: After,
    claims: Claims,
}

/// Whether the answer has a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Head,
    /// nats-server answers any method.
    Other,
}

/// What becomes of the connection after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Keep,
    Close,
}

/// Requests and answers on one connection, one after another.
pub(super) async fn converse(
    core: &Rc<Core>,
    seat: &Seat,
    asker: Asker<'_>,
    mut stream: impl Wire,
) -> io::Result<()> {
    let mut head = Vec::with_capacity(1024);
    let mut wait = HTTP_HEAD_WAIT;
    loop {
        if head.is_empty() && timeout(wait, stream.read_buf(&mut head)).await?? == 0 {
            return Ok(());
        }
        let request = timeout(HTTP_HEAD_WAIT, read_request(&mut stream, &mut head)).await??;
        let Some(request) = request else {
            return Ok(());
        };
        seat.moved(core.clock().now().mono);
        head.drain(..request.length);
        let mut answer = document(core, asker, &request).await;
        let load = seat.carry(answer.body.len());
        if load.is_none() {
            answer = Answer::text(503, "503 too many documents wait for slow readers\n");
        }
        send(&mut stream, &answer, request.method, request.after).await?;
        drop((load, answer));
        if request.after == After::Close {
            return stream.shutdown().await;
        }
        wait = HTTP_IDLE_WAIT;
    }
}

/// The next request; `None` when there is none, or none that could be read.
async fn read_request(stream: &mut impl Wire, head: &mut Vec<u8>) -> io::Result<Option<Request>> {
    loop {
        let refused = match parse(head) {
            Ok(Some(request)) => return Ok(Some(request)),
            Ok(None) if head.len() >= HTTP_HEAD_BYTES_MAX => {
                (431, "431 Request Header Fields Too Large")
            }
            Ok(None) => {
                if stream.read_buf(head).await? == 0 {
                    return Ok(None);
                }
                continue;
            }
            Err(_) => (400, "400 Bad Request"),
        };
        let answer = Answer::text(refused.0, refused.1);
        send(stream, &answer, Method::Other, After::Close).await?;
        return Ok(None);
    }
}

fn parse(head: &[u8]) -> Result<Option<Request>, httparse::Error> {
    let mut headers = [httparse::EMPTY_HEADER; HTTP_HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = request.parse(head)? else {
        return Ok(None);
    };
    let says = |name: &str, value: &[u8]| {
        request.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case(name) && header.value.eq_ignore_ascii_case(value)
        })
    };
    let header = |name: &str| {
        let mut headers = request.headers.iter();
        let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| String::from_utf8_lossy(header.value).into_owned())
    };
    // Only these have no body that would have to be read past.
    let is_plain = matches!(request.method, Some("GET" | "HEAD"));
    let keep = match request.version {
        Some(1) => !says("connection", b"close"),
        _ => says("connection", b"keep-alive"),
    };
    Ok(Some(Request {
        length,
        target: request.path.unwrap_or_default().to_owned(),
        claims: Claims {
            host: header("host"),
            authorization: header("authorization"),
            is_passed_on: PASSED_ON.iter().any(|name| header(name).is_some()),
        },
        method: match request.method {
            Some("HEAD") => Method::Head,
            _ => Method::Other,
        },
        after: if keep && is_plain {
            After::Keep
        } else {
            After::Close
        },
    }))
}

impl Answer {
    fn missing() -> Self {
        Self::text(404, "404 page not found\n")
    }

    fn of(page: Page) -> Self {
        Self {
            status: page.status,
            content_type: page.content_type,
            head: "",
            body: page.body,
        }
    }

    fn text(status: u16, text: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            head: "",
            body: text.to_owned(),
        }
    }
}

/// What is at the path that is asked for, for those who may see it.
async fn document(core: &Rc<Core>, asker: Asker<'_>, request: &Request) -> Answer {
    let target = &*request.target;
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    let (is_private, beside) = core.with_node(|node| {
        let view = node.view(core.clock().now());
        let base = &view.config.monitor_base_path;
        let is_private = frond_monitor::is_private(base, path);
        (is_private, asker.beside.finds(base, path))
    });
    if !is_private && beside.is_none() {
        return rendered(core, target, &Seen::All);
    }
    let admitted = asker.door.admit(core, asker.from, &request.claims).await;
    match (admitted, beside) {
        (Ok(seen), Some(path)) => Answer {
            head: PRIVATE,
            ..asker
                .beside
                .page(path, &seen)
                .map_or_else(Answer::missing, Answer::of)
        },
        (Ok(seen), None) => Answer {
            head: PRIVATE,
            ..rendered(core, target, &seen)
        },
        (Err(Denied::NoPasswords), _) => Answer::text(
            403,
            "403 this page is for whoever sits at the box, or for users with a password: \
             there is none\n",
        ),
        (Err(Denied::Unknown), _) => Answer {
            head: WHO_ARE_YOU,
            ..Answer::text(401, "401 this page is for the users of this server\n")
        },
        (Err(Denied::Later), _) => Answer {
            head: "Retry-After: 1\r\n",
            ..Answer::text(
                429,
                "429 a login from there failed a moment ago: ask again\n",
            )
        },
    }
}

fn rendered(core: &Rc<Core>, target: &str, seen: &Seen) -> Answer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let now = core.clock().now();
    let trust = core.clock().trust();
    let page = core.with_node(|node| {
        let view = node.view(now);
        core.meter()
            .borrow_mut()
            .measure(now, trust, path, |process| {
                frond_monitor::render(&view, (path, query), process, seen)
            })
    });
    let Some(page) = page else {
        return Answer::missing();
    };
    if frond_monitor::counted_as(path) == Some("/healthz") && page.status != 200 {
        tracing::warn!("Healthcheck failed: {}", page.body);
    }
    let head = match page.content_type {
        frond_monitor::JSON => FOR_ANYBODY,
        _ => "",
    };
    Answer {
        head,
        ..Answer::of(page)
    }
}

async fn send(
    stream: &mut impl Wire,
    answer: &Answer,
    method: Method,
    after: After,
) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Error",
    };
    let connection = match after {
        After::Keep => "keep-alive",
        After::Close => "close",
    };
    let mut text = format!(
        "HTTP/1.1 {} {reason}\r\n{}Content-Type: {}\r\nContent-Length: {}\r\nConnection: {connection}\r\n\r\n",
        answer.status,
        answer.head,
        answer.content_type,
        answer.body.len()
    );
    if method == Method::Other {
        text.push_str(&answer.body);
    }
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let taken = timeout(HTTP_WRITE_WAIT, stream.write(rest)).await??;
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    timeout(HTTP_WRITE_WAIT, stream.flush()).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_with_any_method_and_keep_the_connection_when_they_may() {
        for (head, target, method, after) in [
            (
                "GET /varz?x=1 HTTP/1.1\r\n\r\n",
                "/varz?x=1",
                Method::Other,
                After::Keep,
            ),
            (
                "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
                "/",
                Method::Head,
                After::Keep,
            ),
            (
                "GET / HTTP/1.1\r\nconnection: Close\r\n\r\n",
                "/",
                Method::Other,
                After::Close,
            ),
            ("GET / HTTP/1.0\r\n\r\n", "/", Method::Other, After::Close),
            (
                "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
                "/",
                Method::Other,
                After::Keep,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
                "/",
                Method::Other,
                After::Close,
            ),
        ] {
            let request = parse(head.as_bytes()).unwrap().unwrap();
            assert_eq!(
                (request.target.as_str(), request.method, request.after),
                (target, method, after),
                "{head}"
            );
        }
        assert!(parse(b"GET / HTTP/1.1\r\nHost").unwrap().is_none());
        assert!(parse(b"NATS\x01\r\n\r\n").is_err());
    }
}
