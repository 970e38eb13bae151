//! Configurations that come over the line to a hub, Frond's or a stock nats-server, and those that
//! are taken back because they cut it, or lock users out.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests fail by panicking, write files, and print what took how long"
)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::fleet::Fleet;
use async_nats::ConnectOptions;
use interop::{Browser, Ended, Kind, Server, Setup, free_port, http_get, run, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(30);
const WINDOW: Duration = Duration::from_secs(30);
pub(crate) const SOURCE: &str =
    "source { bucket: FROND_CONFIG, domain: hub, registry: FROND_FLEET }";

fn logged(server: &Server, words: &str) {
    server.wait_logged(words, BOUND);
}

pub(crate) fn hub(kind: Kind) -> (Server, u16) {
    let port = free_port();
    let config = format!(
        "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"$DIR/js\", domain: hub }}\n\
         leafnodes {{ listen: \"127.0.0.1:{port}\" }}\n"
    );
    (Server::start(kind, &Setup::config(&config)), port)
}

/// What a box has, but for the way its configuration is changed.
pub(crate) fn config(hub: u16, http: u16, more: &str) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{http}\"\n\
         jetstream {{ store_dir: \"$DIR/js\", domain: shop }}\n\
         leafnodes {{ reconnect: \"1s\", remotes: [ {{ url: \"nats-leaf://127.0.0.1:{hub}\" }} ] }}\n{more}\n"
    )
}

/// Without data of its own.
fn plain(hub: u16, more: &str) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: \"1s\", remotes: [ {{ url: \
         \"nats-leaf://127.0.0.1:{hub}\" }} ] }}\n{more}\n"
    )
}

pub(crate) fn in_dir(server: &Server, text: &str) -> String {
    text.replace("$DIR", &server.dir().display().to_string())
}

fn fleet_says(words: &[&str], hub: &Server, bundle: &Path) -> Ended {
    let mut command = Command::new(Kind::Hub.binary());
    command.arg("fleet").args(words).arg(bundle);
    run(command.args(["--server", &hub.url()]))
}

pub(crate) fn publish(fleet: &Fleet, hub: &Server, version: u64, text: &str) {
    let bundle = hub.dir().join(format!("{version}.frond"));
    std::fs::write(&bundle, fleet.bundle(version, text)).unwrap();
    let ended = fleet_says(&["publish"], hub, &bundle);
    assert!(ended.status.success(), "{}", ended.text);
    assert!(
        ended.text.contains("is published at group.shops"),
        "{}",
        ended.text
    );
}

#[test]
fn what_any_hub_publishes_is_live_within_a_second() {
    let fleet = Fleet::new();
    for kind in [Kind::Real, Kind::Hub] {
        let (hub, port) = hub(kind);
        let http = free_port();
        let own = format!("{}{}", config(port, http, ""), fleet.block(SOURCE));
        let leaf = Server::start(Kind::Leaf, &Setup::config(&own));
        let text = |more: &str| in_dir(&leaf, &config(port, http, more));
        publish(&fleet, &hub, 1, &text("max_payload: 2000000"));
        logged(&leaf, "version 1 is confirmed");

        let start = Instant::now();
        publish(&fleet, &hub, 2, &text("max_payload: 3000000"));
        wait_for("the second one to be live", Duration::from_secs(1), || {
            let (_, varz) = http_get(&format!("127.0.0.1:{http}"), "/varz");
            varz.contains("\"max_payload\": 3000000").then_some(())
        });
        println!("{}: live after {:?}", kind.name(), start.elapsed());
        logged(&leaf, "version 2 is confirmed");

        let listed = wait_for("the hub to know", BOUND, || {
            let mut command = Command::new(Kind::Hub.binary());
            let ended = run(command.args(["fleet", "list", "--server", &hub.url()]));
            let knows = ended.text.contains("version 2") && ended.text.contains("idle");
            knows.then_some(ended.text)
        });
        assert!(listed.contains("till-7"), "{listed}");
        publish(&fleet, &hub, 1, &text("max_payload: 4000000"));
        logged(&leaf, "version 1 is not newer than version 2");
    }
}

/// Waits until the status page says this.
fn shown(http: &str, condition: &str, code: &str) {
    wait_for(condition, BOUND, || {
        let (_, body) = http_get(http, "/status.json");
        let status: Value = serde_json::from_str(&body).ok()?;
        let findings = status["findings"].as_array()?;
        let is_told = findings.iter().any(|it| it["code"] == code);
        (is_told && status["condition"] == condition).then_some(())
    });
}

/// Boxes that a bad configuration is meant for, and a client of each that is let in before.
struct Victims {
    hub: Server,
    port: u16,
    boxes: Vec<(Server, u16)>,
    clients: Vec<async_nats::Client>,
}

/// Each cannot be well with what it is told, for another reason.
const NAMES: [&str; 3] = ["cut-off", "locked-out", "blind"];

fn users(names: &[&str]) -> String {
    let users = names
        .iter()
        .map(|name| format!("{{ user: {name}, password: {name} }}"));
    let users = users.collect::<Vec<_>>().join(", ");
    format!("authorization {{ users: [ {users} ] }}")
}

impl Victims {
    async fn start(fleet: &Fleet) -> Self {
        let (hub, port) = hub(Kind::Real);
        let boxes = NAMES.map(|name| {
            let http = free_port();
            let source = format!("user: keeper, password: keeper, {SOURCE}");
            let block = fleet.block(&source).replace("till-7", name);
            let both = users(&["keeper", "till"]);
            let own = format!("{}{block}", config(port, http, &both));
            (Server::start(Kind::Leaf, &Setup::config(&own)), http)
        });
        let mut clients = Vec::new();
        for (leaf, _) in &boxes {
            let options = ConnectOptions::with_user_and_password("till".into(), "till".into());
            clients.push(options.connect(leaf.url()).await.unwrap());
            logged(leaf, "attached account");
        }
        Self {
            hub,
            port,
            boxes: boxes.into(),
            clients,
        }
    }

    /// Tells each what it cannot be well with.
    fn harm(&self, fleet: &Fleet) {
        let [cut_off, locked_out, blind] = [0, 1, 2].map(|at: usize| self.boxes[at].1);
        let bad = [
            config(free_port(), cut_off, &users(&["keeper", "till"])),
            config(self.port, locked_out, &users(&["keeper"])),
            config(self.port, blind, &users(&["till"])),
        ];
        for (((leaf, _), name), text) in self.boxes.iter().zip(NAMES).zip(&bad) {
            let bundle = self.hub.dir().join(format!("{name}.frond"));
            let sealed = fleet.bundle_for(name, 1, &in_dir(leaf, text));
            std::fs::write(&bundle, sealed).unwrap();
            let ended = fleet_says(&["publish"], &self.hub, &bundle);
            assert!(ended.status.success(), "{}", ended.text);
        }
        for (leaf, _) in &self.boxes {
            logged(leaf, "runs on trial");
        }
    }

    /// Waits until all are as they were, and have said why.
    fn are_back(&self, begun: Instant, bound: Duration) {
        let why = [
            "uplink: none of 1",
            "clients: 0 of 1 users",
            "probe: the box cannot log in",
        ];
        for ((leaf, _), why) in self.boxes.iter().zip(why) {
            let left = bound.saturating_sub(begun.elapsed());
            wait_for("the box to go back", left, || {
                leaf.log()
                    .contains("the box's own file is in force again")
                    .then_some(())
            });
            let log = leaf.log();
            assert!(log.contains("is given up: not confirmed in time"), "{log}");
            assert!(log.contains(why), "{why:?} is missing:\n{log}");
            assert!(!log.contains("version 1 is confirmed"), "{log}");
        }
        println!("back after {:?}", begun.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cuts_the_line_or_locks_users_out_goes_back_by_itself() {
    let fleet = Fleet::new();
    let victims = Victims::start(&fleet).await;
    victims.harm(&fleet);
    let (begun, bound) = (Instant::now(), WINDOW + Duration::from_secs(10));
    let page = format!("127.0.0.1:{}", victims.boxes[0].1);
    shown(&page, "updating", "configuration_trying");
    let url = format!("http://{page}/status");
    let pictures = |name: &str| {
        Browser::default().picture(&url, (1100, 1400), &format!("{name}-desk"));
        Browser::default().picture(&url, (390, 1600), &format!("{name}-phone"));
    };
    pictures("status-updating");
    victims.are_back(begun, bound);
    shown(&page, "degraded", "configuration_rolled_back");
    pictures("status-rolled-back");
    for client in &victims.clients {
        interop::wait_for_async("the client to be there again", BOUND, async || {
            client.flush().await.ok()
        })
        .await;
    }
}

#[test]
fn a_rollout_goes_in_waves_and_stops_when_a_box_fails() {
    let fleet = Fleet::new();
    let (hub, port) = hub(Kind::Hub);
    let nothing = hub.dir().join("0.frond");
    std::fs::write(&nothing, fleet.bundle_for("nobody", 1, "")).unwrap();
    assert!(fleet_says(&["publish"], &hub, &nothing).status.success());
    let boxes: Vec<_> = (0..4)
        .map(|at| {
            let block = fleet.block(SOURCE).replace("till-7", &format!("till-{at}"));
            let own = plain(port, "");
            Server::start(Kind::Leaf, &Setup::config(&format!("{own}{block}")))
        })
        .collect();
    wait_for("all boxes to be known", BOUND, || {
        let mut command = Command::new(Kind::Hub.binary());
        let listed = run(command.args(["fleet", "list", "--server", &hub.url()])).text;
        (listed.matches("till-").count() == 4).then_some(())
    });
    let roll = |version: u64, more: &str| {
        let bundle = hub.dir().join(format!("{version}.frond"));
        std::fs::write(&bundle, fleet.bundle(version, &plain(port, more))).unwrap();
        let waves = [
            "rollout",
            "--waves",
            "1,50%,100%",
            "--bake",
            "0",
            "--wave-time",
            "60",
        ];
        fleet_says(&waves, &hub, &bundle)
    };
    let rejected = roll(2, "max_payload: nonsense");
    assert!(!rejected.status.success(), "{}", rejected.text);
    assert!(
        rejected.text.contains("failed on 1 of 1 boxes"),
        "{}",
        rejected.text
    );
    assert!(!boxes[1].log().contains("version 2"), "{}", boxes[1].log());
    let taken = roll(3, "max_payload: 2000000");
    assert!(taken.status.success(), "{}", taken.text);
    assert!(
        taken.text.contains("wave 2: 2 of 4 boxes are told"),
        "{}",
        taken.text
    );
    for leaf in &boxes {
        logged(leaf, "version 3 is confirmed");
    }
}
