//! A node without sockets: what one message costs the core, to be counted and profiled.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use frond_broker::{Arrival, Conn, Next, PeerAddr, Taken};
use frond_clock::{Instant, Now, Timestamp};
use frond_config::Nothing;
use frond_node::{Input, LinkMakers, Listener, Node, NodeSeed, Output};

const CONNECT: &[u8] = b"CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1,\"name\":\"bench\",\"lang\":\"rust\",\"version\":\"1.0.0\"}\r\nPING\r\n";

/// A node with clients on buffers; what they are sent is counted and forgotten.
#[derive(Debug)]
pub struct InProcess {
    node: Node,
    now: Now,
    next_conn: u64,
    /// Bytes written to all clients.
    written: u64,
    /// Writes to sockets that took.
    writes: u64,
}

impl Default for InProcess {
    fn default() -> Self {
        Self::new()
    }
}

impl InProcess {
    /// A node with the default configuration.
    ///
    /// # Panics
    /// When the default configuration is refused.
    #[must_use]
    pub fn new() -> Self {
        let config = frond_config::load_text("port: 4222\n", "bench.conf", &Nothing)
            .expect("a good configuration")
            .config;
        let seed = NodeSeed {
            random: [7; 32],
            links: LinkMakers {
                solicit: |_, _| Err("no links here".to_owned()),
                accept: None,
                cluster: None,
                gateway: None,
            },
            outboxes_bytes_max: 64 << 20,
            memory_bytes_max: 1 << 30,
            strangers_max: 4096,
            jwts: BTreeMap::new(),
        };
        let now = Now {
            mono: Instant::from_nanos(1),
            wall: Timestamp::from_nanos(1_700_000_000_000_000_000),
        };
        let node = Node::build(now, &config, seed).expect("a good configuration");
        let mut this = Self {
            node,
            now,
            next_conn: 0,
            written: 0,
            writes: 0,
        };
        this.drain();
        this
    }

    /// A client that has greeted.
    pub fn client(&mut self) -> Conn {
        self.next_conn += 1;
        let conn = Conn(self.next_conn);
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let opened = Input::Opened {
            conn,
            listener: Listener::Client,
            arrival: Arrival::plain(PeerAddr { ip, port: 4321 }),
            called: ip,
        };
        self.node.handle(self.now, opened);
        self.drain();
        self.bytes(conn, CONNECT);
        conn
    }

    /// A client says something; gives how many bytes all clients were sent because of it.
    ///
    /// # Panics
    /// When not everything was understood.
    pub fn bytes(&mut self, conn: Conn, bytes: &[u8]) -> u64 {
        let before = self.written;
        let mut taken = Taken {
            consumed: 0,
            next: Next::Never,
        };
        let input = Input::Bytes {
            conn,
            bytes,
            taken: &mut taken,
        };
        self.node.handle(self.now, input);
        self.drain();
        assert_eq!(taken.consumed, bytes.len(), "{taken:?}");
        self.written - before
    }

    /// Writes to sockets so far: each is a system call.
    #[must_use]
    pub const fn writes(&self) -> u64 {
        self.writes
    }

    fn drain(&mut self) {
        while let Some(output) = self.node.poll() {
            if let Output::Flush(conn) = output
                && let Some(outbox) = self.node.outbox(conn)
            {
                let bytes = outbox.len();
                outbox.advance(bytes);
                self.writes += 1;
                self.written += u64::try_from(bytes).unwrap_or(0);
            }
        }
    }
}
