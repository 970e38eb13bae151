//! The hub's word that a box on trial reached it: nobody else can give it.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::time::{Duration, Instant};

use async_nats::Client;
use frond_account::nkey::{KeyPair, Role};
use frond_ota::Confirmation;
use interop::{Kind, Server, Setup, free_port, wait_for, wait_for_async};
use serde_json::Value;

use crate::fleet::Fleet;
use crate::ota_hub::{SOURCE, config, in_dir, publish};

const BOUND: Duration = Duration::from_secs(30);
/// The window, and time to go back.
const BACK: Duration = Duration::from_secs(40);
const KEY: &str = "$KV.FROND_CONFIG.confirm.till-7";

fn logged(server: &Server, words: &str) {
    server.wait_logged(words, BOUND);
}

/// A hub that signs, and one with the same data that does not.
fn hub_config(port: u16, key: &str) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"$DIR/js\", domain: hub }}\n\
         leafnodes {{ listen: \"127.0.0.1:{port}\" }}\nfleet {{ {key} }}\n"
    )
}

/// What the box wants signed, as the registry has it.
async fn wanted(client: &Client) -> Confirmation {
    let streams = async_nats::jetstream::new(client.clone());
    let registry = streams.get_key_value("FROND_FLEET").await.unwrap();
    wait_for_async("a box on trial", BOUND, async || {
        let said = registry.get("till-7").await.ok()??;
        let said: Value = serde_json::from_slice(&said).ok()?;
        let word = |at: &str| said.pointer(at)?.as_str().map(str::to_owned);
        Some(Confirmation {
            device: "till-7".to_owned(),
            digest: word("/trial/digest")?,
            nonce: word("/trial/nonce")?,
        })
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hubs_key_did_not_sign_is_not_confirmed() {
    let (fleet, port) = (Fleet::new(), free_port());
    let own_key = KeyPair::from_random(Role::Operator, &[9; 32]);
    let other = KeyPair::from_random(Role::Operator, &[8; 32]);
    let dir = tempfile::tempdir().unwrap();
    let seed = dir.path().join("hub.seed");
    std::fs::write(&seed, own_key.seed()).unwrap();
    let signs = hub_config(port, &format!("confirm_key: \"{}\"", seed.display()));
    let hub = Server::start(Kind::Hub, &Setup::config(&signs));
    logged(&hub, "boxes are known");
    let trust = format!("trust {{ hub {{ keys: [{}] }}\n", own_key.public_key());
    let block = fleet.block(SOURCE).replace("trust {", &trust);
    let own = format!("{}{block}", config(port, free_port(), ""));
    let leaf = Server::start(Kind::Leaf, &Setup::config(&own));
    let text = |more: &str| in_dir(&leaf, &config(port, free_port(), more));
    publish(&fleet, &hub, 1, &text("max_payload: 2000000"));
    logged(&leaf, "version 1 is confirmed");
    let client = async_nats::connect(hub.url()).await.unwrap();
    let streams = async_nats::jetstream::new(client.clone());
    let bucket = streams.get_key_value("FROND_CONFIG").await.unwrap();
    let former = bucket.get("confirm.till-7").await.unwrap().unwrap();

    // The same hub takes reports as before, and does not sign any more.
    hub.reload(&hub_config(port, ""));
    wait_for("the fleet to begin anew", BOUND, || {
        (hub.log().matches("boxes are known").count() == 2).then_some(())
    });
    let begun = Instant::now();
    publish(&fleet, &hub, 2, &text("max_payload: 3000000"));
    logged(&leaf, "version 2 runs on trial");
    let wanted = wanted(&client).await;
    let elsewhere = Confirmation {
        device: "till-8".to_owned(),
        ..wanted.clone()
    };
    for forged in [
        former.to_vec(),
        wanted.sign(&other),
        elsewhere.sign(&own_key),
        b"junk".to_vec(),
    ] {
        client.publish(KEY, forged.into()).await.unwrap();
    }
    client.flush().await.unwrap();
    wait_for("the box to go back", BACK, || {
        leaf.log().contains("version 2 is given up").then_some(())
    });
    println!("back after {:?}", begun.elapsed());
    let log = leaf.log();
    assert!(log.contains("hub: the hub has not signed"), "{log}");
    assert!(!log.contains("version 2 is confirmed"), "{log}");

    // With the right key it is.
    hub.reload(&signs);
    publish(&fleet, &hub, 3, &text("max_payload: 3000000"));
    logged(&leaf, "version 3 is confirmed");
}
