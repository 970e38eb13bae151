//! Leafs whose lines to their hub break again and again, while the hub copies what they store.
//!
//! Each leaf has a line of its own, and a stream that is published to all the time; the hub
//! sources them all. A line is reset, closed, broken after so many bytes, swallows all, or gets
//! slower than what is said over it. What must hold: the link is back within two ping intervals of
//! the line, a slow line never breaks, while a link is down `/leafz` says when it acts next, and
//! at the end the hub has each message once and in order.

mod lane;
mod report;

use std::time::{Duration, Instant};

use serde_json::json;

use crate::binary::Kind;
use crate::pair::{Pair, from};
use crate::random::Random;
use crate::say::say;
use crate::server::Server;
use crate::setup::free_port;
use crate::streams::create;
use lane::Lane;
pub use report::{Flap, Report};

/// As both ends are configured; two may stay unanswered.
const PING: Duration = Duration::from_millis(1500);
/// The link is back this soon.
const BACK: Duration = Duration::from_millis(3000);
const TOLD_EVERY: u64 = 50;

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct Flaps {
    /// Leafs, each with its line.
    pub lanes: u64,
    /// Flaps of all lines together.
    pub flaps: u64,
    /// What happens when.
    pub seed: u64,
}

impl Flaps {
    /// Lets it happen, and says what came of it.
    ///
    /// # Panics
    /// When a server does not start or answer.
    pub async fn run(self) -> Report {
        let link = free_port();
        let hub = hub(link);
        let start = Instant::now();
        let mut lanes = Vec::new();
        for nth in 0..self.lanes {
            let random = Random::new(self.seed.wrapping_mul(1_000) + nth);
            lanes.push(Lane::start(nth, &hub, link, random).await);
        }
        let client = async_nats::connect(hub.url()).await.expect("the hub");
        for nth in 0..self.lanes {
            let source = from(&format!("shop{nth}"), "ORDERS", &json!({}));
            let config = json!({"sources": [source], "allow_direct": true});
            create(&client, &copy(nth), &config).await;
        }
        let share = self.flaps.div_ceil(self.lanes.max(1));
        let flapping = lanes.into_iter().map(async |mut lane| {
            for nth in 1..=share {
                lane.flap().await;
                if nth % TOLD_EVERY == 0 {
                    lane.tell(nth, share, start.elapsed());
                }
            }
            lane.finish().await
        });
        let mut report = Report::default();
        for lane in futures_util::future::join_all(flapping).await {
            report.add(&lane);
        }
        report.took = start.elapsed();
        say(&format!("flaps: {report}"));
        report
    }
}

fn hub(link: u16) -> Server {
    let accepts = format!(
        "leafnodes {{ listen: \"127.0.0.1:{link}\", no_advertise: true }}\nping_interval: \"{}ms\"\nping_max: 2",
        PING.as_millis()
    );
    Server::start(Kind::Hub, &Pair::setup("hub", &accepts))
}

/// What the hub's copy of a leaf's stream is called.
fn copy(nth: u64) -> String {
    format!("FROM{nth}")
}
