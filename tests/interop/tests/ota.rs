//! Configurations that come from elsewhere: tried, confirmed, or taken back without a human.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

#[path = "ota/fleet.rs"]
mod fleet;

use std::time::Duration;

use fleet::Fleet;
use interop::{Kind, Server, Setup, free_port, http_get, wait_for};

const BOUND: Duration = Duration::from_secs(20);

fn logged(server: &Server, words: &str) {
    wait_for(words, BOUND, || server.log().contains(words).then_some(()));
}

#[test]
fn a_bundle_from_a_folder_is_tried_and_confirmed() {
    let fleet = Fleet::new();
    let jetstream = "listen: \"127.0.0.1:-1\"\njetstream { store_dir: \"$DIR/js\" }\n";
    let block = fleet.block("source { folder: \"$DIR\" }");
    let server = Server::start(Kind::Leaf, &Setup::config(&format!("{jetstream}{block}")));
    let put = |name: &str, version: u64, more: &str| {
        let text =
            format!("{jetstream}{more}").replace("$DIR", &server.dir().display().to_string());
        let path = server.dir().join(format!("{name}.frond"));
        std::fs::write(path, fleet.bundle(version, &text)).unwrap();
    };
    put("a", 1, "max_payload: 2000000\n");
    logged(&server, "version 1 is confirmed");

    // What only a start can take restarts the process in place.
    let (port, pid) = (free_port(), server.pid());
    put("b", 2, &format!("http: \"127.0.0.1:{port}\"\n"));
    logged(&server, "version 2 is confirmed");
    let (_, varz) = http_get(&format!("127.0.0.1:{port}"), "/varz");
    assert!(varz.contains("\"max_payload\": 1048576"), "{varz}");
    assert_eq!(server.pid(), pid);

    // Nobody listens where somebody does: refused before anything happens.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    put("c", 3, &format!("http: \"{at}\"\n"));
    logged(&server, "monitoring cannot listen on");
    let (_, varz) = http_get(&format!("127.0.0.1:{port}"), "/varz");
    assert!(varz.contains("server_id"), "{varz}");

    // Nor is one taken that nobody signed, or that is older.
    let forged = fleet.forged(4, jetstream);
    std::fs::write(server.dir().join("d.frond"), forged).unwrap();
    logged(
        &server,
        "is not signed by those this box trusts: 0 of 2 keys",
    );
    put("e", 1, "max_payload: 3000000\n");
    logged(&server, "version 1 is not newer than version 2");
}
