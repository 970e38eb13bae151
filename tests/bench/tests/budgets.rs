//! What the release binary may take: counted, so that it fails, and never timed.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read files"
)]

use std::time::Duration;

use bench::{ask, counted, create_stream, idle_bytes_per_connection, lone_publishes, monitored};
use interop::{Kind, Server, Setup, release_binary, wait_for};

const SETTLE_BOUND: Duration = Duration::from_secs(10);
const BINARY_BYTES_MAX: u64 = 12_600_000;
const IDLE_CORE_RSS_BYTES_MAX: u64 = 4 * 1024 * 1024;
const IDLE_JETSTREAM_RSS_BYTES_MAX: u64 = 4 * 1024 * 1024;
const IDLE_CONNECTIONS: usize = 1000;
const IDLE_CONNECTION_BYTES_MAX: f64 = 4096.0;
const LONE_WRITTEN_BYTES_MAX: f64 = 4_500.0;
const LONE_SYNCS_MAX: f64 = 1.05;
const LONE_MESSAGES: u32 = 200;

fn release_server() -> Server {
    Server::start(
        Kind::Leaf,
        &Setup::jetstream().binary(release_binary("frond")),
    )
}

/// The code of the start is given back a moment after it.
fn settles_under(server: &Server, bytes_max: u64) {
    let what = format!("at most {bytes_max} resident bytes");
    wait_for(&what, SETTLE_BOUND, || {
        (server.usage().rss_bytes <= bytes_max).then_some(())
    });
}

#[test]
fn the_binary_is_small() {
    let size = std::fs::metadata(release_binary("frond"))
        .expect("the binary is there")
        .len();
    assert!(
        size <= BINARY_BYTES_MAX,
        "{size} bytes, {BINARY_BYTES_MAX} are the most"
    );
}

#[test]
fn an_idle_core_is_small() {
    let setup = Setup::core().binary(release_binary("frond"));
    let server = Server::start(Kind::Leaf, &setup);
    settles_under(&server, IDLE_CORE_RSS_BYTES_MAX);
}

#[test]
fn idle_memory_is_small() {
    let server = release_server();
    let info = ask(&server, "$JS.API.INFO", "");
    assert!(
        info.contains("account_info_response"),
        "JetStream is on: {info}"
    );
    settles_under(&server, IDLE_JETSTREAM_RSS_BYTES_MAX);
}

#[test]
fn idle_connections_are_small() {
    let setup = Setup::core().binary(release_binary("frond"));
    let server = Server::start(Kind::Leaf, &setup);
    let each = idle_bytes_per_connection(&server, IDLE_CONNECTIONS);
    assert!(
        each <= IDLE_CONNECTION_BYTES_MAX,
        "{each:.0} bytes resident each, {IDLE_CONNECTION_BYTES_MAX} are the most"
    );
}

/// One sync makes one lone message safe; a checkpoint now and then is all that comes on top.
#[test]
fn a_lone_durable_message_takes_one_sync() {
    let (setup, http) = monitored();
    let server = Server::start(Kind::Leaf, &setup.binary(release_binary("frond")));
    create_stream(&server);
    let (bytes, syncs) = lone_publishes(&server, LONE_MESSAGES, || counted(&http))
        .counted
        .expect("frond counts its syncs");
    assert!(
        syncs <= LONE_SYNCS_MAX,
        "{syncs} syncs, {LONE_SYNCS_MAX} are the most"
    );
    assert!(
        bytes <= LONE_WRITTEN_BYTES_MAX,
        "{bytes:.0} bytes to the journal, {LONE_WRITTEN_BYTES_MAX} are the most"
    );
}
