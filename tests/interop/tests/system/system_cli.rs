//! `nats server`, `nats account`: what an operator types, beside nats-server.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;

use interop::{Ended, Kind, Server, Setup, at_home, nats_cli, run};

const CONFIG: &str = r#"
server_name: shown
listen: "127.0.0.1:-1"
jetstream { store_dir: "$DIR/js" }
accounts {
  A { jetstream: enabled, users: [ {user: a, password: a} ] }
  SYS { users: [ {user: s, password: s} ] }
}
system_account: SYS
"#;

/// Who types what.
const COMMANDS: &[(&str, &str)] = &[
    ("s", "server list 1"),
    ("s", "server ls 1 --json"),
    ("s", "server info"),
    ("s", "server info shown"),
    ("s", "server ping --count 1"),
    ("s", "server report connections"),
    ("s", "server report connections --account A"),
    ("s", "server report accounts"),
    ("s", "server report jetstream"),
    ("s", "server report jetstream --account A"),
    ("s", "server report health"),
    ("s", "server report leafnodes"),
    ("s", "server report routes"),
    ("s", "server report gateways"),
    ("s", "server report cpu"),
    ("s", "server report mem"),
    ("s", "server check connection"),
    ("s", "server check server --name shown"),
    ("s", "server request variables"),
    ("s", "server request connections"),
    ("s", "server request subscriptions"),
    ("s", "server request routes"),
    ("s", "server request gateways"),
    ("s", "server request leafnodes"),
    ("s", "server request accounts"),
    ("s", "server request jetstream"),
    ("s", "server request jetz --all"),
    ("s", "server request health-check"),
    ("s", "server request raft"),
    ("s", "server request kick 999 --force"),
    ("s", IMPORTS),
    ("s", "server account info NONE"),
    ("s", "account report connections"),
    ("a", "account info"),
    ("a", "account report connections"),
    ("a", "account report statistics"),
    ("a", "server check connection"),
    ("a", "server check jetstream"),
    ("a", "server check stream --stream NONE"),
    ("a", "server list 1"),
    ("a", "rtt"),
];

/// Shows a table of the imports that every account has in nats-server: ours has none to show.
const IMPORTS: &str = "server account info A";

/// What only a program in Go says.
const NOT_OURS: &[&str] = &[
    "git_commit",
    "feature_flags",
    "js_ack_fc_v",
    "js_api_reply_v",
    "js_raft_delete_range",
    "js_snapshot_sources",
    "aes-gcm",
];

struct Typed {
    code: Option<i32>,
    words: BTreeSet<String>,
    text: String,
}

fn typed(server: &Server, user: &str, line: &str) -> Typed {
    let url = server
        .url()
        .replace("nats://", &format!("nats://{user}:{user}@"));
    let mut command = at_home(server, nats_cli());
    command.args(["--server", &url, "--timeout", "5s"]);
    command.args(line.split(' '));
    let Ended { status, text } = run(&mut command);
    let text = text.replace(&server.dir().display().to_string(), "DIR");
    Typed {
        code: status.code(),
        words: words(&text),
        text,
    }
}

/// Words in lower or mixed case: names of ids, hashes and moments are none.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !(c.is_ascii_alphabetic() || c == '_' || c == '-'));
    parts
        .filter(|word| word.len() > 3 && word.chars().any(|c| c.is_ascii_lowercase()))
        .filter(|word| !word.bytes().all(|b| b.is_ascii_hexdigit()))
        .filter(|word| !NOT_OURS.contains(word))
        .map(str::to_owned)
        .collect()
}

fn beside(kind: Kind) {
    let real = Server::start(Kind::Real, &Setup::config(CONFIG));
    let ours = Server::start(kind, &Setup::config(CONFIG));
    let mut wrong = Vec::new();
    for (user, line) in COMMANDS {
        let wanted = typed(&real, user, line);
        let found = typed(&ours, user, line);
        let missing: Vec<_> = if *line == IMPORTS {
            Vec::new()
        } else {
            wanted.words.difference(&found.words).collect()
        };
        if wanted.code != found.code || !missing.is_empty() {
            wrong.push(format!(
                "{user}: nats {line}: {:?}, wanted {:?}, missing {missing:?}\n{}\nwanted\n{}",
                found.code, wanted.code, found.text, wanted.text
            ));
        }
    }
    assert!(wrong.is_empty(), "{kind:?}: {}", wrong.join("\n"));
}

#[test]
fn the_leaf_answers_an_operator() {
    beside(Kind::Leaf);
}

#[test]
fn the_hub_answers_an_operator() {
    beside(Kind::Hub);
}
