//! A mixed load on a server that will be cut off, and what must be left of it afterwards.
//!
//! The load notes what it was promised (an ack, a confirmed answer) and what it only asked for,
//! which may or may not be there. It does not know how the server is cut off.

mod check;
mod findings;
mod promised;
pub(crate) mod read;
mod sourced;
mod work;

pub use findings::{Finding, Findings};

use async_nats::Client;
use serde_json::json;

use crate::random::Random;
use crate::streams::{ask, create};
use crate::wait::wait_for_async;
use promised::Promised;
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(20);
/// The stream that is published to.
const STREAM: &str = "K";
/// The stream that copies it.
const COPY: &str = "S";
/// Durable consumers that are there from the beginning.
const CONSUMERS: usize = 3;

/// One server's load and what it was promised.
#[derive(Debug)]
pub struct Load {
    random: Random,
    promised: Promised,
}

impl Load {
    /// A load that the seed decides, as far as it can: the server has its own pace.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            promised: Promised::default(),
        }
    }

    /// Makes the streams and consumers.
    ///
    /// # Panics
    /// When they are refused.
    pub async fn set_up(&mut self, url: &str) {
        let client = connect(url).await;
        let config = json!({"subjects": ["k.>"], "allow_msg_ttl": true, "allow_direct": true});
        create(&client, STREAM, &config).await;
        let config = json!({"sources": [{"name": STREAM}], "allow_direct": true});
        create(&client, COPY, &config).await;
        for nth in 0..CONSUMERS {
            let made = create_consumer(&client, &durable(nth)).await;
            assert!(made, "consumer {} is made", durable(nth));
        }
    }

    /// How many acks and confirmed answers there were.
    #[must_use]
    pub fn promises(&self) -> u64 {
        self.promised.count
    }
}

fn durable(nth: usize) -> String {
    format!("c{nth}")
}

async fn connect(url: &str) -> Client {
    wait_for_async("a connection", BOUND, async || {
        async_nats::connect(url).await.ok()
    })
    .await
}

/// Whether the server says that it is made.
async fn create_consumer(client: &Client, name: &str) -> bool {
    let config = json!({
        "durable_name": name, "ack_policy": "explicit", "deliver_policy": "all",
        "ack_wait": 1_000_000_000_u64, "max_ack_pending": 100_000,
    });
    let request = json!({"stream_name": STREAM, "config": config, "action": "create"});
    let subject = format!("$JS.API.CONSUMER.CREATE.{STREAM}.{name}");
    ask(client, &subject, request).await["error"].is_null()
}
