//! The verdicts of nats-server on small files, and ours beside them.

use frond_config::{ConfigError, Source, load};
use std::collections::BTreeMap;

/// The files and the environment that the cases refer to.
struct World(BTreeMap<&'static str, String>);

impl Source for World {
    fn read(&self, path: &str) -> Result<String, String> {
        let missing = || format!("open {path}: no such file or directory");
        self.0.get(path).cloned().ok_or_else(missing)
    }

    fn env(&self, name: &str) -> Option<String> {
        let value = match name {
            "PORTX" => "4999",
            "HOSTX" => "a.b.c",
            "LISTX" => "[a,b]",
            "CYC" => "$CYC",
            "BADX" => "[1",
            _ => return None,
        };
        Some(value.to_owned())
    }
}

fn world(text: String) -> World {
    World(BTreeMap::from([
        ("x.conf", text),
        (
            "inc.conf",
            "port: 4333\nserver_name: inc\nV: 7\n".to_owned(),
        ),
        ("bad.conf", "x\n".to_owned()),
        ("loop.conf", "include loop2.conf\n".to_owned()),
        ("loop2.conf", "include loop3.conf\n".to_owned()),
        ("loop3.conf", "a: b\n".to_owned()),
    ]))
}

/// An error as nats-server shows it: without the remedy.
fn shown(error: &ConfigError) -> String {
    let full = error.to_string();
    // Some of nats-server's own texts end in the place.
    let placed = format!(
        "{} ({}:{}:{}",
        error.text, error.file, error.line, error.column
    );
    if error.text == "config is invalid" && full.starts_with(&placed) {
        format!("{placed})")
    } else if full.starts_with(&error.text) {
        error.text.clone()
    } else {
        format!(
            "{}:{}:{}: {}",
            error.file, error.line, error.column, error.text
        )
    }
}

fn verdict(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = match load("x.conf", &world(text.to_owned())) {
        Ok(loaded) => loaded.warnings.iter().map(shown).collect(),
        Err(errors) => errors.0.iter().map(shown).collect(),
    };
    lines.sort();
    lines
}

fn unescape(text: &str) -> String {
    text.replace("\\n", "\n")
        .replace("\\r", "\r")
        .replace("\\t", "\t")
}

#[test]
fn ours_are_those_of_nats_server() {
    let cases = include_str!("verdicts.txt").split("----\n").skip(1);
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases {
        let (expected, text): (Vec<_>, Vec<_>) =
            case.lines().partition(|line| line.starts_with("=> "));
        let mut expected: Vec<_> = expected
            .iter()
            .map(|line| line.trim_start_matches("=> ").to_owned())
            .collect();
        expected.sort();
        let text = text.join("\n");
        let text = text
            .strip_prefix('!')
            .map_or_else(|| text.clone(), unescape);
        let got = verdict(&text);
        if got != expected {
            wrong.push(format!("{text}\n  want {expected:?}\n  got  {got:?}"));
        }
        count += 1;
    }
    assert!(count > 150, "only {count} cases were found");
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Where nats-server loses the place, shows a pointer, or stops at the first error of a block.
#[test]
fn ours_say_more_where_nats_server_says_too_little() {
    let cases: &[(&str, &[&str])] = &[
        (
            "authorization { users: [{user: a, permissions: {publish: \"a..b\"}}] }",
            &["x.conf:1:49: subject \"a..b\" is not a valid subject"],
        ),
        (
            "authorization {\n users = [\n  {user: a}\n  {user: a}\n ]\n}",
            &["x.conf:4:3: Duplicate user \"a\" detected"],
        ),
        (
            "accounts { A { jetstream: { max_mem: \"x\", foo: 1 } } }",
            &[
                "x.conf:1:29: Expected a parseable size for \"max_mem\"",
                "x.conf:1:43: unknown field \"foo\"",
            ],
        ),
        (
            "accounts: 5",
            &["x.conf:1:1: Expected map or list to define accounts, got int64"],
        ),
        (
            "include x.conf",
            &["error parsing include file 'x.conf', it includes itself"],
        ),
        (
            "{ port: 4222\n",
            &["Parse error on line 2: 'Unexpected EOF processing block.'"],
        ),
        (
            "a { b }",
            &["Parse error on line 1: 'Expected value but found end of map'"],
        ),
        ("port: 70000", &["x.conf:1:1: invalid port 70000"]),
        (
            "write_deadline: \"-1s\"",
            &["x.conf:1:1: invalid write_deadline, needs to be positive"],
        ),
        (
            "leafnodes { remotes: [ { url: \"localhost:7422\" } ] }",
            &["x.conf:1:26: error parsing leafnode url [\"localhost:7422\"]"],
        ),
    ];
    for (text, want) in cases {
        assert_eq!(verdict(text), *want, "{text}");
    }
}

/// nats-server starts with all of them.
#[test]
fn addresses_that_lead_nowhere_are_left_out() {
    for (text, want) in [
        (
            "leafnodes { remotes: [ {} ] }",
            "Remote leafnode has no url, it is left out",
        ),
        (
            "leafnodes { remotes: [ { urls: [] } ] }",
            "Remote leafnode has no url, it is left out",
        ),
        (
            "leafnodes { remotes: [ { url: \"host\" } ] }",
            "leafnode url [\"host\"] has no host, it is left out",
        ),
        (
            "cluster { name: c, listen: \"127.0.0.1:-1\", routes: [\"host\"] }",
            "route url [\"host\"] has no host, it is left out",
        ),
        (
            "cluster { name: c, listen: \"127.0.0.1:-1\", routes: [\"\"] }",
            "route url [\"\"] has no host, it is left out",
        ),
    ] {
        let said = verdict(text).concat();
        assert!(said.contains(want), "{text}: {said}");
        let loaded = load("x.conf", &world(text.to_owned())).unwrap();
        assert!(loaded.config.leafnodes.remotes.is_empty());
    }
}

#[test]
fn integers_may_end_an_array() {
    // nats-server reads `5]` as one string here.
    assert_eq!(
        verdict("x: 1\nserver_tags: [\"a\", $x]"),
        ["x.conf:2:20: error parsing tags: unsupported type in array int64"]
    );
}
