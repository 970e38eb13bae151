//! Clients behind a proxy that says for whom it speaks (`proxy_protocol`), at Frond and at nats-server.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read answers"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use interop::{Kind, Server, Setup, free_port, http_get, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);

fn v2(how: u8, what: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend([how, what]);
    bytes.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes
}

/// What comes before `CONNECT`, good and bad.
fn heads() -> Vec<Vec<u8>> {
    let four = [10, 1, 2, 3, 10, 0, 0, 1, 0x10, 0x92, 0x10, 0x7e];
    vec![
        Vec::new(),
        b"PROXY TCP4 10.1.2.3 10.0.0.1 4242 4222\r\n".to_vec(),
        b"PROXY TCP6 fd00::7 fd00::1 9 10\r\n".to_vec(),
        b"PROXY UNKNOWN\r\n".to_vec(),
        v2(0x21, 0x11, &four),
        v2(0x21, 0x11, &[&four[..], b"\x04\0\x01x"].concat()),
        v2(0x20, 0x00, b"junk"),
        b"PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n".to_vec(),
        b"PROXY TCP4 1.1.1.1 2.2.2.2 70000 2\r\n".to_vec(),
        [b"PROXY ".as_slice(), &[b'x'; 120]].concat(),
        v2(0x11, 0x11, &four),
        v2(0x2f, 0x11, &four),
        v2(0x21, 0x31, &[0; 216]),
        v2(0x21, 0x11, b"123"),
        b"PROXX\r\n".to_vec(),
    ]
}

/// The addresses its `INFO`s name, and what else it is told up to `PONG` or the end.
fn greet(addr: &str, head: &[u8], keep: &mut Vec<TcpStream>) -> (Vec<Value>, Vec<String>) {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut greeting = String::new();
    reader.read_line(&mut greeting).unwrap();
    // In two parts, so that a header is also seen before it is whole.
    let (one, other) = head.split_at(head.len() / 2);
    for part in [one, other] {
        let _ = stream.write_all(part);
    }
    let _ = stream.write_all(b"CONNECT {\"verbose\":false,\"protocol\":1}\r\nPING\r\n");
    let (mut infos, mut rest) = (vec![greeting], Vec::new());
    for line in reader.lines().map_while(Result::ok) {
        if line.starts_with("INFO ") {
            infos.push(line);
            break;
        }
        rest.push(line);
    }
    let address = |info: &String| {
        let info: Value = serde_json::from_str(info.split_once(' ').unwrap().1).unwrap();
        info["client_ip"].clone()
    };
    keep.push(stream);
    (infos.iter().map(address).collect(), rest)
}

fn rows(port: u16, path: &str) -> Vec<Value> {
    let (_, body) = http_get(&format!("127.0.0.1:{port}"), path);
    let shown: Value = serde_json::from_str(&body).unwrap();
    shown["connections"].as_array().unwrap().clone()
}

#[test]
fn the_address_a_proxy_tells_is_the_peers() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let port = free_port();
        let text =
            format!("listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{port}\"\nproxy_protocol: true\n");
        let server = Server::start(kind, &Setup::config(&text));
        let mut keep = Vec::new();
        let heads = heads();
        let told: Vec<_> = heads
            .iter()
            .map(|head| greet(server.addr(), head, &mut keep))
            .collect();
        let closed = wait_for("the refused to be gone", BOUND, || {
            let closed = rows(port, "/connz?state=closed");
            (closed.len() == 8).then_some(closed)
        });
        let reasons: Vec<_> = closed.iter().map(|row| row["reason"].clone()).collect();
        let open: Vec<_> = rows(port, "/connz?sort=cid")
            .iter()
            .map(|row| row["ip"].clone())
            .collect();
        let warned = wait_for("seven warnings", BOUND, || {
            let log = server.log();
            let lines = log.lines();
            let warned: Vec<String> = lines
                .filter_map(|line| line.split_once("Error reading PROXY protocol header from "))
                .filter_map(|(_, rest)| Some(rest.split_once(": ")?.1.to_owned()))
                .collect();
            (warned.len() >= 7).then_some(warned)
        });
        shown.push((told, reasons, open, warned));
    }
    assert_eq!(shown[1], shown[0]);
}
