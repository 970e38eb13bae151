//! JetStream publishes: each waits for its ack, or a window of them is under way.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use interop::Server;

use crate::carrier::Carrier;
use crate::conn::Conn;
use crate::measure::{Measure, Sample, latencies, record};

const PAYLOAD: [u8; 128] = [b'x'; 128];
/// Under way while a stream is filled.
const FILL_WINDOW: u64 = 1000;

/// Asks the server something and gives the answer.
///
/// # Panics
/// When no answer comes.
pub fn ask(server: &Server, subject: &str, body: &str) -> String {
    let mut conn = Conn::open(server, &Carrier::Plain);
    conn.send(
        format!(
            "SUB _INBOX.ask 1\r\nPUB {subject} _INBOX.ask {}\r\n{body}\r\n",
            body.len()
        )
        .as_bytes(),
    );
    String::from_utf8_lossy(conn.message().1).into_owned()
}

/// Creates the stream the publishes go to, on files.
///
/// # Panics
/// When the server refuses.
pub fn create_stream(server: &Server) {
    let answer = ask(
        server,
        "$JS.API.STREAM.CREATE.BENCH",
        "{\"name\":\"BENCH\",\"subjects\":[\"bench.*\"]}",
    );
    assert!(answer.contains("did_create"), "{answer}");
}

/// Several connections, each with one publish under way at a time, for a while.
///
/// # Panics
/// When a publish is refused.
#[must_use]
pub fn publish_synchronous(server: &Server, connections: usize, time: Duration) -> Sample {
    run(server, connections, 1, time)
}

/// One connection with up to `window` publishes under way, for a while.
///
/// # Panics
/// When a publish is refused.
#[must_use]
pub fn publish_pipelined(server: &Server, window: usize, time: Duration) -> Sample {
    run(server, 1, window, time)
}

/// Publishes so many messages, a window of them under way, each to `subject` or, under `$KV`, to a
/// key of its own.
pub(crate) fn publish_messages(server: &Server, subject: &str, messages: u64) {
    let mut publisher = Publisher::new(server, 0);
    let (mut sent, mut acked, mut out) = (0, 0, Vec::new());
    while acked < messages {
        out.clear();
        while sent < messages && sent < acked + FILL_WINDOW {
            let key = match subject.starts_with("$KV") {
                true => format!(".{sent}"),
                false => String::new(),
            };
            let line = format!("PUB {subject}{key} _INBOX.bench.0 {}\r\n", PAYLOAD.len());
            out.extend_from_slice(&[line.as_bytes(), &PAYLOAD[..], b"\r\n"].concat());
            sent += 1;
        }
        publisher.conn.send(&out);
        loop {
            publisher.acked();
            acked += 1;
            if acked == messages || !publisher.conn.has_message() {
                break;
            }
        }
    }
}

fn run(server: &Server, connections: usize, window: usize, time: Duration) -> Sample {
    let publishers: Vec<Publisher> = (0..connections)
        .map(|nth| Publisher::new(server, nth))
        .collect();
    let measure = Measure::begin(&[server]);
    let until = Instant::now() + time;
    let histograms = std::thread::scope(|scope| {
        let work = publishers
            .into_iter()
            .map(|one| scope.spawn(move || one.run(window, until)));
        let work: Vec<_> = work.collect();
        work.into_iter()
            .map(|thread| thread.join().expect("a publisher"))
            .collect::<Vec<_>>()
    });
    let mut latency = latencies();
    for one in &histograms {
        latency.add(one).expect("histograms of one shape");
    }
    measure.end(&[server], latency.len(), latency)
}

/// A connection with an inbox of its own for its acks.
pub(crate) struct Publisher {
    conn: Conn,
    frame: Vec<u8>,
}

impl Publisher {
    pub(crate) fn new(server: &Server, nth: usize) -> Self {
        let mut conn = Conn::open(server, &Carrier::Plain);
        conn.send(format!("SUB _INBOX.bench.{nth} 1\r\n").as_bytes());
        conn.settle();
        let line = format!("PUB bench.1 _INBOX.bench.{nth} 128\r\n");
        Self {
            conn,
            frame: [line.as_bytes(), &PAYLOAD[..], b"\r\n"].concat(),
        }
    }

    /// Publishes one message and waits for its ack.
    pub(crate) fn one(&mut self) {
        self.conn.send(&self.frame);
        self.acked();
    }

    fn run(mut self, window: usize, until: Instant) -> Histogram<u64> {
        let mut latency = latencies();
        let mut under_way = VecDeque::with_capacity(window);
        let mut out = Vec::new();
        loop {
            let now = Instant::now();
            out.clear();
            while under_way.len() < window && now < until {
                out.extend_from_slice(&self.frame);
                under_way.push_back(now);
            }
            self.conn.send(&out);
            if under_way.is_empty() {
                return latency;
            }
            loop {
                self.acked();
                let sent = under_way.pop_front().expect("an ack for each publish");
                record(&mut latency, sent);
                if under_way.is_empty() || !self.conn.has_message() {
                    break;
                }
            }
        }
    }

    fn acked(&mut self) {
        let (_, payload) = self.conn.message();
        assert!(
            payload.starts_with(b"{\"stream\""),
            "{}",
            String::from_utf8_lossy(payload)
        );
    }
}
