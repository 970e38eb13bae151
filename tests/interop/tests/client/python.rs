//! nats-py used for real: one script, one of its parts a test.

use std::process::Command;

use interop::{Kind, Server, Setup, python, run};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/py/client.py");

fn part(name: &str) {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let ended = run(Command::new(python()).args([SCRIPT, name, &server.url()]));
    assert!(ended.status.success(), "nats-py, {name}:\n{}", ended.text);
}

#[test]
fn core() {
    part("core");
}

#[test]
fn jetstream_pull() {
    part("pull");
}

#[test]
fn jetstream_push() {
    part("push");
}

#[test]
fn key_value() {
    part("kv");
}

#[test]
fn object_store() {
    part("objects");
}
