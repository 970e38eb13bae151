//! The story: a shop that keeps taking orders while the line is down, and a hub that has each of them once.
//!
//! Four tills (three on async-nats, one on nats-py) publish into the leaf's stream. The hub is away, the leaf's plug is
//! pulled, the hub comes and sources the stream over the leaf's link, both are killed under load, and in the end every
//! acked order is in the hub's stream exactly once, in its till's order.

mod act;
mod cast;
mod ledger;
mod till;

use std::time::{Duration, Instant};

pub use cast::{Cast, Orders};
pub use ledger::{Acked, judge};

use crate::binary::Kind;
use crate::say::say;

/// How long one telling took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// From the first start to the last check.
    pub whole: Duration,
    /// From the moment both servers were ready again to the hub having every order.
    pub resumed: Duration,
    /// How many orders were acked.
    pub orders: u64,
}

/// Tells the story with these servers.
///
/// # Panics
/// When something doesn't happen within its bound, or an order is missing, doubled or out of order.
pub async fn tell(leaf: Kind, hub: Kind) -> Times {
    let start = Instant::now();
    let title = format!("story ({} -> {})", leaf.name(), hub.name());
    let mut cast = Cast::new(leaf, hub);
    let mut acked = Acked::default();
    act::orders_without_hub(&mut cast, &mut acked, 225).await;
    say(&format!(
        "{title}: {} orders acked with the hub away; pulling the plug",
        acked.total()
    ));
    act::pull_the_plug(&mut cast, &acked).await;
    act::more_orders(&cast, &mut acked, 75).await;
    say(&format!(
        "{title}: {} orders acked; the hub comes",
        acked.total()
    ));
    act::hub_comes(&mut cast, &acked).await;
    act::talk_both_ways(&cast).await;
    say(&format!(
        "{title}: the hub has them all; killing both under load"
    ));
    let back = act::kill_both_under_load(&mut cast, &mut acked).await;
    let resumed = act::hub_has_all(&cast, &acked, back).await;
    act::every_order_once(&cast, &acked).await;
    let times = Times {
        whole: start.elapsed(),
        resumed,
        orders: acked.total(),
    };
    say(&format!(
        "{title}: {} orders, each once and in order; caught up {:.1} s after the restarts, {:.1} s in all",
        times.orders,
        times.resumed.as_secs_f64(),
        times.whole.as_secs_f64()
    ));
    times
}

/// The part that needs no JetStream at the hub: talk over the link, the hub killed and started again, talk again.
///
/// # Panics
/// When something doesn't happen within its bound.
pub async fn tell_core(leaf: Kind, hub: Kind) {
    let mut cast = Cast::new(leaf, hub);
    cast.start_leaf();
    cast.start_hub();
    act::talk_both_ways(&cast).await;
    cast.hub().kill();
    cast.restart_hub();
    act::talk_both_ways(&cast).await;
    cast.leaf().kill();
    cast.restart_leaf();
    act::talk_both_ways(&cast).await;
    say(&format!(
        "core story ({} -> {}): the link came back each time",
        leaf.name(),
        hub.name()
    ));
}
