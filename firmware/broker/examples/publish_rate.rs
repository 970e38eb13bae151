//! How many messages a second one publisher and one subscriber make in this process.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement"
)]

use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use frond_account::Directory;
use frond_broker::{Arrival, Broker, Conn, Limits, Output, PeerAddr, ServerFacts, Setup};
use frond_clock::{Now, Rng};
use frond_wire::ServerInfo;

const MESSAGES: usize = 20_000_000;
const PAYLOAD_BYTES: usize = 128;

fn main() {
    let mut broker = Broker::new(Setup {
        facts: ServerFacts::default(),
        info: ServerInfo::default(),
        limits: Limits::default(),
        directory: Directory::open_to_all(),
        rng: Rng::seeded(1),
    });
    let peer = PeerAddr {
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 1,
    };
    for conn in [Conn(1), Conn(2)] {
        broker.open(Now::default(), conn, Arrival::plain(peer));
        let connect = b"CONNECT {\"verbose\":false,\"pedantic\":false}\r\n";
        broker.bytes(Now::default(), conn, connect);
    }
    broker.bytes(Now::default(), Conn(2), b"SUB orders.new.shop 1\r\n");
    let message = format!(
        "PUB orders.new.shop {PAYLOAD_BYTES}\r\n{}\r\n",
        "x".repeat(PAYLOAD_BYTES)
    );
    let per_read = 64 * 1024 / message.len();
    let read = message.repeat(per_read);
    let start = Instant::now();
    let mut written = 0;
    for _ in 0..MESSAGES / per_read {
        broker.bytes(Now::default(), Conn(1), read.as_bytes());
        while let Some(output) = broker.poll() {
            if let Output::Flush(conn) = output
                && let Some(outbox) = broker.outbox(conn)
            {
                written += outbox.slices().map(<[u8]>::len).sum::<usize>();
                let all = outbox.len();
                outbox.advance(all);
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = MESSAGES as f64 / seconds / 1e6;
    println!("{rate:.2} M messages/s, {written} bytes written");
}
