//! Origins that lose what they had: nothing new is skipped at the other end, nothing is doubled.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and damage files"
)]

use std::path::Path;
use std::time::Duration;

use interop::pair::{Pair, from};
use interop::streams::{self, create, holds, payloads, publish};
use interop::{Kind, wait_for, wait_for_async};
use serde_json::json;

const BOUND: Duration = Duration::from_secs(60);
const OLD: u64 = 200;
const NEW: u64 = 150;

/// What a power cut leaves of pages that were never synced.
fn lose_the_end(dir: &Path, kind: Kind) {
    let (path, mark) = match kind {
        Kind::Leaf | Kind::Hub => (dir.join("js/jetstream/journal"), "old 100"),
        Kind::Real => {
            let of_stream = dir.join("js/jetstream/$G/streams/ORDERS/msgs");
            let _ = std::fs::remove_file(of_stream.join("index.db"));
            (of_stream.join("1.blk"), "old 100")
        }
    };
    let mut bytes = std::fs::read(&path).unwrap();
    let found = bytes
        .windows(mark.len())
        .rposition(|w| w == mark.as_bytes());
    let at = found.unwrap_or_else(|| panic!("{mark:?} in {}", path.display()));
    match kind {
        Kind::Real => bytes.truncate(at),
        Kind::Leaf | Kind::Hub => bytes.iter_mut().skip(at).for_each(|byte| *byte = 0),
    }
    std::fs::write(&path, bytes).unwrap();
}

/// M17 of the field reports: nats-server's hub never gets a hundred of them, and says nothing.
#[tokio::test(flavor = "multi_thread")]
async fn m17_an_origin_that_was_rolled_back_loses_no_new_message() {
    for kinds in [(Kind::Leaf, Kind::Hub), (Kind::Real, Kind::Hub)] {
        let mut pair = Pair::new(kinds);
        let (leaf, hub) = pair.clients().await;
        create(&leaf, "ORDERS", &json!({"subjects": ["orders.>"]})).await;
        let origin = from("shop", "ORDERS", &json!({}));
        create(&hub, "ALL", &json!({"sources": [origin]})).await;
        create(&hub, "MIRROR", &json!({"mirror": origin})).await;
        for n in 0..OLD {
            publish(&leaf, "orders.1", &[], format!("old {n}").into()).await;
        }
        holds(&hub, "ALL", OLD, BOUND).await;
        holds(&hub, "MIRROR", OLD, BOUND).await;
        pair.leaf.kill();
        lose_the_end(pair.leaf.dir(), kinds.0);
        pair.leaf.restart();
        let (leaf, hub) = pair.clients().await;
        let state = streams::info(&leaf, "ORDERS").await["state"].clone();
        assert!(state["last_seq"].as_u64() < Some(OLD), "{state}");
        for n in 0..NEW {
            publish(&leaf, "orders.1", &[], format!("new {n}").into()).await;
        }
        holds(&hub, "ALL", OLD + NEW, BOUND).await;
        for n in NEW..NEW + 10 {
            publish(&leaf, "orders.1", &[], format!("new {n}").into()).await;
        }
        holds(&hub, "ALL", OLD + NEW + 10, BOUND).await;
        let old = (0..OLD).map(|n| format!("old {n}"));
        let new = (0..NEW + 10).map(|n| format!("new {n}"));
        let mut wanted: Vec<String> = old.chain(new).collect();
        let mut came = payloads(&hub, "ALL").await;
        wanted.sort();
        came.sort();
        assert_eq!(came, wanted, "{kinds:?}");
        wait_for("the loss in the hub's log", BOUND, || {
            let log = pair.hub.log();
            log.contains("ORDERS lost messages").then_some(())
        });
        // A mirror cannot have two messages of one sequence: it says so.
        wait_for_async("the mirror's error", BOUND, async || {
            let info = streams::info(&hub, "MIRROR").await;
            let error = info["mirror"]["error"]["description"].as_str()?;
            error.contains("lost messages").then_some(())
        })
        .await;
    }
}
