//! Rollouts in waves from a hub, Frond's or a stock nats-server, and what the hub knows of its
//! boxes.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use interop::{Ended, Kind, Server, Setup, free_port, nats, run, say, wait_for};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::sim_boxes::{Nature, SimBoxes, name};

const BOUND: Duration = Duration::from_secs(60);

/// With boxes to look after, if it is Frond's.
fn hub(kind: Kind) -> Server {
    let block = if kind == Kind::Hub { "fleet {}" } else { "" };
    let config = format!(
        "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n{block}\n",
        free_port()
    );
    let hub = Server::start(kind, &Setup::config(&config));
    if kind == Kind::Hub {
        logged(&hub, "fleet: 0 boxes are known");
    } else {
        // The first command makes the buckets.
        let listed = fleet(&hub, &["list"]);
        assert!(!listed.text.contains("sim-"), "{}", listed.text);
        let made = fleet(&hub, &["abort"]);
        assert!(made.text.contains("nothing was ever"), "{}", made.text);
    }
    hub
}

fn logged(server: &Server, words: &str) {
    server.wait_logged(words, BOUND);
}

fn command(hub: &Server, words: &[&str]) -> Command {
    let mut command = Command::new(Kind::Hub.binary());
    command.arg("fleet").args(words);
    command.args(["--server", &hub.url()]);
    command
}

fn fleet(hub: &Server, words: &[&str]) -> Ended {
    run(&mut command(hub, words))
}

/// A file with a bundle for the group shops.
fn bundle(hub: &Server, version: u64) -> String {
    let path = hub.dir().join(format!("{version}.frond"));
    std::fs::write(&path, Fleet::new().bundle(version, "")).unwrap();
    path.display().to_string()
}

fn known(hub: &Server, count: usize) {
    wait_for("all boxes to be known", BOUND, || {
        let listed = fleet(hub, &["list", "--json"]);
        (listed.text.lines().count() == count).then_some(())
    });
}

/// Nothing before there was a rollout.
fn status(hub: &Server) -> Value {
    let ended = fleet(hub, &["status", "--json"]);
    serde_json::from_str(&ended.text).unwrap_or_default()
}

fn state(hub: &Server, wanted: &str) -> Value {
    wait_for(wanted, BOUND, || {
        let status = status(hub);
        (status["state"] == wanted).then_some(status)
    })
}

/// From the 60th on every tenth takes version 2 back.
fn tenth_fails(at: usize, version: u64) -> Nature {
    if version == 2 && at >= 60 && at.is_multiple_of(10) {
        Nature::GoesBack
    } else {
        Nature::Confirms
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_boxes_are_told_in_waves_until_too_many_fail() {
    let hub = hub(Kind::Hub);
    let boxes = SimBoxes::open(&hub, 1000, tenth_fails).await;
    known(&hub, 1000);
    let start = Instant::now();
    let good = fleet(&hub, &["rollout", &bundle(&hub, 1), "--bake", "1"]);
    assert!(good.status.success(), "{}", good.text);
    for words in [
        "wave 1: 1 of 1000 boxes are told",
        "wave 2: 50 of 1000 boxes are told",
        "wave 3: 250 of 1000 boxes are told",
        "wave 4: 1000 of 1000 boxes are told",
        "version 1 is on all 1000 boxes",
    ] {
        assert!(
            good.text.contains(words),
            "{words:?} is missing: {}",
            good.text
        );
    }
    assert_eq!(boxes.told(), 1000);
    say(&format!(
        "1000 boxes in 4 waves: {:?}, hub {} MB",
        start.elapsed(),
        hub.usage().rss_peak_bytes / 1_000_000
    ));

    let bad = fleet(&hub, &["rollout", &bundle(&hub, 2), "--bake", "1"]);
    assert!(!bad.status.success(), "{}", bad.text);
    assert!(bad.text.contains("no other box is told"), "{}", bad.text);
    let told = boxes.told() - 1000;
    assert!((51..=250).contains(&told), "{told} were told");
    let stopped = state(&hub, "stopped");
    let failed = stopped["counts"]["failed"].as_u64().unwrap();
    assert!(failed >= 3, "{stopped}");
    say(&format!(
        "stopped by itself: {failed} of {told} boxes went back"
    ));
    logged(&hub, "fleet: stopped: version 2 failed on");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_pause_end_and_watch_it_at_any_hub() {
    for kind in [Kind::Real, Kind::Hub] {
        let hub = hub(kind);
        let boxes = SimBoxes::open(&hub, 40, |_, _| Nature::Confirms).await;
        known(&hub, 40);
        // At a stock hub the command drives it, and answers to the others.
        let rollout = ["rollout", &bundle(&hub, 1), "--bake", "600", "--json"];
        let mut driver = command(&hub, &rollout);
        let mut driver = driver.stdout(Stdio::piped()).spawn().unwrap();
        let baking = state(&hub, "baking");
        assert_eq!(baking["counts"]["confirmed"], 1, "{baking}");
        let paused = fleet(&hub, &["pause", "--by", "ann"]);
        assert!(paused.text.contains("paused by ann"), "{}", paused.text);
        let again = fleet(&hub, &["pause"]);
        assert!(
            again.text.contains("it is paused already"),
            "{}",
            again.text
        );
        let other = fleet(&hub, &["rollout", &bundle(&hub, 2)]);
        assert!(
            other.text.contains("another rollout is under way"),
            "{}",
            other.text
        );
        if kind == Kind::Real {
            // Whoever drove it is gone: somebody else goes on.
            end(&mut driver);
            let left = fleet(&hub, &["status"]);
            assert!(left.text.contains("nobody drives it"), "{}", left.text);
            let mut next = command(&hub, &["resume"]);
            driver = next.stdout(Stdio::null()).spawn().unwrap();
        } else {
            assert!(fleet(&hub, &["resume"]).status.success());
        }
        state(&hub, "baking");
        let aborted = fleet(&hub, &["abort", "--by", "ben"]);
        assert!(aborted.text.contains("aborted by ben"), "{}", aborted.text);
        let code = wait_for("the driver to end", BOUND, || driver.try_wait().unwrap());
        assert!(!code.success());
        assert_eq!(boxes.told(), 1, "{}", kind.name());
    }
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_was_killed_goes_on_with_its_rollout() {
    let mut hub = hub(Kind::Hub);
    let boxes = SimBoxes::open(&hub, 40, |_, _| Nature::Confirms).await;
    known(&hub, 40);
    let start = ["rollout", &bundle(&hub, 1), "--bake", "4", "--detach"];
    assert!(fleet(&hub, &start).status.success());
    wait_for("a wave to be well and kept", BOUND, || {
        let status = status(&hub);
        (status["state"] == "baking" && status["counts"]["confirmed"] == 2).then_some(())
    });
    hub.kill();
    hub.restart();
    let done = state(&hub, "done");
    assert_eq!(done["counts"]["confirmed"], 40, "{done}");
    assert!(boxes.told() >= 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_programs_find_it_as_a_service() {
    let hub = hub(Kind::Hub);
    let boxes = SimBoxes::open(&hub, 3, |_, _| Nature::Confirms).await;
    known(&hub, 3);
    let client = async_nats::connect(hub.url()).await.unwrap();
    let ask = async |subject: &str, said: &str| {
        let answer = client
            .request(subject.to_owned(), said.to_owned().into())
            .await;
        answer.unwrap()
    };
    let ping = ask("$SRV.PING", "").await;
    let ping: Value = serde_json::from_slice(&ping.payload).unwrap();
    assert_eq!(ping["type"], "io.nats.micro.v1.ping_response");
    assert_eq!(ping["name"], "frond-fleet");
    boxes
        .say(
            1,
            &json!({ "disk": { "used_bytes": 95, "all_bytes": 100 } }),
        )
        .await;
    wait_for("the alarm", BOUND, || {
        let listed = fleet(&hub, &["list", "--alarms"]);
        listed.text.contains("its disk is 95 % full").then_some(())
    });
    let alarms = ask("$FROND.FLEET.alarms", "").await;
    let alarms: Value = serde_json::from_slice(&alarms.payload).unwrap();
    assert_eq!(alarms[0]["name"], name(1));
    assert_eq!(alarms[0]["alarms"][0]["code"], "disk_scarce");
    let one = ask("$FROND.FLEET.box", &json!({ "name": name(2) }).to_string()).await;
    let one: Value = serde_json::from_slice(&one.payload).unwrap();
    assert_eq!(one["disk"]["all_bytes"], 1_000_000_000);
    let wrong = ask("$FROND.FLEET.box", "junk").await;
    let header = wrong.headers.unwrap();
    assert_eq!(
        header.get("Nats-Service-Error-Code").unwrap().as_str(),
        "400"
    );
    let stats = ask("$SRV.STATS.frond-fleet", "").await;
    let stats: Value = serde_json::from_slice(&stats.payload).unwrap();
    let all = stats["endpoints"].as_array().unwrap();
    let of_box = all.iter().find(|it| it["name"] == "box").unwrap();
    assert_eq!(
        (&of_box["num_requests"], &of_box["num_errors"]),
        (&json!(2), &json!(1))
    );
    // And the stock command line understands it.
    let listed = run(&mut nats(&hub, &["micro", "info", "frond-fleet"]));
    assert!(
        listed.text.contains("$FROND.FLEET.rollout"),
        "{}",
        listed.text
    );
    fleet(&hub, &["forget", &name(2)]);
    known(&hub, 2);
}
