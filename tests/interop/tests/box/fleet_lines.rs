//! Leafs that say nothing of themselves: they are seen by their lines, at any hub.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::process::Command;
use std::time::Duration;

use interop::{Kind, Server, Setup, free_port, http_get, run, wait_for};
use serde_json::Value;

use crate::fleet::Fleet;
use crate::ota_hub::SOURCE;

const BOUND: Duration = Duration::from_secs(60);

fn hub_config(leaves: u16, http: u16, more: &str) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{http}\"\nserver_name: hub\n\
         jetstream {{ store_dir: \"$DIR/js\", domain: hub }}\n\
         leafnodes {{ listen: \"127.0.0.1:{leaves}\" }}\n{more}\n"
    )
}

fn leaf(kind: Kind, leaves: u16, more: &str) -> Server {
    let config = format!(
        "listen: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \
         \"nats-leaf://127.0.0.1:{leaves}\" }} ] }}\n{more}\n"
    );
    Server::start(kind, &Setup::config(&config))
}

/// A line of the list.
fn listed(hub: &Server, name: &str, words: &str) -> String {
    wait_for(words, BOUND, || {
        let mut command = Command::new(Kind::Hub.binary());
        let text = run(command.args(["fleet", "list", "--server", &hub.url()])).text;
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.contains(words).then(|| line.to_owned())
    })
}

#[test]
fn a_stock_leaf_and_a_plain_frond_are_in_the_registry_and_boxes_once() {
    let (leaves, http) = (free_port(), free_port());
    let hub = Server::start(
        Kind::Hub,
        &Setup::config(&hub_config(leaves, http, "fleet {}")),
    );
    let mut stock = leaf(Kind::Real, leaves, "server_name: \"stock-leaf\"");
    let plain = leaf(Kind::Leaf, leaves, "server_name: plain");
    let block = Fleet::new().block(SOURCE);
    let _till = leaf(
        Kind::Leaf,
        leaves,
        &format!("server_name: other-name\n{block}"),
    );
    listed(&hub, "stock-leaf", "up");
    listed(&hub, "plain", "up");
    listed(&hub, "till-7", "idle");
    stock.kill();
    listed(&hub, "stock-leaf", "down");
    listed(&hub, "plain", "up");
    let at = format!("127.0.0.1:{http}");
    let names = wait_for("the page's document", BOUND, || {
        let (_, body) = http_get(&at, "/fleet.json");
        let fleet: Value = serde_json::from_str(&body).ok()?;
        let leaves = fleet["leaves"].as_array()?.clone();
        let mut names: Vec<_> = leaves.iter().map(|it| it["name"].to_string()).collect();
        names.sort();
        (names.len() == 2).then_some(names)
    });
    assert_eq!(names, ["\"plain\"", "\"stock-leaf\""]);
    let (_, root) = http_get(&at, "/");
    for page in ["./fleet", "./status"] {
        assert!(root.contains(&format!("href=\"{page}\"")), "{root}");
    }
    drop(plain);
}

#[test]
fn a_stock_hub_tells_of_its_lines_to_who_is_of_its_system_account() {
    let leaves = free_port();
    let accounts = "accounts { $SYS { users: [ { user: admin, password: admin } ] }\n\
                    APP { jetstream: enabled, users: [ { user: fleet, password: fleet } ] } }\n\
                    no_auth_user: fleet";
    let config = hub_config(leaves, free_port(), accounts);
    let hub = Server::start(Kind::Real, &Setup::config(&config));
    let _plain = leaf(Kind::Leaf, leaves, "server_name: plain");
    let password = hub.dir().join("password");
    std::fs::write(&password, "admin\n").unwrap();
    let mut serve = Command::new(Kind::Hub.binary());
    serve.args([
        "fleet",
        "serve",
        "--server",
        &hub.url(),
        "--system-user",
        "admin",
    ]);
    serve.arg("--system-password-file").arg(&password);
    let mut serve = serve.spawn().unwrap();
    let line = listed(&hub, "plain", "up");
    let _ = serve.kill();
    let _ = serve.wait();
    assert!(line.contains("in account APP"), "{line}");
}
