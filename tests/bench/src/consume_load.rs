//! JetStream reads: consumers that go through a stream, and keys that are looked up.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use interop::Server;

use crate::carrier::Carrier;
use crate::conn::Conn;
use crate::measure::{Measure, Sample, latencies, record};
use crate::stream_load::{ask, create_stream, publish_messages};

/// Messages one request of a pull consumer asks for.
const PULL_BATCH: u64 = 500;
/// Requests under way, as client libraries keep them.
const PULLS_UNDER_WAY: u64 = 2;
const KEYS: u64 = 10_000;

/// Goes through a stream of `messages` with a durable pull consumer and acks each.
///
/// # Panics
/// When the server refuses.
#[must_use]
pub fn consume_pull(server: &Server, messages: u64) -> Sample {
    create_stream(server);
    publish_messages(server, "bench.1", messages);
    create_consumer(
        server,
        "\"durable_name\":\"C\",\"ack_policy\":\"explicit\",\"deliver_policy\":\"all\"",
    );
    let mut conn = Conn::open(server, &Carrier::Plain);
    conn.send(b"SUB _INBOX.pull 1\r\n");
    conn.settle();
    let measure = Measure::begin(&[server]);
    let body = format!("{{\"batch\":{PULL_BATCH},\"expires\":30000000000}}");
    let pull = format!(
        "PUB $JS.API.CONSUMER.MSG.NEXT.BENCH.C _INBOX.pull {}\r\n{body}\r\n",
        body.len()
    );
    let mut out = Vec::new();
    let (mut asked, mut taken) = (0, 0);
    while taken < messages {
        while asked < messages && asked < taken + PULLS_UNDER_WAY * PULL_BATCH {
            out.extend_from_slice(pull.as_bytes());
            asked += PULL_BATCH;
        }
        conn.send(&out);
        out.clear();
        loop {
            let (reply, _) = conn.message();
            assert!(reply.starts_with(b"$JS.ACK"), "a message of the stream");
            ack(&mut out, reply);
            taken += 1;
            if taken == messages || !conn.has_message() {
                break;
            }
        }
    }
    conn.send(&out);
    conn.settle();
    measure.end(&[server], messages, latencies())
}

/// Goes through a stream of `messages` with an ordered consumer: pushed, under flow control, and
/// nothing is acked.
///
/// # Panics
/// When the server refuses.
#[must_use]
pub fn consume_ordered(server: &Server, messages: u64) -> Sample {
    create_stream(server);
    publish_messages(server, "bench.1", messages);
    let mut conn = Conn::open(server, &Carrier::Plain);
    conn.send(b"SUB _INBOX.ordered 1\r\n");
    conn.settle();
    let measure = Measure::begin(&[server]);
    create_consumer(
        server,
        "\"name\":\"C\",\"deliver_subject\":\"_INBOX.ordered\",\"ack_policy\":\"none\",\"max_deliver\":1,\
         \"flow_control\":true,\"idle_heartbeat\":5000000000,\"mem_storage\":true,\"num_replicas\":1,\
         \"deliver_policy\":\"all\",\"inactive_threshold\":300000000000",
    );
    let mut taken = 0;
    while taken < messages {
        let (reply, _) = conn.message();
        if reply.starts_with(b"$JS.ACK") {
            taken += 1;
        } else if !reply.is_empty() {
            let mut answer = b"PUB ".to_vec();
            answer.extend_from_slice(reply);
            answer.extend_from_slice(b" 0\r\n\r\n");
            conn.send(&answer);
        }
    }
    measure.end(&[server], messages, latencies())
}

/// Looks keys of a bucket up, with up to `window` questions under way, for a while.
///
/// # Panics
/// When the server refuses.
#[must_use]
pub fn get_keys(server: &Server, window: usize, time: Duration) -> Sample {
    let answer = ask(
        server,
        "$JS.API.STREAM.CREATE.KV_B",
        "{\"name\":\"KV_B\",\"subjects\":[\"$KV.B.>\"],\"max_msgs_per_subject\":1,\"allow_direct\":true}",
    );
    assert!(answer.contains("did_create"), "{answer}");
    publish_messages(server, "$KV.B", KEYS);
    let mut conn = Conn::open(server, &Carrier::Plain);
    conn.send(b"SUB _INBOX.kv 1\r\n");
    conn.settle();
    let measure = Measure::begin(&[server]);
    let until = Instant::now() + time;
    let (mut latency, mut under_way, mut out) = (latencies(), VecDeque::new(), Vec::new());
    let mut key = 0;
    loop {
        let now = Instant::now();
        while under_way.len() < window && now < until {
            // Far apart, so that neighbours do not help each other.
            key = (key + 7919) % KEYS;
            let frame = format!("PUB $JS.API.DIRECT.GET.KV_B.$KV.B.{key} _INBOX.kv 0\r\n\r\n");
            out.extend_from_slice(frame.as_bytes());
            under_way.push_back(now);
        }
        conn.send(&out);
        out.clear();
        if under_way.is_empty() {
            return measure.end(&[server], latency.len(), latency);
        }
        loop {
            let (_, answer) = conn.message();
            assert!(answer.ends_with(b"xxxx"), "a value of the bucket");
            let sent = under_way.pop_front().expect("an answer for each question");
            record(&mut latency, sent);
            if under_way.is_empty() || !conn.has_message() {
                break;
            }
        }
    }
}

fn create_consumer(server: &Server, config: &str) {
    let body = format!("{{\"stream_name\":\"BENCH\",\"config\":{{{config}}}}}");
    let answer = ask(server, "$JS.API.CONSUMER.CREATE.BENCH.C", &body);
    assert!(answer.contains("\"config\""), "{answer}");
}

fn ack(out: &mut Vec<u8>, reply: &[u8]) {
    out.extend_from_slice(b"PUB ");
    out.extend_from_slice(reply);
    out.extend_from_slice(b" 4\r\n+ACK\r\n");
}
