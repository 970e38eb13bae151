//! Plain publish and subscribe, and requests.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use interop::Server;

use crate::carrier::Carrier;
use crate::conn::Conn;
use crate::measure::{Measure, Sample, latencies, record};

/// Bytes written at once, about: what a client library's buffer holds.
const CHUNK_BYTES: usize = 48 * 1024;
/// How far a publisher may be ahead of its slowest subscriber; keeps every server clear of its slow-consumer limit.
const AHEAD_BYTES: u64 = 8 * 1024 * 1024;
/// Subjects of a load with many of them.
const SUBJECTS: usize = 1000;

/// Who publishes what to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Independent publishers, each on subjects of its own.
    pub lanes: usize,
    /// Subscribers of each publisher; 0 is none.
    pub subscribers: usize,
    /// How they share.
    pub sharing: Sharing,
    /// Whether each message has another subject, all matched by one wildcard.
    pub many_subjects: bool,
    /// Whether each message has a header block.
    pub headers: bool,
    /// Bytes of payload.
    pub payload_bytes: usize,
}

/// How subscribers of one subject share its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Each gets all.
    Each,
    /// One queue group: each message goes to one of them.
    Queue,
}

impl Flow {
    /// One publisher and its subscribers, 128 bytes.
    #[must_use]
    pub const fn to(subscribers: usize) -> Self {
        Self {
            lanes: 1,
            subscribers,
            sharing: Sharing::Each,
            many_subjects: false,
            headers: false,
            payload_bytes: 128,
        }
    }
}

/// One publisher's side of a flow.
struct Lane {
    publisher: Conn,
    readers: Vec<(Conn, Arc<Count>)>,
    chunk: Vec<u8>,
    chunk_messages: u64,
    delivered_bytes: u64,
}

/// What readers got together, in bytes, and what to cut when that is all.
#[derive(Debug, Default)]
struct Count {
    bytes: AtomicU64,
}

/// Runs a flow; counts deliveries (publishes, when nobody subscribes).
///
/// # Panics
/// When the server loses a connection.
#[must_use]
pub fn flow(server: &Server, carrier: &Carrier, flow: Flow, messages: u64) -> Sample {
    flow_between(&[server], carrier, flow, messages)
}

/// The same from the first of some servers to the last.
pub(crate) fn flow_between(
    servers: &[&Server],
    carrier: &Carrier,
    flow: Flow,
    messages: u64,
) -> Sample {
    let each = messages / u64::try_from(flow.lanes).expect("few");
    let lanes: Vec<Lane> = (0..flow.lanes)
        .map(|nth| lane(servers, carrier, flow, nth))
        .collect();
    let measure = Measure::begin(servers);
    std::thread::scope(|scope| {
        for mut lane in lanes {
            let total = each * lane.delivered_bytes;
            let cutters: Vec<TcpStream> =
                lane.readers.iter().map(|(conn, _)| conn.twin()).collect();
            let cutters = Arc::new(cutters);
            let counts: Vec<_> = lane
                .readers
                .iter()
                .map(|(_, count)| Arc::clone(count))
                .collect();
            for (conn, count) in lane.readers.drain(..) {
                let cutters = Arc::clone(&cutters);
                scope.spawn(move || read_all(conn, &count, total, flow.sharing, &cutters));
            }
            scope.spawn(move || publish_all(lane, each, &counts));
        }
    });
    let subscribers = match flow.sharing {
        Sharing::Each => u64::try_from(flow.subscribers).expect("few").max(1),
        Sharing::Queue => 1,
    };
    let lanes = u64::try_from(flow.lanes).expect("few");
    measure.end(servers, each * lanes * subscribers, latencies())
}

fn lane(servers: &[&Server], carrier: &Carrier, flow: Flow, nth: usize) -> Lane {
    let (from, to) = (servers[0], servers[servers.len() - 1]);
    let mut publisher = Conn::open(from, carrier);
    let header: &[u8] = if flow.headers {
        b"NATS/1.0\r\nA-Key: some value\r\n\r\n"
    } else {
        b""
    };
    let shared = Arc::<Count>::default();
    let readers = (0..flow.subscribers).map(|_| {
        let mut conn = Conn::open(to, carrier);
        let queue = if flow.sharing == Sharing::Queue {
            "q "
        } else {
            ""
        };
        let filter = if flow.many_subjects { "*" } else { "000" };
        conn.send(format!("SUB bench.{nth}.{filter} {queue}1\r\n").as_bytes());
        conn.settle();
        if servers.len() > 1 {
            acquaint(&mut publisher, &mut conn);
        }
        let count = match flow.sharing {
            Sharing::Each => Arc::default(),
            Sharing::Queue => Arc::clone(&shared),
        };
        (conn, count)
    });
    let readers: Vec<_> = readers.collect();
    let body = [header, &vec![b'x'; flow.payload_bytes], b"\r\n"].concat();
    let sizes = match header.len() {
        0 => format!("{}\r\n", flow.payload_bytes),
        header => format!("{header} {}\r\n", header + flow.payload_bytes),
    };
    let verb = |plain: &str| {
        if flow.headers {
            format!("H{plain}")
        } else {
            plain.to_owned()
        }
    };
    let frame = |subject: usize| {
        let head = format!("{} bench.{nth}.{subject:03} {sizes}", verb("PUB"));
        [head.as_bytes(), &body].concat()
    };
    let delivered = format!("{} bench.{nth}.000 1 {sizes}", verb("MSG")).len() + body.len();
    let fitting = (CHUNK_BYTES / frame(0).len()).max(1);
    let count = if flow.many_subjects {
        SUBJECTS
    } else {
        fitting
    };
    let frames = (0..count).map(|at| frame(if flow.many_subjects { at } else { 0 }));
    Lane {
        publisher,
        readers,
        chunk: frames.flatten().collect(),
        chunk_messages: u64::try_from(count).expect("small"),
        delivered_bytes: u64::try_from(delivered).expect("small"),
    }
}

/// Waits until what a reader wants is known where the publisher is.
fn acquaint(publisher: &mut Conn, reader: &mut Conn) {
    reader.send(b"SUB acquaint 9\r\n");
    reader.settle();
    let heard = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while reader.message().1 != b"end" {
                heard.store(true, Ordering::Relaxed);
            }
        });
        while !heard.load(Ordering::Relaxed) {
            publisher.send(b"PUB acquaint 2\r\ngo\r\n");
            publisher.settle();
        }
        publisher.send(b"PUB acquaint 3\r\nend\r\n");
        publisher.settle();
    });
    reader.send(b"UNSUB 9\r\n");
    reader.settle();
}

/// Reads until everything is there; the reader that sees the end of a shared count ends the others.
fn read_all(mut conn: Conn, count: &Count, total: u64, sharing: Sharing, cutters: &[TcpStream]) {
    loop {
        let read = u64::try_from(conn.swallow()).expect("a buffer's size");
        let have = count.bytes.fetch_add(read, Ordering::Relaxed) + read;
        if have >= total {
            if sharing == Sharing::Queue {
                for stream in cutters {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
            return;
        }
        assert!(read > 0, "the server has closed");
    }
}

fn publish_all(mut lane: Lane, messages: u64, counts: &[Arc<Count>]) {
    let slowest = || {
        counts
            .iter()
            .map(|count| count.bytes.load(Ordering::Relaxed))
            .min()
    };
    let mut sent = 0;
    while sent < messages {
        while slowest().is_some_and(|bytes| sent * lane.delivered_bytes > bytes + AHEAD_BYTES) {
            std::thread::yield_now();
        }
        let whole = lane.chunk_messages.min(messages - sent);
        let bytes = lane.chunk.len() / usize::try_from(lane.chunk_messages).expect("small");
        let bytes = bytes * usize::try_from(whole).expect("small");
        lane.publisher.send(&lane.chunk[..bytes]);
        sent += whole;
    }
    lane.publisher.settle();
}

/// One client asks, another answers, a window of requests under way, each with an inbox subject of its own.
///
/// # Panics
/// When the server loses a connection.
#[must_use]
pub fn request_reply(server: &Server, carrier: &Carrier, requests: u64, window: usize) -> Sample {
    let mut service = Conn::open(server, carrier);
    service.send(b"SUB svc 1\r\n");
    service.settle();
    let mut client = Conn::open(server, carrier);
    client.send(b"SUB _INBOX.bench.* 1\r\n");
    client.settle();
    let mut latency = latencies();
    let measure = Measure::begin(&[server]);
    std::thread::scope(|scope| {
        scope.spawn(move || answer(service, requests));
        let payload = "x".repeat(128);
        let mut sent = 0;
        let mut under_way = VecDeque::with_capacity(window);
        let mut out = String::new();
        for _ in 0..requests {
            let start = Instant::now();
            out.clear();
            while under_way.len() < window && sent < requests {
                out += &format!("PUB svc _INBOX.bench.{sent:08} 128\r\n{payload}\r\n");
                under_way.push_back(start);
                sent += 1;
            }
            if !out.is_empty() {
                client.send(out.as_bytes());
            }
            client.message();
            record(
                &mut latency,
                under_way.pop_front().expect("one is under way"),
            );
        }
    });
    measure.end(&[server], requests, latency)
}

fn answer(mut service: Conn, requests: u64) {
    let mut out = Vec::new();
    for _ in 0..requests {
        let (reply, _) = service.message();
        out.extend_from_slice(b"PUB ");
        out.extend_from_slice(reply);
        out.extend_from_slice(b" 2\r\nok\r\n");
        if !service.has_message() {
            service.send(&out);
            out.clear();
        }
    }
}
