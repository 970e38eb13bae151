//! Configurations that come from elsewhere: tried, confirmed, or taken back without a human.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::process::Command;
use std::time::Duration;

use crate::fleet::Fleet;
use interop::{Ended, Kind, Server, Setup, free_port, http_get, run};

/// The box looks around every ten seconds, and more than once.
const BOUND: Duration = Duration::from_secs(120);

fn logged(server: &Server, words: &str) {
    server.wait_logged(words, BOUND);
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

/// `frond config …` on the box of this server.
fn config(server: &Server, words: &[&str]) -> Ended {
    let mut command = Command::new(Kind::Leaf.binary());
    command.arg("config").args(words);
    run(command.arg("-c").arg(server.dir().join("server.conf")))
}

fn says(server: &Server, words: &[&str], want: &str) {
    let ended = config(server, words);
    assert!(
        ended.text.contains(want),
        "{words:?}: {want:?} is missing: {}",
        ended.text
    );
    assert!(ended.status.success(), "{words:?}: {}", ended.text);
}

const PLAIN: &str = "listen: \"127.0.0.1:-1\"\n";

/// A box with nothing in its own file but how it is changed, and bundles that lie beside it.
struct Still {
    fleet: Fleet,
    server: Server,
}

impl Still {
    fn start() -> Self {
        let fleet = Fleet::new();
        let own = format!("{PLAIN}{}", fleet.block(""));
        let server = Server::start(Kind::Leaf, &Setup::config(&own));
        Self { fleet, server }
    }

    /// A bundle; its path.
    fn put(&self, version: u64, more: &str) -> String {
        let path = self.server.dir().join(format!("{version}.frond"));
        let bundle = self.fleet.bundle(version, &format!("{PLAIN}{more}"));
        std::fs::write(&path, bundle).unwrap();
        path.display().to_string()
    }
}

#[test]
fn people_at_a_box_that_runs_change_it() {
    let it = Still::start();
    let server = &it.server;
    says(server, &["status"], "in force  the box's own file");
    let first = it.put(1, "max_payload: 2000000\n");
    says(server, &["check", &first], "it would be taken here");
    says(
        server,
        &["diff", &first],
        "changes while it runs: max_payload = 2000000 (now 1048576)",
    );
    let forged = server.dir().join("x.frond");
    std::fs::write(&forged, it.fleet.forged(9, PLAIN)).unwrap();
    let forged = config(server, &["check", &forged.display().to_string()]);
    assert!(forged.text.contains("is not signed by"), "{}", forged.text);
    assert_eq!(forged.status.code(), Some(1));
    says(server, &["apply", &first], "version 1 is on trial for 30 s");
    logged(server, "version 1 is confirmed");
    let idle = config(server, &["confirm"]);
    assert!(
        idle.text.contains("there is nothing to confirm"),
        "{}",
        idle.text
    );
    says(
        server,
        &["rescue", "--keep"],
        "version 1 is the rescue configuration",
    );
}

#[test]
fn people_at_a_box_are_answered_also_where_it_starts_anew() {
    let it = Still::start();
    let server = &it.server;
    let on = |version: u64| {
        let monitor = format!("http: \"127.0.0.1:{}\"\n", free_port());
        it.put(version, &monitor)
    };
    for version in 1..=3 {
        let told = format!("version {version} is on trial for 30 s");
        says(server, &["apply", &on(version)], &told);
        let before = format!("version {version} runs on trial");
        logged(server, &before);
        says(
            server,
            &["confirm"],
            &format!("version {version} is confirmed"),
        );
    }
    says(server, &["rescue"], "is on trial for 30 s");
    logged(server, "the box's own file is confirmed");
}

#[test]
fn people_at_a_box_that_does_not_run_change_it_for_its_next_start() {
    let mut it = Still::start();
    let first = it.put(1, "max_payload: 2000000\n");
    says(
        &it.server,
        &["apply", &first],
        "version 1 is on trial for 30 s",
    );
    logged(&it.server, "version 1 is confirmed");
    it.server.terminate();
    says(&it.server, &["status"], "state     not running");
    let next = "it is tried at the next start of frond";
    let second = it.put(2, "max_payload: 3000000\n");
    says(&it.server, &["apply", &second], next);
    it.server.restart();
    logged(&it.server, "version 2 is confirmed");
    says(&it.server, &["history"], "rollback 1  version 1");
    says(&it.server, &["rollback"], "version 1 is on trial");
    logged(&it.server, "version 1 is confirmed");
    says(&it.server, &["--json", "status"], "\"floor\":2");

    // What does not start after all makes way at once, and the process goes on.
    it.server.terminate();
    let port = free_port();
    let third = it.put(3, &format!("http: \"127.0.0.1:{port}\"\n"));
    says(&it.server, &["apply", &third], next);
    let taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    it.server.restart();
    let log = it.server.log();
    let told = "version 3 of the configuration does not start";
    assert!(log.contains(told), "{log}");
    let failed = "failed    version 3: it does not start";
    says(&it.server, &["status"], failed);
    drop(taken);
}
