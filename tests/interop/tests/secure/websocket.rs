//! WebSocket clients, byte by byte, with nats-server held to the same text.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use async_nats::Client;
use futures_util::StreamExt as _;
use interop::{Kind, Pki, Server, Setup, free_port, wait_for, wait_for_async};

const BOUND: Duration = Duration::from_secs(20);
const ALL: [Kind; 3] = [Kind::Leaf, Kind::Hub, Kind::Real];
const MIB: u64 = 1024 * 1024;

/// A WebSocket client that does nothing by itself.
struct WebSocket {
    stream: TcpStream,
    /// The answer to its request.
    head: String,
    unread: Vec<u8>,
}

/// A frame: its first byte and its payload.
type Frame = (u8, Vec<u8>);

fn call(port: u16, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn request(path: &str, more: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: frond.example:80\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    )
}

/// The first line of the answer.
fn status(port: u16, request: &str) -> String {
    let mut stream = call(port, request);
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(b"\r\n") && stream.read(&mut byte).unwrap() > 0 {
        all.push(byte[0]);
    }
    String::from_utf8(all).unwrap().trim_end().to_owned()
}

impl WebSocket {
    fn open(port: u16, path: &str, more: &str) -> Self {
        let mut stream = call(port, &request(path, more));
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            assert_eq!(stream.read(&mut byte).unwrap(), 1, "no answer");
            head.push(byte[0]);
        }
        Self {
            stream,
            head: String::from_utf8(head).unwrap(),
            unread: Vec::new(),
        }
    }

    /// One that has read its INFO, compressed or not, and sent a CONNECT.
    fn client(port: u16, more: &str) -> Self {
        let mut client = Self::open(port, "/", more);
        let (first, info) = client.frame().unwrap();
        assert!(first == 0xc2 || info.starts_with(b"INFO {"));
        client.say("CONNECT {\"verbose\":false}\r\nPING\r\n");
        assert_eq!(client.text(), "PONG\r\n");
        client
    }

    fn send(&mut self, first: u8, payload: &[u8]) {
        let mut frame = vec![first];
        match u16::try_from(payload.len()) {
            Ok(short @ ..=125) => frame.push(0x80 | short.to_le_bytes()[0]),
            Ok(medium) => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&medium.to_be_bytes());
            }
            Err(_) => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(payload.len() as u64).to_be_bytes());
            }
        }
        let key = [9, 1, 200, 77];
        frame.extend_from_slice(&key);
        frame.extend(payload.iter().zip(key.iter().cycle()).map(|(b, k)| b ^ k));
        // The server may have closed before it has all of it.
        let _ = self.stream.write_all(&frame);
    }

    fn say(&mut self, text: &str) {
        self.send(0x82, text.as_bytes());
    }

    /// The next frame; `None` at the end.
    fn frame(&mut self) -> Option<Frame> {
        let short = usize::from(self.peek(2)?[1] & 0x7f);
        let (start, len) = match short {
            126 => (
                4,
                usize::from(u16::from_be_bytes(self.peek(4)?[2..4].try_into().unwrap())),
            ),
            127 => {
                let len = u64::from_be_bytes(self.peek(10)?[2..10].try_into().unwrap());
                (10, usize::try_from(len).unwrap())
            }
            short => (2, short),
        };
        let whole = self.peek(start + len)?.to_vec();
        self.unread.drain(..start + len);
        Some((whole[0], whole[start..start + len].to_vec()))
    }

    fn peek(&mut self, needed: usize) -> Option<&[u8]> {
        let mut more = [0; 4096];
        while self.unread.len() < needed {
            match self.stream.read(&mut more) {
                Ok(0) | Err(_) => return None,
                Ok(n) => self.unread.extend_from_slice(&more[..n]),
            }
        }
        self.unread.get(..needed)
    }

    fn text(&mut self) -> String {
        let (first, payload) = self.frame().expect("cut off");
        assert_eq!(first, 0x82, "{payload:?}");
        String::from_utf8(payload).unwrap()
    }

    /// Every frame up to the end.
    fn rest(&mut self) -> Vec<Frame> {
        core::iter::from_fn(|| self.frame()).collect()
    }
}

fn closed(code: u16, words: &str) -> Frame {
    (0x88, [&code.to_be_bytes()[..], words.as_bytes()].concat())
}

/// A server with this in its websocket block, and this beside it; and the port.
fn start(kind: Kind, block: &str, more: &str) -> (Server, u16) {
    let port = free_port();
    let text = format!(
        "listen: \"127.0.0.1:-1\"\n{more}\nwebsocket {{ listen: \"127.0.0.1:{port}\", no_tls: true\n{block} }}\n"
    );
    (Server::start(kind, &Setup::config(&text)), port)
}

#[test]
fn requests_are_answered_as_nats_server_answers_them() {
    for kind in ALL {
        let block = "same_origin: true, headers { X-Shop: \"7\" }, compression: true";
        let (_server, port) = start(kind, block, "");
        let opened = WebSocket::open(
            port,
            "/any/path",
            "Sec-WebSocket-Extensions: permessage-deflate\r\n",
        );
        assert_eq!(
            opened.head,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\nX-Shop: 7\r\n\r\n",
            "{kind:?}"
        );
        let good = request("/", "");
        for (request, answer) in [
            (
                good.replace("GET", "POST"),
                "HTTP/1.1 405 Method Not Allowed",
            ),
            (
                good.replace("Upgrade: websocket", "Upgrade: h2c"),
                "HTTP/1.1 400 Bad Request",
            ),
            (
                good.replace("Version: 13", "Version: 8"),
                "HTTP/1.1 400 Bad Request",
            ),
            (request("/mqtt", ""), "HTTP/1.1 404 Not Found"),
            (
                request("/", "Origin: http://evil\r\n"),
                "HTTP/1.1 403 Forbidden",
            ),
            (
                request("/", "Origin: http://frond.example\r\n"),
                "HTTP/1.1 101 Switching Protocols",
            ),
            (
                good.replace("Host: frond.example:80\r\n", ""),
                "HTTP/1.1 400 Bad Request: missing required Host header",
            ),
            ("what?\r\n\r\n".to_owned(), "HTTP/1.1 400 Bad Request"),
        ] {
            assert_eq!(status(port, &request), answer, "{kind:?} {request}");
        }
    }
}

#[test]
fn messages_go_both_ways_between_websocket_and_tcp() {
    for kind in ALL {
        let (server, port) = start(kind, "", "");
        let mut web = WebSocket::client(port, "");
        web.say("SUB a 1\r\nPING\r\n");
        assert_eq!(web.text(), "PONG\r\n");
        let mut plain = TcpStream::connect(server.addr()).unwrap();
        plain
            .write_all(b"CONNECT {\"verbose\":false}\r\nPUB a 5\r\nhello\r\n")
            .unwrap();
        assert_eq!(web.text(), "MSG a 1 5\r\nhello\r\n", "{kind:?}");
        // In fragments, cut inside of an operation, with a ping between them.
        web.send(0x02, b"PUB a 3\r");
        web.send(0x89, b"are you there");
        web.send(0x80, b"\nabc\r\n");
        let mut got = vec![web.frame().unwrap(), web.frame().unwrap()];
        got.sort();
        let message = (0x82, b"MSG a 1 3\r\nabc\r\n".to_vec());
        assert_eq!(
            got,
            [message, (0x8a, b"are you there".to_vec())],
            "{kind:?}"
        );
        web.send(0x88, &[3, 0xe8, b'b', b'y', b'e']);
        assert_eq!(web.rest(), [closed(1000, "bye")], "{kind:?}");
    }
}

#[test]
fn browsers_get_frames_of_at_most_4096_bytes() {
    for kind in ALL {
        let (_server, port) = start(kind, "", "");
        let mut web = WebSocket::client(port, "User-Agent: Mozilla/5.0 test\r\n");
        web.say(&format!(
            "SUB a 1\r\nPUB a 10000\r\n{}\r\n",
            "x".repeat(10_000)
        ));
        let mut stream = Vec::new();
        while stream.len() < 10_018 {
            let (first, payload) = web.frame().unwrap();
            assert!(first == 0x82 && payload.len() <= 4096, "{kind:?}");
            stream.extend(payload);
        }
        assert!(stream.starts_with(b"MSG a 1 10000\r\nxx"));
    }
}

#[test]
fn the_last_frame_says_why() {
    for kind in ALL {
        let people = "authorization { user: a, password: b, timeout: 2 }";
        let cookies = "user_cookie: who, pass_cookie: word";
        let (mut server, port) = start(kind, cookies, people);
        let mut wrong = WebSocket::open(port, "/", "");
        assert!(wrong.text().contains("\"auth_required\":true"));
        wrong.say("CONNECT {\"user\":\"a\",\"pass\":\"x\"}\r\n");
        let refused = (0x82, b"-ERR 'Authorization Violation'\r\n".to_vec());
        assert_eq!(
            wrong.rest(),
            [refused, closed(1008, "Authentication Failure")]
        );
        let mut silent = WebSocket::open(port, "/", "");
        silent.text();
        let late = (0x82, b"-ERR 'Authentication Timeout'\r\n".to_vec());
        assert_eq!(
            silent.rest(),
            [late, closed(1008, "Authentication Timeout")]
        );
        let mut large = WebSocket::client(port, "Cookie: who=a; word=b\r\n");
        large.say("PUB a 2000000\r\n");
        let much = (0x82, b"-ERR 'Maximum Payload Violation'\r\n".to_vec());
        let words = "Maximum Message Payload Exceeded";
        assert_eq!(large.rest(), [much, closed(1009, words)], "{kind:?}");
        let mut last = WebSocket::client(port, "Cookie: who=a; word=b\r\n");
        server.terminate();
        assert_eq!(last.rest(), [closed(1001, "Server Shutdown")], "{kind:?}");
    }
}

#[test]
fn websocket_clients_may_have_a_password_of_their_own() {
    for kind in ALL {
        let block = "authorization { user: web, password: w }";
        let (server, port) = start(kind, block, "");
        let mut web = WebSocket::open(port, "/", "");
        assert!(web.text().contains("\"auth_required\":true"), "{kind:?}");
        web.say("CONNECT {\"verbose\":true,\"user\":\"web\",\"pass\":\"w\"}\r\n");
        assert_eq!(web.text(), "+OK\r\n", "{kind:?}");
        let mut info = [0; 512];
        let read = TcpStream::connect(server.addr())
            .unwrap()
            .read(&mut info)
            .unwrap();
        assert!(!String::from_utf8_lossy(&info[..read]).contains("auth_required"));
    }
}

/// 64 MiB of zeroes as one deflate stream of about 400 KiB: a header, one literal, then matches
/// of 258 bytes at distance 1, 13 bits each. The first zero already is no operation.
fn bomb() -> Vec<u8> {
    // Fixed Huffman codes: literal 0 is 0b00110000, length 258 is 0b11000101 (no extra bits),
    // distance 1 is 0b00000; all most significant bit first.
    let mut bits = vec![true, true, false];
    let code = |value: u32, len: u32| (0..len).rev().map(move |i| value >> i & 1 == 1);
    bits.extend(code(0b0011_0000, 8));
    for _ in 0..64 * 1024 * 1024 / 258 {
        bits.extend(code(0b1100_0101, 8).chain(code(0, 5)));
    }
    bits.extend(code(0, 7));
    bits.chunks(8)
        .map(|byte| {
            byte.iter()
                .rev()
                .fold(0, |all, bit| all << 1 | u8::from(*bit))
        })
        .collect()
}

#[test]
fn a_bomb_is_not_inflated_and_memory_stays() {
    for kind in [Kind::Leaf, Kind::Hub] {
        let (server, port) = start(kind, "compression: true", "");
        let offer = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
        WebSocket::client(port, offer);
        let before = server.usage().rss_bytes;
        for _ in 0..20 {
            let mut web = WebSocket::client(port, offer);
            web.send(0xc2, &bomb());
            let last = web.rest().pop();
            assert_eq!(last, Some(closed(1002, "Protocol Violation")), "{kind:?}");
        }
        let grown = server.usage().rss_bytes.saturating_sub(before);
        assert!(grown < 8 * MIB, "{kind:?}: {grown} bytes");
        let mut web = WebSocket::client(port, offer);
        web.say("PING\r\n");
        assert_eq!(web.text(), "PONG\r\n");
    }
}

/// A message published at one client comes to the other, small and large.
async fn passes(from: &Client, to: &Client) {
    for size in [1, 70_000, 900_000] {
        let subject = format!("echo.{size}");
        let mut sub = to.subscribe(subject.clone()).await.unwrap();
        to.flush().await.unwrap();
        let got = wait_for_async("the message", BOUND, async || {
            from.publish(subject.clone(), vec![b'x'; size].into())
                .await
                .unwrap();
            let next = tokio::time::timeout(Duration::from_millis(500), sub.next());
            next.await.ok().flatten()
        })
        .await;
        assert!(got.payload == vec![b'x'; size], "{}", got.payload.len());
    }
}

#[tokio::test]
async fn leafs_come_by_websocket() {
    let pki = Pki::new("ca");
    pki.server("server");
    for (below, hub) in [
        (Kind::Real, Kind::Hub),
        (Kind::Leaf, Kind::Real),
        (Kind::Leaf, Kind::Hub),
    ] {
        for (scheme, more) in [
            ("ws", ""),
            ("ws", "ws_compression: true"),
            ("ws", "ws_no_masking: true"),
            ("wss", "ws_compression: true"),
        ] {
            let port = free_port();
            let block = pki.block("server");
            let tls = match scheme {
                "wss" => format!("tls {{ {block} }}"),
                _ => "no_tls: true".to_owned(),
            };
            let text = format!(
                "server_name: centre\nlisten: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:-1\" }}\nwebsocket {{ listen: \"127.0.0.1:{port}\", {tls}, compression: true }}\n"
            );
            let hub_at = Server::start(hub, &Setup::config(&text));
            let tls = if scheme == "wss" {
                format!("tls {{ ca_file: {:?} }}", pki.file("ca.pem"))
            } else {
                String::new()
            };
            let text = format!(
                "server_name: shop\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"{scheme}://127.0.0.1:{port}\"\n{more}\n{tls} }} ] }}\n"
            );
            let leaf = Server::start(below, &Setup::config(&text));
            let below = async_nats::connect(leaf.url()).await.unwrap();
            let above = async_nats::connect(hub_at.url()).await.unwrap();
            passes(&below, &above).await;
            passes(&above, &below).await;
        }
    }
}

#[test]
fn clients_come_by_websocket_over_tls() {
    let pki = Pki::new("ca");
    pki.server("server");
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let port = free_port();
        let block = pki.block("server");
        let text = format!(
            "listen: \"127.0.0.1:-1\"\nwebsocket {{ listen: \"127.0.0.1:{port}\", tls {{ {block} }} }}\n"
        );
        let _server = Server::start(kind, &Setup::config(&text));
        let mut client = std::process::Command::new(interop::python());
        client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/py/wss.py"));
        client.arg(port.to_string()).arg(pki.file("ca.pem"));
        let ended = interop::run(&mut client);
        assert!(ended.status.success(), "{kind:?}: {}", ended.text);
        shown.push(ended.text);
    }
    assert_eq!(shown[1], shown[0]);
    assert!(shown[0].contains("101 Switching Protocols"), "{}", shown[0]);
}

#[test]
fn varz_shows_the_listener() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let http = free_port();
        let more = format!(
            "http: \"127.0.0.1:{http}\"\nauthorization {{ users: [ {{ user: a, password: a }} ] }}"
        );
        let block = "advertise: \"shop.example:443\", same_origin: true, compression: true\n\
            allowed_origins: [ \"http://a.example:80\", \"https://b\" ], handshake_timeout: \"3s\"\n\
            no_auth_user: a, authorization { timeout: 2.5 }";
        let (_server, port) = start(kind, block, &more);
        let (_, body) = interop::http_get(&format!("127.0.0.1:{http}"), "/varz");
        let mut varz: serde_json::Value = serde_json::from_str(&body).unwrap();
        let mut socket = varz["websocket"].take();
        assert_eq!(socket["port"].take(), port, "{kind:?}");
        shown.push(socket);
    }
    assert_eq!(shown[1], shown[0]);
}

#[test]
fn a_leaf_asks_behind_the_path_of_its_url() {
    let mut asked = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let hub = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = hub.local_addr().unwrap().port();
        let text = format!(
            "listen: \"127.0.0.1:-1\"\nleafnodes {{ remotes: [ {{ url: \"ws://127.0.0.1:{port}/a//b/../hub/\" }} ] }}\n"
        );
        let _leaf = Server::start(kind, &Setup::config(&text));
        hub.set_nonblocking(true).unwrap();
        let (stream, _) = wait_for("the leaf to come", BOUND, || hub.accept().ok());
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stream), &mut line).unwrap();
        asked.push(line);
    }
    assert_eq!(asked[1], asked[0]);
    assert_eq!(asked[0].trim(), "GET /a/hub/leafnode HTTP/1.1");
}
