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

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, consumer::PullConsumer};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, wait_for_async};

const BOUND: Duration = Duration::from_secs(20);
const TOLD_EVERY: u64 = 25;

/// A purge leaves so many acknowledged messages.
const KEPT: usize = 50;
const CONSUMERS: u64 = 3;

/// What was acknowledged: sequence to payload, which are the numbers of what was sent.
type Acked = BTreeMap<u64, u64>;

struct Rig {
    server: Server,
    random: u64,
    acked: Acked,
    /// Messages below it were purged.
    purged: u64,
    sent: u64,
    /// For each consumer the sequences whose acknowledgement was confirmed.
    done: [BTreeSet<u64>; CONSUMERS as usize],
    confirmed: u64,
    /// How many came again after that.
    redelivered: u64,
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
        let number = self.below(CONSUMERS);
        let durable = jetstream::consumer::pull::Config {
            durable_name: Some(format!("c{number}")),
            ..Default::default()
        };
        let consumer: PullConsumer = stream.create_consumer(durable).await.expect("a consumer");
        loop {
            let mut waiting = Vec::new();
            for _ in 0..=self.below(16) {
                self.sent += 1;
                let payload = self.sent;
                let message = jetstream::message::PublishMessage::build()
                    .payload(payload.to_string().into())
                    .message_id(payload.to_string());
                let sent = context.send_publish(format!("k.{}", self.sent % 7), message);
                waiting.push((payload, sent.await.expect("it is sent")));
            }
            for (payload, ack) in waiting {
                if let Ok(ack) = ack.await {
                    let twice = self.acked.insert(ack.sequence, payload);
                    assert_eq!(twice, None, "sequence {} was given twice", ack.sequence);
                }
            }
            self.consume(number, &consumer).await;
            let keep = self.acked.keys().rev().nth(KEPT).copied();
            if let Some(keep) = keep
                && self.below(64) == 0
            {
                // It may be done although nobody hears of it.
                self.purged = self.purged.max(keep);
                let _ = stream.purge().sequence(keep).await;
            }
        }
    }

    /// Takes some messages of a consumer and has their acknowledgements confirmed.
    async fn consume(&mut self, number: u64, consumer: &PullConsumer) {
        let Ok(mut batch) = consumer.fetch().max_messages(4).messages().await else {
            return;
        };
        let done = &mut self.done[number as usize];
        while let Some(Ok(message)) = batch.next().await {
            let seq = message.info().expect("a reply subject").stream_sequence;
            self.redelivered += u64::from(done.contains(&seq));
            if message.double_ack().await.is_ok() && done.insert(seq) {
                self.confirmed += 1;
            }
        }
    }

    /// Everything acknowledged is there, as it was, and in the order in which it was sent.
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
        for done in &mut self.done {
            *done = done.split_off(&purged);
        }
        let mut before = 0;
        for (seq, payload) in &self.acked {
            let message = stream.get_raw_message(*seq).await;
            let message = message.unwrap_or_else(|error| panic!("{seq} is lost: {error}"));
            assert_eq!(message.payload, payload.to_string(), "sequence {seq}");
            assert!(before < *payload, "{payload} at {seq} is after {before}");
            before = *payload;
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
        done: Default::default(),
        confirmed: 0,
        redelivered: 0,
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
    // Whatever of the first three is not so has ended this with a panic.
    println!(
        "{kills} kills of {}: no acknowledged message lost, reordered or its sequence given \
         twice; of {} confirmed acknowledgements {} were forgotten",
        kind.name(),
        rig.confirmed,
        rig.redelivered
    );
    if rig.redelivered > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
