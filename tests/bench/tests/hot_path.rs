//! What the core allocates, counted without sockets: nothing per message, little per idle connection.

#![allow(clippy::expect_used, reason = "tests fail by panicking")]

use std::alloc::System;

use bench::InProcess;
use frond_broker::Conn;
use interop::say;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const BATCHES: usize = 60;
/// Reads after which buffers are as large as they get.
const WARM_UP_BATCHES: usize = 10;
const BATCH: usize = 100;
const CONNECTIONS: usize = 1000;
/// Subjects of a publisher that has several.
const SUBJECTS: usize = 50;
/// What one idle client may hold in the core: its session, its place in the tables, its timers.
const CONNECTION_BYTES_MAX: usize = 1000;

fn counted(run: impl FnOnce()) -> Stats {
    let region = Region::new(COUNTED);
    run();
    region.change()
}

/// A publisher of `frame`s and who subscribes; allocations of many reads, none of them among the first.
fn allocations(subscriptions: &[&str], frame: impl Fn(usize) -> String) -> usize {
    let mut node = InProcess::new();
    let publisher = node.client();
    for line in subscriptions {
        let subscriber = node.client();
        node.bytes(subscriber, line.as_bytes());
    }
    let batches: Vec<String> = (0..BATCHES)
        .map(|batch| (0..BATCH).map(|at| frame(batch * BATCH + at)).collect())
        .collect();
    let publish = |node: &mut InProcess, conn: Conn, batch: &str| {
        assert!(
            node.bytes(conn, batch.as_bytes()) > 0,
            "somebody is sent it"
        );
    };
    let (first, others) = batches.split_at(WARM_UP_BATCHES);
    for batch in first {
        publish(&mut node, publisher, batch);
    }
    let writes = node.writes();
    let stats = counted(|| {
        for batch in others {
            publish(&mut node, publisher, batch);
        }
    });
    let writes = node.writes() - writes;
    let most = (others.len() * subscriptions.len()) as u64;
    assert!(
        writes <= most,
        "one write for each receiver of a read: {writes}, {most} are the most"
    );
    stats.allocations + stats.reallocations
}

fn message(subject: &str, reply: &str) -> String {
    format!("PUB {subject} {reply}128\r\n{}\r\n", "x".repeat(128))
}

/// One test: the counters are the process's, and others would count in.
#[test]
fn what_the_core_allocates() {
    nothing("to a subscriber", &["SUB a.b 1\r\n"], |_| {
        message("a.b", "")
    });
    nothing("to five", &["SUB a.b 1\r\n"; 5], |_| message("a.b", ""));
    nothing("to a queue group", &["SUB a.b q 1\r\n"; 3], |_| {
        message("a.b", "")
    });
    nothing("with headers", &["SUB a.* 1\r\n"], |_| {
        let payload = "x".repeat(128);
        format!("HPUB a.b 22 150\r\nNATS/1.0\r\nKey: val\r\n\r\n{payload}\r\n")
    });
    nothing("to a wildcard", &["SUB a.> 1\r\n"], |at| {
        message(&format!("a.{:03}", at % SUBJECTS), "")
    });
    // Each request has a reply subject of its own, and so has each answer.
    nothing("a request", &["SUB svc 1\r\n"], |at| {
        message("svc", &format!("_INBOX.x.{at:06} "))
    });
    nothing("an answer", &["SUB _INBOX.x.* 1\r\n"], |at| {
        message(&format!("_INBOX.x.{at:06}"), "")
    });
    an_idle_connection_is_small();
}

fn nothing(what: &str, subscriptions: &[&str], frame: impl Fn(usize) -> String) {
    assert_eq!(allocations(subscriptions, frame), 0, "a message {what}");
}

fn an_idle_connection_is_small() {
    let mut node = InProcess::new();
    node.client();
    let stats = counted(|| {
        for _ in 0..CONNECTIONS {
            node.client();
        }
    });
    say(&format!("idle: {stats:?}"));
    let each = (stats.bytes_allocated - stats.bytes_deallocated) / CONNECTIONS;
    assert!(
        each <= CONNECTION_BYTES_MAX,
        "{each} bytes, {CONNECTION_BYTES_MAX} are the most"
    );
}
