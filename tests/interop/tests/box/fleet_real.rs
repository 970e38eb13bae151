//! Real boxes that report to a hub: 20 of them, or as many as `FROND_BOXES` says.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use std::process::Command;
use std::time::{Duration, Instant};

use interop::{Kind, Server, Setup, free_port, run, say, wait_for};
use serde_json::Value;

use crate::fleet::Fleet;

const BOUND: Duration = Duration::from_secs(60);

fn hub() -> (Server, u16) {
    let leaves = free_port();
    let config = format!(
        "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"$DIR/js\", domain: hub }}\n\
         leafnodes {{ listen: \"127.0.0.1:{leaves}\" }}\nfleet {{}}\n"
    );
    let hub = Server::start(Kind::Hub, &Setup::config(&config));
    wait_for("the fleet to be looked after", BOUND, || {
        hub.log().contains("boxes are known").then_some(())
    });
    (hub, leaves)
}

fn leaf(leaves: u16, name: &str) -> Server {
    leaf_of(leaves, name, "$DIR/ota")
}

/// One that keeps its configurations, and its key, in that folder.
fn leaf_of(leaves: u16, name: &str, store: &str) -> Server {
    let source = "source { bucket: FROND_CONFIG, domain: hub, registry: FROND_FLEET }";
    let block = Fleet::new().block(source).replace("till-7", name);
    let block = block.replace("$DIR/ota", store);
    let config = format!(
        "listen: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: \"1s\", \
         remotes: [ {{ url: \"nats-leaf://127.0.0.1:{leaves}\" }} ] }}\n{block}"
    );
    Server::start(Kind::Leaf, &Setup::config(&config))
}

fn listed(hub: &Server, more: &[&str]) -> Vec<Value> {
    let mut command = Command::new(Kind::Hub.binary());
    command.args(["fleet", "list", "--json", "--server", &hub.url()]);
    let text = run(command.args(more)).text;
    let boxes = text.lines().map(serde_json::from_str);
    boxes
        .collect::<Result<_, _>>()
        .unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn real_boxes_report_into_the_registry() {
    let wanted = std::env::var("FROND_BOXES").ok();
    let count: usize = wanted.map_or(20, |it| it.parse().unwrap());
    let (hub, leaves) = hub();
    let start = Instant::now();
    let boxes: Vec<_> = (0..count)
        .map(|at| leaf(leaves, &format!("till-{at:03}")))
        .collect();
    let started = start.elapsed();
    let known = wait_for("all boxes to be known", BOUND, || {
        let known = listed(&hub, &[]);
        (known.len() == count).then_some(known)
    });
    let all = start.elapsed();
    for it in &known {
        assert_eq!(it["state"], "idle", "{it}");
        assert_eq!(it["is_silent"], false, "{it}");
        assert_eq!(it["groups"][0], "shops", "{it}");
        for key in ["instance", "software", "backlog"] {
            assert!(!it[key].is_null(), "no {key}: {it}");
        }
    }
    let mut sizes: Vec<_> = boxes.iter().map(|it| it.usage().rss_bytes / 1000).collect();
    sizes.sort_unstable();
    say(&format!(
        "{count} boxes: started after {started:.1?}, all known after {all:.1?}; a box has {} kB, \
         all have {} MB, the hub has {} MB",
        sizes[count / 2],
        sizes.iter().sum::<u64>() / 1000,
        hub.usage().rss_bytes / 1_000_000,
    ));
}

#[test]
fn two_boxes_with_one_name_are_told_of() {
    let (hub, leaves) = hub();
    let first = leaf(leaves, "till-1");
    wait_for("the first one to be known", BOUND, || {
        (listed(&hub, &[]).len() == 1).then_some(())
    });
    assert!(listed(&hub, &["--alarms"]).is_empty());
    let alarmed = |code: &str| {
        wait_for(code, BOUND, || {
            let told = listed(&hub, &["--alarms"]).into_iter().next()?;
            let mut codes = told["alarms"].as_array()?.iter();
            codes.any(|it| it["code"] == code).then_some(())
        });
    };
    // One that has another key is somebody else, and one with the same is a copy.
    let second = leaf(leaves, "till-1");
    alarmed("stranger");
    drop(second);
    let copy = tempfile::tempdir().unwrap();
    for file in ["identity.conf", "claim-code", "starts"] {
        std::fs::copy(first.dir().join("ota").join(file), copy.path().join(file)).unwrap();
    }
    let _third = leaf_of(leaves, "till-1", &copy.path().display().to_string());
    alarmed("cloned");
}

/// Users of the hub's account, in a file that grows.
const USERS: &str = "users: [\n{ user: keeper, password: keeper }\n\
                     { user: newcomer, password: newcomer }\n]\n";

/// What the log says after these words, up to the next comma or the line's end.
fn word(server: &Server, after: &str) -> String {
    wait_for(after, BOUND, || {
        let log = server.log();
        let (_, rest) = log.split_once(after)?;
        let end = rest.find([',', '\n'])?;
        Some(rest[..end].to_owned())
    })
}

fn with_accounts(leaves: u16) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"$DIR/js\", domain: hub }}\n\
         leafnodes {{ listen: \"127.0.0.1:{leaves}\" }}\n\
         accounts {{ BOXES {{ jetstream: enabled, users: [ {{ user: keeper, password: keeper }}, \
         {{ user: newcomer, password: newcomer }} ] }} }}\nfleet {{ user: keeper }}\n"
    )
}

/// A box that comes in there, with more of its remote.
fn own(url: &str, more: &str) -> String {
    let source = "source { bucket: FROND_CONFIG, domain: hub, registry: FROND_FLEET }";
    let block = Fleet::new().block(source);
    format!(
        "listen: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: \"1s\", remotes: [ {{ url: \
         \"{url}\"\n{more} }} ] }}\n{block}"
    )
}

#[test]
fn a_fresh_box_is_claimed_by_its_code_and_comes_in_with_its_own_key() {
    let leaves = free_port();
    let config = with_accounts(leaves);
    let hub = Server::start(Kind::Hub, &Setup::config(&config));
    let users = hub.dir().join("boxes.conf");
    std::fs::write(&users, USERS).unwrap();
    let password = hub.dir().join("password");
    std::fs::write(&password, "keeper").unwrap();
    let newcomer = own(
        &format!("nats-leaf://newcomer:newcomer@127.0.0.1:{leaves}"),
        "",
    );
    let mut leaf = Server::start(Kind::Leaf, &Setup::config(&newcomer));
    let key = word(&leaf, "the key of this box is ");
    let code = word(&leaf, "its code ");

    let claim = |code: &str| {
        let mut command = Command::new(Kind::Hub.binary());
        command.args(["fleet", "claim", "till-7", code, "--server", &hub.url()]);
        command
            .args(["--user", "keeper", "--password-file"])
            .arg(&password);
        run(command.arg("--users").arg(&users))
    };
    wait_for("the box to be known", BOUND, || {
        let wrong = claim("0000-0000-0000-0000");
        wrong
            .text
            .contains("that is not the code of till-7")
            .then_some(())
    });
    assert_eq!(std::fs::read_to_string(&users).unwrap(), USERS);
    let claimed = claim(&code.to_lowercase());
    assert!(
        claimed.text.contains(&format!("its key is {key}")),
        "{}",
        claimed.text
    );
    wait_for("the box to know", BOUND, || {
        leaf.log()
            .contains("this box is claimed by its hub")
            .then_some(())
    });
    let again = claim(&code);
    assert!(again.text.contains("was claimed before"), "{}", again.text);

    // The hub lets in nobody but its keeper and the box.
    let list = std::fs::read_to_string(&users).unwrap();
    let list = list.replace("{ user: newcomer, password: newcomer }\n", "");
    std::fs::write(&users, list).unwrap();
    let include = "accounts { BOXES { jetstream: enabled\ninclude \"boxes.conf\"\n} }";
    let (before, rest) = config.split_once("accounts").unwrap();
    let rest = rest.split_once('\n').unwrap().1;
    hub.reload(&format!("{before}{include}\n{rest}"));
    wait_for("the newcomer to be put out", BOUND, || {
        leaf.log().contains("Authorization Violation").then_some(())
    });
    leaf.terminate();
    let known = own(
        &format!("nats-leaf://127.0.0.1:{leaves}"),
        "include \"ota/identity.conf\"\n",
    );
    let text = known.replace("$DIR", &leaf.dir().display().to_string());
    std::fs::write(leaf.dir().join("server.conf"), text).unwrap();
    leaf.restart();
    wait_for("the box to come in with its key", BOUND, || {
        leaf.log().contains("attached account").then_some(())
    });
    assert!(!leaf.log().contains("its code"), "{}", leaf.log());
}

/// As many as there may be, all at once: whoever is there is served as if nobody had come.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_boxes_are_listed_and_clients_come_in_meanwhile() {
    const ALL: usize = 20_000;
    let (hub, _) = hub();
    let client = async_nats::connect(hub.url()).await.unwrap();
    for at in 0..ALL {
        let key = format!("$KV.FROND_FLEET.x{at:059}");
        let said = "{\"state\":\"idle\",\"active\":{\"version\":1}}";
        client.publish(key, said.into()).await.unwrap();
    }
    client.flush().await.unwrap();
    let start = Instant::now();
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let login = Instant::now();
        let other = async_nats::connect(hub.url()).await.unwrap();
        other.flush().await.unwrap();
        slowest = slowest.max(login.elapsed());
    }
    wait_for("all boxes to be listed", BOUND, || {
        (listed(&hub, &[]).len() == ALL).then_some(())
    });
    let known = start.elapsed();
    let listing = Instant::now();
    assert_eq!(listed(&hub, &[]).len(), ALL);
    say(&format!(
        "{ALL} boxes: all listed after {known:.1?}, then in {:.1?}; the slowest of 20 logins took {slowest:.1?}",
        listing.elapsed()
    ));
    // It took longer than all of this when each box was looked for among all others.
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
}
