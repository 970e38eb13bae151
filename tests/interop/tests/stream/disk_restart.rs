//! J17 of the field reports: streams load when they hold most of the disk, whatever is left of it then.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::{Client, connect};
use interop::streams::{ask, create, info};
use interop::{Kind, Server, Setup, free_port, http_get, say};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

const BOUND: Duration = Duration::from_secs(30);
const DISK_BYTES: u64 = 128 << 20;
const MESSAGE_BYTES: usize = 50_000;

/// A file system of its own that outlives the servers which see it.
struct Disk {
    dir: TempDir,
    holder: Child,
}

impl Disk {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let script = format!("mount -t tmpfs -o size={DISK_BYTES} none \"$0\" && echo && exec cat");
        let mut holder = Command::new("unshare")
            .args(["-rm", "sh", "-c", &script])
            .arg(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare (util-linux)");
        let mut ready = [0];
        let said = holder.stdout.as_mut().unwrap().read(&mut ready);
        let hint =
            "`unshare -rm true` and nsenter (util-linux) must work: see the test of the full disk";
        assert_eq!(said.ok(), Some(1), "{hint}");
        Self { dir, holder }
    }

    fn setup(&self, monitor: u16) -> Setup {
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{monitor}\"\n\
             jetstream {{ store_dir: \"{}/js\" }}\n",
            self.dir.path().display()
        );
        let pid = self.holder.id().to_string();
        let enter = ["nsenter", "-t", &pid, "-U", "-m", "--preserve-credentials"];
        Setup::config(&config).through(enter)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Publishes until a message is refused; how many were taken.
async fn fill(client: &Client) -> u64 {
    let mut taken = 0;
    loop {
        let answer = client.request("s", vec![b'x'; MESSAGE_BYTES].into());
        let answer = timeout(BOUND, answer).await.expect("an answer").unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        if !answer["error"].is_null() {
            return taken;
        }
        taken += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn j17_streams_load_when_they_hold_most_of_the_disk() {
    let disk = Disk::new();
    let port = free_port();
    let mut server = Server::start(Kind::Leaf, &disk.setup(port));
    let client = connect(server.url()).await.unwrap();
    create(&client, "S", &json!({"subjects": ["s"]})).await;
    let taken = fill(&client).await;
    let share = taken * MESSAGE_BYTES as u64 * 100 / DISK_BYTES;
    say(&format!("J17: {taken} messages are {share} % of the disk"));
    assert!(share > 50, "{share} %");
    for is_killed in [true, false] {
        match is_killed {
            true => server.kill(),
            false => server.terminate(),
        }
        server.restart();
        let client = connect(server.url()).await.unwrap();
        let state = info(&client, "S").await["state"].clone();
        assert_eq!(state["messages"], taken, "{state}");
        let get = "$JS.API.STREAM.MSG.GET.S";
        for seq in [1, taken] {
            let got = ask(&client, get, json!({"seq": seq})).await;
            assert_eq!(got["message"]["seq"], seq, "{got}");
        }
    }
    let client = connect(server.url()).await.unwrap();
    let purged = ask(&client, "$JS.API.STREAM.PURGE.S", Value::Null).await;
    assert_eq!(purged["purged"], taken, "{purged}");
    interop::wait_for_async("messages to be taken again", BOUND, async || {
        let answer = client.request("s", "x".into()).await.ok()?;
        let answer: Value = serde_json::from_slice(&answer.payload).ok()?;
        answer["error"].is_null().then_some(())
    })
    .await;
    let address = format!("127.0.0.1:{port}");
    let is_well = async || (http_get(&address, "/healthz").0 == 200).then_some(());
    interop::wait_for_async("health", BOUND, is_well).await;
}
