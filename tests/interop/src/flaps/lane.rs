//! One leaf, its line, and what is said over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::{Client, connect};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::report::{Flap, Report};
use super::{BACK, PING, copy};
use crate::binary::Kind;
use crate::flaky::{Break, FlakyLine, Speaker, Weather, pause};
use crate::http::http_get_soon;
use crate::link::echo;
use crate::load::read::all_within;
use crate::pair::Pair;
use crate::random::Random;
use crate::say::say;
use crate::server::Server;
use crate::setup::free_port;
use crate::streams::{create, holds, publish};

const BOUND: Duration = Duration::from_secs(120);
/// A link that is given up for lost: this is not a state that passes.
const GIVEN_UP: Duration = Duration::from_secs(60);
const SLOW_BYTES_PER_S: usize = 48_000 / 8;
const OVERLOAD_BYTES: usize = 1_000;
const LOOK_EVERY: Duration = Duration::from_millis(25);
const PUBLISHED_AT_ONCE: u64 = 5;
const PUBLISHED_EVERY: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct Lane {
    nth: u64,
    leaf: Server,
    http: String,
    line: FlakyLine,
    hub: Client,
    till: Client,
    random: Random,
    report: Report,
    is_over: Arc<AtomicBool>,
    publisher: JoinHandle<u64>,
}

impl Lane {
    pub(super) async fn start(nth: u64, hub: &Server, link: u16, random: Random) -> Self {
        let line = FlakyLine::new(link).await;
        let http = format!("127.0.0.1:{}", free_port());
        let dials = format!(
            "http: \"{http}\"\nping_interval: \"{}ms\"\nping_max: 2\n\
             leafnodes {{ reconnect: \"250ms\", remotes: [ {{\n\
             url: \"nats-leaf://127.0.0.1:{}\", first_info_timeout: \"1s\" }} ] }}",
            PING.as_millis(),
            line.port()
        );
        let leaf = Server::start(Kind::Leaf, &Pair::setup(&format!("shop{nth}"), &dials));
        let hub = connect(hub.url()).await.expect("the hub");
        let till = connect(leaf.url()).await.expect("the leaf");
        let config = json!({"subjects": [format!("orders{nth}")], "allow_direct": true});
        create(&till, "ORDERS", &config).await;
        echo(&till, &alive(nth)).await;
        // Somebody wants the overload at each end, or it would not cross.
        let feeds = [(&till, "down"), (&hub, "up")].map(async |(client, way)| {
            let subject = format!("{way}{nth}");
            let mut feed = client.subscribe(subject).await.expect("subscribed");
            client.flush().await.expect("flushed");
            tokio::spawn(async move {
                while futures_util::StreamExt::next(&mut feed).await.is_some() {}
            });
        });
        futures_util::future::join_all(feeds).await;
        let is_over = Arc::new(AtomicBool::new(false));
        let publisher = tokio::spawn(orders(till.clone(), nth, Arc::clone(&is_over)));
        Self {
            nth,
            leaf,
            http,
            line,
            hub,
            till,
            random,
            report: Report::default(),
            is_over,
            publisher,
        }
    }

    pub(super) fn tell(&self, nth: u64, of: u64, since: Duration) {
        let lane = self.nth;
        let wrong = self.report.late.len() + self.report.stuck.len();
        say(&format!(
            "line {lane}: {nth} flaps of {of}, {wrong} wrong, {since:.0?}"
        ));
    }

    pub(super) async fn flap(&mut self) {
        self.back(None).await;
        let calm = self.random.below(150);
        pause(Duration::from_millis(1 + calm)).await;
        let how = match self.random.once_in(2) {
            true => Break::Reset,
            false => Break::Close,
        };
        let flap = match self.random.below(100) {
            0..30 => {
                self.line.cut(Break::Reset);
                Flap::Reset
            }
            30..45 => {
                self.line.cut(Break::Close);
                Flap::Close
            }
            45..75 => {
                self.cut_within(how).await;
                Flap::Bytes
            }
            75..83 => {
                self.swallow().await;
                self.line.set(Weather::Fair);
                Flap::Hole
            }
            83..91 => {
                self.swallow().await;
                self.line.cut(how);
                self.line.set(Weather::Fair);
                Flap::LostHole
            }
            _ => return self.slow_down().await,
        };
        self.back(Some(flap)).await;
    }

    /// Breaks it within what is said, perhaps within the next handshake as well.
    async fn cut_within(&mut self, how: Break) {
        for _ in 0..=self.random.below(2) {
            let speaker = match self.random.once_in(2) {
                true => Speaker::Near,
                false => Speaker::Far,
            };
            let bytes = self.random.below(2_500);
            self.line
                .cut_after(speaker, usize::try_from(bytes).expect("small"), how);
            // Pings alone would take their time to be so many bytes.
            while self.line.is_to_be_cut() {
                self.overload().await;
                pause(LOOK_EVERY).await;
            }
        }
    }

    /// For a moment, or for longer than pings go without answers.
    async fn swallow(&mut self) {
        self.line.set(Weather::Hole);
        let time = self.random.below(6_000);
        let until = Instant::now() + Duration::from_millis(50 + time);
        while Instant::now() < until {
            self.look().await;
            pause(LOOK_EVERY).await;
        }
    }

    /// Slower than its load, for longer than pings go without answers.
    async fn slow_down(&mut self) {
        let before = self.look().await["id"].clone();
        self.line.set(Weather::Slow(SLOW_BYTES_PER_S));
        let until = Instant::now() + PING * 4;
        while Instant::now() < until {
            self.overload().await;
            self.look().await;
            pause(Duration::from_millis(50)).await;
        }
        let is_broken = self.look().await["id"] != before;
        self.report.broken_slow += u64::from(is_broken);
        self.line.set(Weather::Fair);
        self.back(Some(Flap::Slow)).await;
    }

    async fn overload(&self) {
        let payload = vec![b'x'; OVERLOAD_BYTES];
        for (client, way) in [(&self.hub, "down"), (&self.till, "up")] {
            let subject = format!("{way}{}", self.nth);
            let published = client.publish(subject, payload.clone().into());
            published.await.expect("the server is there");
        }
    }

    /// Waits until the link is there and a request of the hub is answered over it.
    async fn back(&mut self, after: Option<Flap>) {
        let start = Instant::now();
        loop {
            let remote = self.look().await;
            let is_up = remote["state"] == "up";
            if is_up && self.answers().await {
                break;
            }
            if start.elapsed() > GIVEN_UP {
                self.report
                    .stuck
                    .push(format!("line {}: {remote}", self.nth));
                break;
            }
            if !is_up {
                pause(LOOK_EVERY).await;
            }
        }
        let Some(flap) = after else {
            return;
        };
        let took = start.elapsed();
        self.report.count_flap(flap, took);
        if took > BACK {
            let remote = self.look().await;
            let late = format!("line {}: {flap:?}: {took:.1?}: {remote}", self.nth);
            self.report.late.push(late);
        }
    }

    async fn answers(&self) -> bool {
        let request = self.hub.request(alive(self.nth), "x".into());
        let answer = tokio::time::timeout(Duration::from_millis(500), request).await;
        answer.is_ok_and(|answer| answer.is_ok())
    }

    /// What the leaf says of its link; down with nothing planned is not a state to be in.
    async fn look(&mut self) -> Value {
        let body = http_get_soon(&self.http, "/leafz").await;
        let leafz: Value = serde_json::from_str(&body).expect("JSON");
        let remote = leafz["remotes"][0].clone();
        if remote["state"] != "up" && !remote["due"].is_string() {
            self.report
                .stuck
                .push(format!("line {}: {remote}", self.nth));
        }
        remote
    }

    /// Nothing more is published: the hub must come to have it all.
    pub(super) async fn finish(mut self) -> Report {
        self.is_over.store(true, Ordering::Relaxed);
        let sent = self.publisher.await.expect("published");
        holds(&self.till, "ORDERS", sent, BOUND).await;
        let copy = copy(self.nth);
        let came = holds(&self.hub, &copy, sent, BOUND * 2);
        let is_all_there = tokio::time::timeout(BOUND, came).await.is_ok();
        let kept = all_within(5 * BOUND, &self.hub, &copy).await;
        let numbers: Vec<u64> = kept.values().map(|kept| number(&kept.payload)).collect();
        let in_order = numbers.windows(2).filter(|two| two[0] < two[1]).count();
        let mut single = numbers.clone();
        single.sort_unstable();
        single.dedup();
        let count = |count: usize| u64::try_from(count).expect("small");
        self.report.messages = sent;
        self.report.lost = sent - count(single.len());
        self.report.doubled = count(numbers.len().saturating_sub(1) - in_order);
        if !is_all_there {
            let log = self.leaf.log();
            say(&format!("line {}: {sent} were sent\n{log}", self.nth));
        }
        self.report
    }
}

/// Stores orders until it is over, and says how many.
async fn orders(till: Client, nth: u64, is_over: Arc<AtomicBool>) -> u64 {
    let subject = format!("orders{nth}");
    let mut random = Random::new(nth);
    let mut sent = 0;
    while !is_over.load(Ordering::Relaxed) {
        let some = (0..PUBLISHED_AT_ONCE).map(|more| {
            let length = usize::try_from(random.below(400)).expect("small");
            let payload = format!("{} {}", sent + more, "x".repeat(length));
            publish(&till, &subject, &[], payload.into())
        });
        futures_util::future::join_all(some.collect::<Vec<_>>()).await;
        sent += PUBLISHED_AT_ONCE;
        pause(PUBLISHED_EVERY).await;
    }
    sent
}

fn number(payload: &[u8]) -> u64 {
    let text = std::str::from_utf8(payload).expect("text");
    let digits = text.split(' ').next().expect("a word");
    digits.parse().expect("a number")
}

/// Who asks here over the link is answered.
fn alive(nth: u64) -> String {
    format!("alive{nth}")
}
