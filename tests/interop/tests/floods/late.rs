//! `write_deadline` and `write_timeout`: the same readers, slow in the same ways, at both servers.

use std::io::Read as _;

use interop::{Kind, Server, Setup, free_port, http_get, wait_for};

use crate::peer::{BOUND, Peer, varz};

const BODY_BYTES: usize = 256 * 1024;
const MESSAGES: usize = 200;
/// Read at once: much less than waits, and enough that the system tells the server of the room.
const SIP_BYTES: usize = 128 * 1024;

/// A reader that was sent far more than sockets hold and has read nothing of it.
struct Slow {
    server: Server,
    monitor: u16,
    reader: Peer,
    producer: Peer,
}

impl Slow {
    fn start(kind: Kind, options: &str) -> Self {
        let monitor = free_port();
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{monitor}\"\nno_fast_producer_stall: true\n\
             write_deadline: \"300ms\"\nping_interval: \"60s\"\n{options}\n"
        );
        let server = Server::start(kind, &Setup::config(&config));
        let (mut reader, mut producer) = (Peer::connect(&server), Peer::connect(&server));
        reader.say("SUB a 1\r\n");
        reader.is_served();
        let message = format!("PUB a {BODY_BYTES}\r\n{}\r\n", "x".repeat(BODY_BYTES));
        for _ in 0..MESSAGES {
            producer.say(&message);
        }
        producer.is_served();
        Self {
            server,
            monitor,
            reader,
            producer,
        }
    }

    /// Reads a little at a time until `until` says so.
    fn read_slowly(&mut self, what: &str, mut until: impl FnMut(&mut Self) -> bool) {
        let mut sink = vec![0; SIP_BYTES];
        wait_for(what, BOUND, || {
            let _ = self.reader.reader.get_mut().read(&mut sink);
            until(self).then_some(())
        });
    }

    /// Why the reader was closed, if it was.
    fn reason(&self) -> Option<String> {
        let addr = format!("127.0.0.1:{}", self.monitor);
        let body = http_get(&addr, "/connz?state=closed").1;
        let connz: serde_json::Value = serde_json::from_str(&body).unwrap();
        let reason = connz["connections"][0]["reason"].as_str();
        reason.map(str::to_owned)
    }
}

const LATE: &str = "Slow Consumer (Write Deadline)";

#[test]
fn who_takes_nothing_is_closed_whatever_the_policy() {
    for kind in [Kind::Leaf, Kind::Real] {
        for options in [
            "",
            "write_timeout: default",
            "write_timeout: close",
            "write_timeout: retry",
        ] {
            let mut slow = Slow::start(kind, options);
            let reason = wait_for("the reader to be closed", BOUND, || slow.reason());
            assert_eq!(reason, LATE, "{} {options}", kind.name());
            assert!(varz(slow.monitor, "slow_consumers") >= 1);
            slow.producer.is_served();
        }
    }
}

#[test]
fn a_slow_client_is_closed_unless_it_is_given_time() {
    for kind in [Kind::Leaf, Kind::Real] {
        for options in ["", "write_timeout: close"] {
            let mut slow = Slow::start(kind, options);
            slow.read_slowly("the reader to be closed", |slow| slow.reason().is_some());
            assert_eq!(slow.reason().unwrap(), LATE, "{} {options}", kind.name());
        }
        let mut slow = Slow::start(kind, "write_timeout: retry");
        slow.read_slowly("the reader to be late three times", |slow| {
            assert_eq!(slow.reason(), None, "{}", kind.name());
            varz(slow.monitor, "slow_consumers") >= 3
        });
        // It gets all of it in the end.
        slow.reader.say("PING\r\n");
        let mut all = Vec::new();
        let mut sink = vec![0; 1 << 20];
        while !all.ends_with(b"PONG\r\n") {
            let read = slow.reader.reader.get_mut().read(&mut sink).unwrap();
            assert!(read > 0, "{} cut it off", kind.name());
            all.extend_from_slice(&sink[..read]);
            let keep = all.len().saturating_sub(16);
            all.drain(..keep);
        }
        let log = slow.server.log();
        assert!(log.contains("WriteDeadline of 300ms exceeded"), "{log}");
    }
}

#[test]
fn the_policy_is_refused_alike_and_kept_over_a_reload() {
    for kind in [Kind::Leaf, Kind::Real] {
        for block in ["write_timeout: later", "leafnodes { write_timeout: later }"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("bad.conf");
            std::fs::write(&path, block).unwrap();
            let run = std::process::Command::new(kind.binary())
                .arg("-t")
                .arg("-c")
                .arg(&path)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            assert!(!run.status.success(), "{}: {said}", kind.name());
            assert!(
                said.contains("write_timeout must be 'default', 'close' or 'retry'"),
                "{}: {said}",
                kind.name()
            );
        }
        let options = |policy: &str| format!("listen: \"127.0.0.1:-1\"\nwrite_timeout: {policy}\n");
        let server = Server::start(kind, &Setup::config(&options("close")));
        server.reload(&options("retry"));
        wait_for("the reload to be refused", BOUND, || {
            let refused = "config reload not supported for WriteTimeout: old=close, new=retry";
            server.log().contains(refused).then_some(())
        });
    }
}
