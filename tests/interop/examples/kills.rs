//! Kills a real server at random moments under load and looks for what it had acknowledged:
//! `cargo run --release -p interop --example kills -- kills=2000 [seed=N] [server=frond|nats-server]`.
//!
//! The system keeps what a killed process wrote, so this shows order, sequences and recovery of
//! the whole binary; what a power cut does to unsynced writes is shown by `sim --example cuts`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a tool that answers on the terminal and fails by panicking"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, consumer::PullConsumer};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, wait_for_async};

const BOUND: Duration = Duration::from_secs(20);
const TOLD_EVERY: u64 = 25;

/// What was acknowledged: sequence to payload.
type Acked = BTreeMap<u64, String>;

struct Rig {
    server: Server,
    random: u64,
    acked: Acked,
    /// Messages below it were purged.
    purged: u64,
    sent: u64,
}

impl Rig {
    fn below(&mut self, bound: u64) -> u64 {
        // splitmix64: a seed gives the same moments, if not the same interleaving.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)) % bound
    }

    async fn context(&self) -> jetstream::Context {
        let client = wait_for_async("a connection", BOUND, async || {
            async_nats::connect(self.server.url()).await.ok()
        });
        jetstream::new(client.await)
    }

    /// Publishes, acknowledges and now and then purges, until it is cut off.
    async fn load(&mut self) {
        let context = self.context().await;
        let stream = context.get_stream("K").await.expect("the stream is there");
        let durable = jetstream::consumer::pull::Config {
            durable_name: Some(format!("c{}", self.below(3))),
            ..Default::default()
        };
        let consumer: PullConsumer = stream.create_consumer(durable).await.expect("a consumer");
        loop {
            let mut waiting = Vec::new();
            for _ in 0..=self.below(16) {
                self.sent += 1;
                let payload = format!("{}", self.sent);
                let message = jetstream::message::PublishMessage::build()
                    .payload(payload.clone().into())
                    .message_id(&payload);
                let sent = context.send_publish(format!("k.{}", self.sent % 7), message);
                waiting.push((payload, sent.await.expect("it is sent")));
            }
            for (payload, ack) in waiting {
                if let Ok(ack) = ack.await {
                    let twice = self.acked.insert(ack.sequence, payload);
                    assert_eq!(twice, None, "sequence {} was given twice", ack.sequence);
                }
            }
            if let Ok(mut batch) = consumer.fetch().max_messages(4).messages().await {
                while let Some(Ok(message)) = batch.next().await {
                    let _ = message.ack().await;
                }
            }
            if self.below(64) == 0 {
                let keep = self.sent.saturating_sub(50).min(self.acked.len() as u64);
                // It may be done although nobody hears of it.
                self.purged = self.purged.max(keep);
                let _ = stream.purge().sequence(keep.max(1)).await;
            }
        }
    }

    /// Everything acknowledged is there, as it was.
    async fn check(&mut self) {
        let context = self.context().await;
        let mut stream = context.get_stream("K").await.expect("the stream is there");
        let state = stream.info().await.expect("its state").state.clone();
        let purged = self.purged.max(state.first_sequence);
        assert!(
            state.first_sequence <= self.purged.max(1),
            "first sequence {} though only those below {} were purged",
            state.first_sequence,
            self.purged
        );
        self.acked.retain(|seq, _| *seq >= purged);
        for (seq, payload) in &self.acked {
            let message = stream.get_raw_message(*seq).await;
            let message = message.unwrap_or_else(|error| panic!("{seq} is lost: {error}"));
            assert_eq!(message.payload, payload.as_bytes(), "sequence {seq}");
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let (mut kills, mut seed, mut kind) = (100, 1, Kind::Leaf);
    for word in std::env::args().skip(1) {
        match word.split_once('=') {
            Some(("kills", number)) => kills = number.parse().expect("a number"),
            Some(("seed", number)) => seed = number.parse().expect("a number"),
            Some(("server", "frond")) => kind = Kind::Leaf,
            Some(("server", "nats-server")) => kind = Kind::Real,
            Some(_) | None => {
                println!("usage: kills [kills=COUNT] [seed=N] [server=frond|nats-server]");
                return ExitCode::from(2);
            }
        }
    }
    let mut rig = Rig {
        server: Server::start(kind, &Setup::jetstream()),
        random: seed,
        acked: Acked::new(),
        purged: 0,
        sent: 0,
    };
    let stream = jetstream::stream::Config {
        name: "K".into(),
        subjects: vec!["k.>".into()],
        ..Default::default()
    };
    let made = rig.context().await.create_stream(stream).await;
    made.expect("a stream is made");
    let start = Instant::now();
    for kill in 1..=kills {
        let moment = Duration::from_millis(20 + rig.below(400));
        let _ = tokio::time::timeout(moment, rig.load()).await;
        rig.server.kill();
        rig.server.restart();
        rig.check().await;
        if kill % TOLD_EVERY == 0 || kill == kills {
            println!(
                "{kill} kills of {kills}, {} sent, {:.0?}",
                rig.sent,
                start.elapsed()
            );
        }
    }
    println!(
        "{kills} kills of {}: 0 acknowledged lost, 0 reordered, 0 sequences given twice",
        kind.name()
    );
    ExitCode::SUCCESS
}
