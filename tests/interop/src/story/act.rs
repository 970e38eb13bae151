//! The acts of the story, in order.

use std::time::{Duration, Instant};

use async_nats::Client;
use futures_util::StreamExt as _;

use crate::story::cast::{Cast, client};
use crate::story::ledger::{Acked, judge};
use crate::story::till::{Goal, Tills};
use crate::wait::wait_for_async;

const BOUND: Duration = Duration::from_secs(30);
const HEARD_BOUND: Duration = Duration::from_millis(500);
/// A real nats-server takes its time to take up sourcing again (its retries back off to tens of seconds).
const SOURCING_BOUND: Duration = Duration::from_secs(180);

pub(crate) async fn orders_without_hub(cast: &mut Cast, acked: &mut Acked, each: u64) {
    cast.start_leaf();
    cast.leaf_orders().await.create(None).await;
    more_orders(cast, acked, each).await;
    local_talk(cast).await;
}

pub(crate) async fn more_orders(cast: &Cast, acked: &mut Acked, each: u64) {
    let goal = Goal {
        orders: each,
        file: None,
    };
    Tills::start(&cast.leaf_url(), acked, &goal)
        .finish(acked)
        .await;
    assert_eq!(
        cast.leaf_orders().await.count().await,
        Some(acked.total()),
        "orders in the leaf's stream"
    );
}

/// Plain publish and subscribe between two clients of the leaf.
async fn local_talk(cast: &Cast) {
    let (one, other) = (
        client(&cast.leaf_url()).await,
        client(&cast.leaf_url()).await,
    );
    hears(&one, &other, "prices.milk").await;
}

/// A plain message from one client to another; said again until the interest has arrived.
async fn hears(listener: &Client, speaker: &Client, subject: &'static str) {
    let mut heard = listener.subscribe(subject).await.expect("subscribed");
    listener.flush().await.expect("flushed");
    wait_for_async(
        &format!("a plain message on {subject}"),
        BOUND,
        async || {
            speaker.publish(subject, "1.19".into()).await.ok()?;
            let message = tokio::time::timeout(HEARD_BOUND, heard.next()).await.ok()?;
            message.map(|message| assert_eq!(message.payload.as_ref(), b"1.19"))
        },
    )
    .await;
}

pub(crate) async fn pull_the_plug(cast: &mut Cast, acked: &Acked) {
    cast.leaf().kill();
    cast.restart_leaf();
    let orders = cast.leaf_orders().await;
    assert_eq!(
        orders.count().await,
        Some(acked.total()),
        "orders in the leaf's stream after the plug was pulled"
    );
    judge(acked, &orders.read().await).expect("every acked order survived");
}

pub(crate) async fn hub_comes(cast: &mut Cast, acked: &Acked) {
    cast.start_hub();
    talk_both_ways(cast).await;
    let orders = cast.hub_orders().await;
    orders.create(Some("$JS.shop-1.API")).await;
    wait_for_async(
        "the hub to have sourced the leaf's orders",
        SOURCING_BOUND,
        async || (orders.count().await == Some(acked.total())).then_some(()),
    )
    .await;
}

/// Core publish and requests over the link, in both directions; also the sign that the link is up.
pub(crate) async fn talk_both_ways(cast: &Cast) {
    let (leaf, hub) = (
        client(&cast.leaf_url()).await,
        client(&cast.hub_url()).await,
    );
    ask(&leaf, &hub, "ask.hub").await;
    ask(&hub, &leaf, "ask.leaf").await;
    hears(&hub, &leaf, "news.shop").await;
    hears(&leaf, &hub, "news.centre").await;
}

/// One side asks, the other answers with what it heard.
async fn ask(asker: &Client, answerer: &Client, subject: &'static str) {
    let mut requests = answerer.subscribe(subject).await.expect("subscribed");
    answerer.flush().await.expect("flushed");
    let answerer = answerer.clone();
    let service = tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            if let Some(reply) = request.reply {
                answerer
                    .publish(reply, request.payload)
                    .await
                    .expect("published");
            }
        }
    });
    wait_for_async(
        &format!("an answer to {subject} over the link"),
        BOUND,
        async || {
            let answer = asker.request(subject, "echo".into()).await.ok()?;
            (answer.payload.as_ref() == b"echo").then_some(())
        },
    )
    .await;
    service.abort();
}

/// Kills the hub, then the leaf, while all tills publish; starts both again and lets the tills go on for a while.
/// Gives the moment both were ready.
pub(crate) async fn kill_both_under_load(cast: &mut Cast, acked: &mut Acked) -> Instant {
    let stop = cast.leaf().dir().join("enough");
    let tills = Tills::start(
        &cast.leaf_url(),
        acked,
        &Goal {
            orders: 300,
            file: Some(stop.clone()),
        },
    );
    reach(cast, acked.total() + 200).await;
    cast.hub().kill();
    let now = cast
        .leaf_orders()
        .await
        .count()
        .await
        .expect("the leaf goes on without its hub");
    reach(cast, now + 200).await;
    cast.leaf().kill();
    cast.restart_leaf();
    cast.restart_hub();
    let back = Instant::now();
    let now = wait_for_async("the leaf's stream after its restart", BOUND, async || {
        cast.leaf_orders().await.count().await
    })
    .await;
    reach(cast, now + 200).await;
    std::fs::write(stop, "").expect("own folder can be written");
    tills.finish(acked).await;
    back
}

async fn reach(cast: &Cast, count: u64) {
    let orders = cast.leaf_orders().await;
    wait_for_async(
        &format!("{count} orders in the leaf's stream"),
        BOUND,
        async || orders.count().await.filter(|held| *held >= count),
    )
    .await;
}

/// Waits until the hub has as many as were acked; gives how long that took.
pub(crate) async fn hub_has_all(cast: &Cast, acked: &Acked, since: Instant) -> Duration {
    let orders = cast.hub_orders().await;
    wait_for_async(
        "the hub to have every acked order",
        SOURCING_BOUND,
        async || orders.count().await.filter(|held| *held >= acked.total()),
    )
    .await;
    since.elapsed()
}

pub(crate) async fn every_order_once(cast: &Cast, acked: &Acked) {
    judge(acked, &cast.leaf_orders().await.read().await)
        .expect("the leaf has every acked order once");
    judge(acked, &cast.hub_orders().await.read().await)
        .expect("the hub has every acked order once");
}
