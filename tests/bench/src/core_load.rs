//! Plain publish and subscribe, and requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use interop::Server;

use crate::conn::Conn;
use crate::measure::{Measure, Sample, latencies, record};

const PAYLOAD: [u8; 128] = [b'x'; 128];
/// Messages written at once.
const CHUNK: u64 = 256;
/// How far the publisher may be ahead of the slowest subscriber; keeps every server clear of its slow-consumer limit.
const AHEAD: u64 = 50_000;

/// One publisher, several subscribers; counts deliveries.
///
/// # Panics
/// When the server loses a connection.
#[must_use]
pub fn fan_out(server: &Server, subscribers: usize, messages: u64) -> Sample {
    let delivered = u64::try_from("MSG bench 1 128\r\n".len() + PAYLOAD.len() + 2).expect("small");
    let counts: Vec<Arc<AtomicU64>> = (0..subscribers).map(|_| Arc::default()).collect();
    let mut readers = Vec::new();
    for count in &counts {
        let mut conn = Conn::open(server.addr());
        conn.send(b"SUB bench 1\r\n");
        conn.settle();
        readers.push((conn, Arc::clone(count)));
    }
    let mut publisher = Conn::open(server.addr());
    let chunk = [b"PUB bench 128\r\n", &PAYLOAD[..], b"\r\n"]
        .concat()
        .repeat(usize::try_from(CHUNK).expect("small"));
    let measure = Measure::begin(server);
    std::thread::scope(|scope| {
        for (mut conn, count) in readers {
            scope.spawn(move || {
                let mut bytes = 0;
                while bytes < messages * delivered {
                    bytes += u64::try_from(conn.swallow()).expect("a buffer's size");
                    count.store(bytes / delivered, Ordering::Relaxed);
                }
            });
        }
        let slowest = || {
            counts
                .iter()
                .map(|count| count.load(Ordering::Relaxed))
                .min()
                .unwrap_or(0)
        };
        let mut sent = 0;
        while sent < messages {
            while sent > slowest() + AHEAD {
                std::thread::yield_now();
            }
            publisher.send(&chunk);
            sent += CHUNK;
        }
    });
    measure.end(
        server,
        messages * u64::try_from(subscribers).expect("few"),
        latencies(),
    )
}

/// One client asks, another answers, one request at a time.
///
/// # Panics
/// When the server loses a connection.
#[must_use]
pub fn request_reply(server: &Server, requests: u64) -> Sample {
    let mut service = Conn::open(server.addr());
    service.send(b"SUB svc 1\r\n");
    service.settle();
    let mut client = Conn::open(server.addr());
    client.send(b"SUB _INBOX.bench.* 1\r\n");
    client.settle();
    let mut latency = latencies();
    let measure = Measure::begin(server);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut out = Vec::new();
            for _ in 0..requests {
                let (reply, _) = service.message();
                out.clear();
                out.extend_from_slice(b"PUB ");
                out.extend_from_slice(reply);
                out.extend_from_slice(b" 2\r\nok\r\n");
                service.send(&out);
            }
        });
        let request = [b"PUB svc _INBOX.bench.1 128\r\n", &PAYLOAD[..], b"\r\n"].concat();
        for _ in 0..requests {
            let start = Instant::now();
            client.send(&request);
            client.message();
            record(&mut latency, start);
        }
    });
    measure.end(server, requests, latency)
}
