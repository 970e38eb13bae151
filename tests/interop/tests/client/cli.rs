//! The `nats` command-line tool used for real.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read files"
)]

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use interop::{Ended, Kind, Server, Setup, at_home, nats, nats_cli, run, wait_for};

const BOUND: Duration = Duration::from_secs(15);

/// The tool, pointed at one server and at no configuration of the person who runs the tests.
struct Cli {
    server: Server,
}

/// The tool running on its own until it ends or the test does.
struct Background {
    child: Child,
    output: PathBuf,
}

impl Cli {
    fn new(setup: &Setup) -> Self {
        Self {
            server: Server::start(Kind::Leaf, setup),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        nats(&self.server, args)
    }

    /// Runs to the end; what it said has to hold each of these words.
    fn says(&self, args: &[&str], words: &[&str]) -> String {
        judged(&mut self.command(args), args, words)
    }

    fn background(&self, name: &str, args: &[&str]) -> Background {
        let output = self.server.dir().join(name);
        let file = File::create(&output).expect("own folder can be written");
        let mut command = self.command(args);
        command
            .stdout(file.try_clone().expect("a file"))
            .stderr(file);
        Background {
            child: command.spawn().expect("the nats CLI starts"),
            output,
        }
    }
}

impl Background {
    fn output(&self) -> String {
        std::fs::read_to_string(&self.output).unwrap_or_default()
    }

    fn waits_for(&self, word: &str) {
        wait_for(&format!("{word:?} from the nats CLI"), BOUND, || {
            self.output().contains(word).then_some(())
        });
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn judged(command: &mut Command, args: &[&str], words: &[&str]) -> String {
    let Ended { status, text } = run(command);
    assert!(status.success(), "nats {args:?} failed:\n{text}");
    for word in words {
        assert!(
            text.contains(word),
            "nats {args:?} didn't say {word:?}:\n{text}"
        );
    }
    text
}

#[test]
fn publish_and_subscribe() {
    let cli = Cli::new(&Setup::core());
    let sub = cli.background("sub", &["sub", "greet.*", "--count", "1"]);
    wait_for("the subscriber to hear it", BOUND, || {
        cli.says(
            &["pub", "greet.all", "hello", "-H", "Key:val"],
            &["Published 5 bytes to \"greet.all\""],
        );
        let text = sub.output();
        (text.contains("Received on \"greet.all\"") && text.contains("hello")).then_some(())
    });
    sub.waits_for("Key: val");
}

#[test]
fn request_and_reply() {
    let cli = Cli::new(&Setup::core());
    let reply = cli.background(
        "reply",
        &["reply", "svc", "echo {{Request}}", "--count", "1"],
    );
    wait_for("an answer", BOUND, || {
        let text = cli.says(&["req", "svc", "ping"], &["Sending request on \"svc\""]);
        text.contains("echo ping").then_some(())
    });
    reply.waits_for("ping");
}

#[test]
fn streams() {
    let cli = Cli::new(&Setup::jetstream());
    let add = [
        "stream",
        "add",
        "ORDERS",
        "--subjects",
        "orders.*",
        "--defaults",
    ];
    cli.says(&add, &["Stream ORDERS was created", "Subjects: orders.*"]);
    let count = [
        "pub",
        "orders.{{Count}}",
        "order {{Count}}",
        "--count",
        "5",
        "--jetstream",
    ];
    cli.says(&count, &["Stored in Stream: ORDERS Sequence: 5"]);
    cli.says(&["stream", "ls"], &["ORDERS", "Messages"]);
    let state = [
        "Messages: 5",
        "First Sequence: 1",
        "Last Sequence: 5",
        "Number of Subjects: 5",
    ];
    cli.says(&["stream", "info", "ORDERS"], &state);
    cli.says(&["stream", "subjects", "ORDERS"], &["orders.3"]);
    cli.says(
        &["stream", "get", "ORDERS", "2"],
        &["ORDERS#2", "orders.2", "order 2"],
    );
    cli.says(
        &["stream", "edit", "ORDERS", "--max-msgs", "4", "-f"],
        &["Maximum Messages: 4"],
    );
    cli.says(&["stream", "rmm", "ORDERS", "3", "-f"], &[]);
    view(&cli);
    cli.says(
        &["stream", "purge", "ORDERS", "-f"],
        &["Purged 3 messages", "First Sequence: 6"],
    );
    cli.says(&["stream", "rm", "ORDERS", "-f"], &[]);
    cli.says(&["stream", "ls"], &["No Streams defined"]);
}

/// `stream view` insists on a terminal; `script` gives it one.
fn view(cli: &Cli) {
    let line = format!(
        "{} --server {} stream view ORDERS --raw",
        nats_cli().display(),
        cli.server.url()
    );
    let mut command = at_home(&cli.server, "script");
    command.args(["-qec", &line, "/dev/null"]);
    judged(
        &mut command,
        &["stream", "view"],
        &["order 2", "order 4", "order 5", "end of data"],
    );
}

#[test]
fn consumers() {
    let cli = Cli::new(&Setup::jetstream());
    cli.says(
        &["stream", "add", "S", "--subjects", "s.*", "--defaults"],
        &["Stream S was created"],
    );
    cli.says(
        &["pub", "s.1", "n {{Count}}", "--count", "4", "--jetstream"],
        &["Sequence: 4"],
    );
    let add = ["consumer", "add", "S", "C", "--pull", "--defaults"];
    cli.says(&add, &["Pull Mode: true", "Ack Policy: Explicit"]);
    let next = ["consumer", "next", "S", "C", "--count", "2"];
    cli.says(
        &next,
        &["n 1", "str seq: 2", "pending: 2", "Acknowledged message"],
    );
    let info = [
        "Acknowledgment Floor: Consumer sequence: 2 Stream sequence: 2",
        "Unprocessed Messages: 2",
    ];
    wait_for("the acks to be counted", BOUND, || {
        let text = cli.says(&["consumer", "info", "S", "C"], &[]);
        info.iter().all(|word| text.contains(word)).then_some(())
    });
    cli.says(&["consumer", "ls", "S"], &["C"]);
    cli.says(&["consumer", "rm", "S", "C", "-f"], &[]);
}

#[test]
fn key_value() {
    let cli = Cli::new(&Setup::jetstream());
    cli.says(
        &["kv", "add", "cfg", "--history", "5"],
        &["Bucket cfg created", "History Kept: 5"],
    );
    cli.says(&["kv", "put", "cfg", "a", "one"], &["one"]);
    cli.says(&["kv", "get", "cfg", "a"], &["cfg > a revision: 1", "one"]);
    let watch = cli.background("watch", &["kv", "watch", "cfg"]);
    watch.waits_for("PUT cfg > a: one");
    cli.says(&["kv", "put", "cfg", "b", "two"], &["two"]);
    watch.waits_for("PUT cfg > b: two");
    cli.says(&["kv", "ls", "cfg"], &["a", "b"]);
    cli.says(&["kv", "del", "cfg", "b", "-f"], &[]);
    watch.waits_for("DELETE cfg > b");
    cli.says(&["kv", "history", "cfg", "b"], &["PUT", "DELETE", "two"]);
    cli.says(&["kv", "status", "cfg"], &["Values Stored: 3"]);
}

#[test]
fn object_store() {
    let cli = Cli::new(&Setup::jetstream());
    let file = cli.server.dir().join("picture");
    std::fs::write(&file, "0123456789".repeat(40_000)).expect("own folder can be written");
    let file = file.display().to_string();
    cli.says(&["object", "add", "images"], &["Bucket images created"]);
    cli.says(
        &[
            "object",
            "put",
            "images",
            &file,
            "--name",
            "picture",
            "--no-progress",
        ],
        &["Size: 391 KiB"],
    );
    let back = format!("{file}.back");
    cli.says(
        &[
            "object",
            "get",
            "images",
            "picture",
            "-O",
            &back,
            "--no-progress",
        ],
        &[],
    );
    assert_eq!(std::fs::read(&file).ok(), std::fs::read(&back).ok());
    cli.says(&["object", "ls", "images"], &["picture"]);
    cli.says(&["object", "rm", "images", "picture", "-f"], &[]);
}

#[test]
fn bench() {
    let cli = Cli::new(&Setup::jetstream());
    let sub = cli.background(
        "bench-sub",
        &["bench", "sub", "core", "--msgs", "1000", "--no-progress"],
    );
    wait_for("the subscriber to have its messages", BOUND, || {
        cli.says(
            &["bench", "pub", "core", "--msgs", "1000", "--no-progress"],
            &["publisher stats"],
        );
        sub.output().contains("subscriber stats").then_some(())
    });
    for how in ["sync", "async"] {
        let publish = [
            "bench",
            "js",
            "pub",
            how,
            "stored",
            "--create",
            "--msgs",
            "500",
            "--no-progress",
        ];
        cli.says(&publish, &["publisher stats"]);
    }
    cli.says(
        &["bench", "js", "consume", "--msgs", "1000", "--no-progress"],
        &["stats"],
    );
}

#[test]
fn account_and_checks() {
    let cli = Cli::new(&Setup::jetstream());
    cli.says(
        &["account", "info"],
        &["JetStream Account Information", "Headers Supported: true"],
    );
    cli.says(&["server", "check", "connection"], &["OK"]);
    cli.says(&["rtt"], &["nats://"]);
}
