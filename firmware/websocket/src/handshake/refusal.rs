use std::borrow::Cow;

/// An HTTP answer to a request that doesn't become a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The number.
    pub status: u16,
    /// What to log: nats-server's words.
    pub reason: Cow<'static, str>,
    shape: Shape,
}

/// Who refuses, in nats-server: the handshake or Go's HTTP server before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Handshake,
    Http(&'static str),
}

impl Refusal {
    /// The bytes are no HTTP.
    pub const NOT_HTTP: Self = Self::http(400, "400 Bad Request");
    /// There is no `Host`, which HTTP/1.1 wants.
    pub const NO_HOST: Self = Self::http(400, "400 Bad Request: missing required Host header");
    /// The head doesn't end.
    pub const TOO_LARGE: Self = Self::http(431, "431 Request Header Fields Too Large");

    const fn http(status: u16, body: &'static str) -> Self {
        Self {
            status,
            reason: Cow::Borrowed(body),
            shape: Shape::Http(body),
        }
    }

    /// Refused by the rules of the handshake.
    #[must_use]
    pub fn new(status: u16, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            reason: reason.into(),
            shape: Shape::Handshake,
        }
    }

    /// What to log about it; `None` where nats-server says nothing.
    #[must_use]
    pub fn line(&self, peer: &str) -> Option<String> {
        match self.shape {
            Shape::Handshake => Some(format!(
                "{peer} - websocket handshake error: {}",
                self.reason
            )),
            Shape::Http(_) => None,
        }
    }

    /// The whole answer; the connection ends after it.
    #[must_use]
    pub fn answer(&self) -> Vec<u8> {
        let words = words(self.status);
        let status = self.status;
        let text = match self.shape {
            Shape::Handshake => format!(
                "HTTP/1.1 {status} {words}\r\nContent-Type: text/plain; charset=utf-8\r\nSec-Websocket-Version: 13\r\nX-Content-Type-Options: nosniff\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{words}\n",
                words.len() + 1
            ),
            // Go puts all of it into the first line.
            Shape::Http(body) => format!(
                "HTTP/1.1 {body}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n{body}"
            ),
        };
        text.into_bytes()
    }
}

/// spec: RFC 9110 15.
const fn words(status: u16) -> &'static str {
    match status {
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Bad Request",
    }
}
