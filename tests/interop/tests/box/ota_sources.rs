//! Configurations from a web server, and from an object store of any hub.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::jetstream::{self, object_store};
use interop::{Kind, Pki, Server, Setup, free_port, python, wait_for};

use crate::fleet::Fleet;
use crate::ota_hub::{config, hub, in_dir};

const BOUND: Duration = Duration::from_secs(60);
/// As `frond_ota` has it.
const BUNDLE_BYTES_MAX: usize = 512 * 1024;

fn logged(server: &Server, words: &str) {
    server.wait_logged(words, BOUND);
}

/// A web server for a folder, by somebody else.
struct Site {
    process: Child,
    port: u16,
}

const SITE: &str = "
import functools, http.server, ssl, sys
port, folder, cert, key = sys.argv[1:]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
server = http.server.ThreadingHTTPServer(('127.0.0.1', int(port)), handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
";

impl Site {
    fn start(folder: &Path, pki: &Pki) -> Self {
        let port = free_port();
        let mut site = Command::new(python());
        site.args(["-c", SITE, &port.to_string()]).arg(folder);
        site.args([pki.file("web.pem"), pki.file("web.key")]);
        let process = site.stderr(Stdio::null()).spawn().unwrap();
        wait_for("the web server", BOUND, || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Self { process, port }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_web_server_is_asked_and_trusted_for_nothing_but_its_certificate() {
    let pki = Pki::new("web");
    pki.server("web");
    let folder = tempfile::tempdir().unwrap();
    let put = |bytes: &[u8]| {
        let beside = folder.path().join("new");
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(beside, folder.path().join("till-7.frond")).unwrap();
    };
    let fleet = Fleet::new();
    let plain = "listen: \"127.0.0.1:-1\"\n";
    put(&fleet.bundle(1, &format!("{plain}max_payload: 2000000\n")));
    let site = Site::start(folder.path(), &pki);
    let url = format!("https://localhost:{}/{{device}}.frond", site.port);
    let start = |more: &str| {
        let source = format!("source {{ url: \"{url}\", every: \"10s\" {more} }}");
        let own = format!("{plain}{}", fleet.block(&source));
        Server::start(Kind::Leaf, &Setup::config(&own))
    };
    let ca = pki.file("ca.pem").display().to_string();
    let leaf = start(&format!(", ca_file: \"{ca}\""));
    let wary = start("");
    logged(&leaf, "version 1 came from the web server");
    logged(&leaf, "version 1 is confirmed");
    logged(&wary, "the web server brings nothing");
    let log = wary.log();
    assert!(!log.contains("version 1 came"), "{log}");

    put(&vec![b'x'; BUNDLE_BYTES_MAX + 1]);
    logged(&leaf, "it is longer than 524288 bytes");
    put(&fleet.forged(2, plain));
    logged(
        &leaf,
        "a bundle from the web server is refused: the bundle is not signed",
    );
    put(&fleet.bundle(2, plain));
    logged(&leaf, "version 2 is confirmed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_store_of_any_hub_brings_bundles() {
    let fleet = Fleet::new();
    for kind in [Kind::Real, Kind::Hub] {
        let (hub, port) = hub(kind);
        let client = async_nats::connect(hub.url()).await.unwrap();
        let wanted = object_store::Config {
            bucket: "CONFS".to_owned(),
            ..object_store::Config::default()
        };
        let store = jetstream::new(client)
            .create_object_store(wanted)
            .await
            .unwrap();
        let source = "source { objects: CONFS, domain: hub }";
        let own = format!("{}{}", config(port, free_port(), ""), fleet.block(source));
        let leaf = Server::start(Kind::Leaf, &Setup::config(&own));
        // More than one part.
        let padding = format!("# {}\n", "x".repeat(200)).repeat(1500);
        let text = |more: &str| in_dir(&leaf, &config(port, free_port(), more));
        let first = fleet.bundle(1, &text(&padding));
        assert!(first.len() > 2 * 128 * 1024);
        store
            .put("group.shops", &mut first.as_slice())
            .await
            .unwrap();
        logged(&leaf, "version 1 is confirmed");
        let long = vec![b'x'; BUNDLE_BYTES_MAX + 1];
        store
            .put("device.till-7", &mut long.as_slice())
            .await
            .unwrap();
        logged(&leaf, "it has 524289 bytes, 524288 are the most");
        let second = fleet.bundle(2, &text(""));
        store.put("all", &mut second.as_slice()).await.unwrap();
        logged(&leaf, "version 2 is confirmed");
    }
}
