//! The load: publishes, acks, purges, consumers that come and go, until it is cut off.

use std::time::Instant;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::message::PublishMessage;
use async_nats::{Client, jetstream};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::promised::{Acked, Sent};
use super::{CONSUMERS, COPY, Finding, Findings, Load, STREAM, connect, create_consumer, durable};
use crate::streams::ask;

/// A purge leaves so many messages.
const KEPT: u64 = 60;
const IN_FLIGHT_MAX: u64 = 16;
const COMING_MAX: usize = 6;

impl Load {
    /// Loads the server until it is cut off (and the future dropped). What is found on the way is
    /// added.
    pub async fn run(&mut self, url: &str, findings: &mut Findings) {
        let client = connect(url).await;
        let context = jetstream::new(client.clone());
        self.send_again(&context, findings).await;
        loop {
            let burst = self.random.below(IN_FLIGHT_MAX) + 1;
            let first = self.promised.sent + 1;
            self.promised.sent += burst;
            let all: Vec<Sent> = (first..first + burst).map(Sent).collect();
            self.publish(&context, &all, findings).await;
            match self.random.below(24) {
                0 => self.purge(&client).await,
                1 => self.purge_copy(&client).await,
                2..5 => self.make_or_delete_consumer(&client).await,
                _ => self.consume(&context, findings).await,
            }
        }
    }

    /// What had no answer is sent again under its id: it is there once then.
    async fn send_again(&mut self, context: &jetstream::Context, findings: &mut Findings) {
        let all: Vec<Sent> = self.promised.unanswered.iter().copied().map(Sent).collect();
        self.promised.again.extend(&self.promised.unanswered);
        self.publish(context, &all, findings).await;
    }

    async fn publish(
        &mut self,
        context: &jetstream::Context,
        all: &[Sent],
        findings: &mut Findings,
    ) {
        let mut waiting = Vec::new();
        for sent in all {
            if sent.id().is_some() {
                self.promised.unanswered.insert(sent.0);
            }
            let asked_at = Instant::now();
            if let Some(ack) = send(context, *sent).await {
                waiting.push((*sent, asked_at, ack));
            }
        }
        for (sent, asked_at, ack) in waiting {
            if let Ok(ack) = ack.await {
                self.acked(sent, asked_at, ack.sequence, findings);
            }
        }
    }

    /// Notes an ack; a sequence may be told again only for the same message.
    pub(super) fn acked(
        &mut self,
        sent: Sent,
        asked_at: Instant,
        sequence: u64,
        findings: &mut Findings,
    ) {
        let promised = &mut self.promised;
        promised.count += 1;
        promised.unanswered.remove(&sent.0);
        promised.last = promised.last.max(sequence);
        let acked = Acked {
            sent,
            asked_at,
            acked_at: Instant::now(),
        };
        match promised.acked.get(&sequence) {
            Some(other) if other.sent != sent => {
                let example = format!("{sequence} to {} and {}", other.sent.0, sent.0);
                findings.add(Finding::SequenceTwice, example);
            }
            Some(_) => {}
            None => {
                promised.acked.insert(sequence, acked);
            }
        }
    }

    async fn purge(&mut self, client: &Client) {
        let keep = self.promised.last.saturating_sub(KEPT);
        if keep == 0 {
            // Asked for sequence 0 a server purges all.
            return;
        }
        // It may be done although nobody hears of it.
        self.promised.may_be_purged = self.promised.may_be_purged.max(keep);
        let subject = format!("$JS.API.STREAM.PURGE.{STREAM}");
        if is_done(&ask(client, &subject, json!({"seq": keep})).await) {
            self.promised.count += 1;
            self.promised.purged = self.promised.purged.max(keep);
        }
    }

    async fn purge_copy(&mut self, client: &Client) {
        self.promised.copy_purged = true;
        let subject = format!("$JS.API.STREAM.PURGE.{COPY}");
        ask(client, &subject, json!({"keep": KEPT})).await;
    }

    async fn make_or_delete_consumer(&mut self, client: &Client) {
        let promised = &mut self.promised;
        let count = promised.there.len();
        if count < COMING_MAX && (count == 0 || self.random.once_in(2)) {
            promised.consumers_made += 1;
            let name = format!("t{}", promised.consumers_made);
            promised.open.insert(name.clone());
            if create_consumer(client, &name).await {
                promised.count += 1;
                promised.open.remove(&name);
                promised.there.insert(name);
            }
            return;
        }
        let nth = self.random.below(count as u64) as usize;
        let Some(name) = promised.there.iter().nth(nth).cloned() else {
            return;
        };
        promised.there.remove(&name);
        promised.open.insert(name.clone());
        let subject = format!("$JS.API.CONSUMER.DELETE.{STREAM}.{name}");
        if is_done(&ask(client, &subject, Value::Null).await) {
            promised.count += 1;
            promised.open.remove(&name);
            promised.gone.insert(name);
        }
    }

    async fn consume(&mut self, context: &jetstream::Context, findings: &mut Findings) {
        let nth = self.random.below(CONSUMERS as u64) as usize;
        self.take(context, nth, 8, findings).await;
    }

    /// Takes what a durable has, at most so many, and has their acks confirmed; how many came.
    pub(super) async fn take(
        &mut self,
        context: &jetstream::Context,
        nth: usize,
        at_most: usize,
        findings: &mut Findings,
    ) -> usize {
        let consumer = context.get_consumer_from_stream(durable(nth), STREAM);
        let Ok::<PullConsumer, _>(consumer) = consumer.await else {
            return 0;
        };
        let Ok(mut batch) = consumer.fetch().max_messages(at_most).messages().await else {
            return 0;
        };
        let mut came = 0;
        while let Some(Ok(message)) = batch.next().await {
            came += 1;
            let sequence = message.info().expect("a reply subject").stream_sequence;
            let promised = &mut self.promised;
            if promised.done[nth].contains(&sequence) {
                findings.add(
                    Finding::AckForgotten,
                    format!("{sequence} by {}", durable(nth)),
                );
            }
            let sent = Sent::of(&message.payload);
            let acked = promised.acked.get(&sequence);
            if sent.is_none() || acked.is_some_and(|acked| Some(acked.sent) != sent) {
                findings.add(Finding::Changed, format!("{sequence} for {}", durable(nth)));
            }
            // It may be acknowledged although nobody hears of it.
            promised.may_be_done[nth].insert(sequence);
            if message.double_ack().await.is_ok() {
                promised.count += 1;
                promised.done[nth].insert(sequence);
            }
        }
        came
    }
}

pub(super) async fn send(context: &jetstream::Context, sent: Sent) -> Option<PublishAckFuture> {
    let mut message = PublishMessage::build().payload(sent.payload().into());
    if let Some(id) = sent.id() {
        message = message.message_id(id);
    }
    if let Some(ttl) = sent.ttl() {
        message = message.ttl(ttl);
    }
    context.send_publish(sent.subject(), message).await.ok()
}

fn is_done(answer: &Value) -> bool {
    answer["success"] == true
}
