//! Boxes that are only words: they follow their keys at a hub and say how they are, as real ones
//! do.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Client;
use frond_ota::Sealed;
use futures_util::StreamExt as _;
use interop::Server;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// They say the same again that often.
const EVERY: Duration = Duration::from_secs(10);
/// Boxes that share a connection.
const SHARE: usize = 50;

/// What a box does with a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    Confirms,
    GoesBack,
    /// It tries it for ever.
    Tries,
}

/// By the number of the box and the version.
pub(crate) type Natures = fn(usize, u64) -> Nature;

pub(crate) struct SimBoxes {
    clients: Vec<Client>,
    tasks: Vec<JoinHandle<()>>,
    told: Arc<AtomicUsize>,
    /// What each last said of itself.
    said: Vec<Arc<Mutex<Value>>>,
}

pub(crate) fn name(at: usize) -> String {
    format!("sim-{at:04}")
}

impl SimBoxes {
    /// So many boxes of the group shops.
    pub(crate) async fn open(hub: &Server, count: usize, natures: Natures) -> Self {
        let mut boxes = Self {
            clients: Vec::new(),
            tasks: Vec::new(),
            told: Arc::default(),
            said: Vec::new(),
        };
        for first in (0..count).step_by(SHARE) {
            let client = async_nats::connect(hub.url()).await.unwrap();
            for at in first..count.min(first + SHARE) {
                let key = format!("$KV.FROND_CONFIG.device.{}", name(at));
                let mut told = client.subscribe(key).await.unwrap();
                let said = Arc::new(Mutex::new(json!({ "state": "idle" })));
                boxes.said.push(Arc::clone(&said));
                let (client, count) = (client.clone(), Arc::clone(&boxes.told));
                let mut again = tokio::time::interval(EVERY);
                boxes.tasks.push(tokio::spawn(async move {
                    loop {
                        let message = tokio::select! {
                            message = told.next() => message,
                            _ = again.tick() => {
                                let last = said.lock().unwrap().clone();
                                say(&client, at, &last).await;
                                continue;
                            }
                        };
                        let Some(message) = message else { return };
                        let Ok(sealed) = Sealed::decode(&message.payload) else {
                            continue;
                        };
                        count.fetch_add(1, Ordering::Relaxed);
                        let decided = decide(natures, at, &sealed);
                        said.lock().unwrap().clone_from(&decided);
                        say(&client, at, &decided).await;
                    }
                }));
            }
            client.flush().await.unwrap();
            boxes.clients.push(client);
        }
        boxes
    }

    /// One of them says something else of itself.
    pub(crate) async fn say(&self, at: usize, said: &Value) {
        let client = &self.clients[at / SHARE];
        self.said[at].lock().unwrap().clone_from(said);
        say(client, at, said).await;
        client.flush().await.unwrap();
    }

    /// How many bundles came.
    pub(crate) fn told(&self) -> usize {
        self.told.load(Ordering::Relaxed)
    }
}

impl Drop for SimBoxes {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

fn decide(natures: Natures, at: usize, sealed: &Sealed) -> Value {
    let version = sealed.content().unwrap().version;
    let digest = sealed.digest().to_string();
    match natures(at, version) {
        Nature::Confirms => json!({ "active": { "version": version, "digest": digest } }),
        Nature::GoesBack => {
            json!({ "last_failure": { "version": version, "why": "the hub was not reached" } })
        }
        Nature::Tries => {
            json!({ "state": "trying", "trial": { "version": version, "left_s": 500 } })
        }
    }
}

async fn say(client: &Client, at: usize, said: &Value) {
    let mut status = json!({
        "device": name(at),
        "groups": ["shops"],
        "software": "0.1.0",
        "state": "idle",
        "active": { "version": 0 },
        "instance": "1",
        "disk": { "used_bytes": 120_000_000, "all_bytes": 1_000_000_000 },
        "temperature_c": 47.5,
        "clock_trusted": true,
    });
    if let (Some(all), Some(more)) = (status.as_object_mut(), said.as_object()) {
        all.extend(more.clone());
    }
    let key = format!("$KV.FROND_FLEET.{}", name(at));
    client
        .publish(key, status.to_string().into())
        .await
        .unwrap();
}
