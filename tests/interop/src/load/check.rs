//! What must be there after the server is back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use async_nats::{Client, jetstream};
use serde_json::{Value, json};

use super::promised::{Acked, Sent};
use super::read::{self, Kept};
use super::work::send;
use super::{BOUND, CONSUMERS, COPY, Finding, Findings, Load, STREAM, connect, durable};
use crate::streams::ask;

/// Far behind a message's time, for a busy machine.
const EXPIRED_LATE: Duration = Duration::from_secs(15);
const SENT_AGAIN: usize = 3;
const TAKEN: usize = 16;

impl Load {
    /// Looks for everything that was promised.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn check(&mut self, url: &str, findings: &mut Findings) {
        let client = connect(url).await;
        for stream in [STREAM, COPY] {
            let info = ask(
                &client,
                &format!("$JS.API.STREAM.INFO.{stream}"),
                Value::Null,
            )
            .await;
            if !info["error"].is_null() {
                let missing = format!("stream {stream}: {}", info["error"]);
                findings.add(Finding::NotThere, missing);
                if stream == STREAM {
                    self.check_messages(&BTreeMap::new(), findings);
                }
                return;
            }
            let last = info["state"]["last_seq"].as_u64().unwrap_or(0);
            if stream == STREAM && last < self.promised.last {
                let example = format!("{last} is behind {}", self.promised.last);
                findings.add(Finding::SequenceBack, example);
            }
        }
        let kept = read::all(&client, STREAM).await;
        self.check_messages(&kept, findings);
        self.check_consumers(&client, findings).await;
        let context = jetstream::new(client.clone());
        self.check_ids(&context, &kept, findings).await;
        for nth in 0..CONSUMERS {
            self.take(&context, nth, TAKEN, findings).await;
        }
        self.check_copy(&client, &kept, findings).await;
    }

    fn check_messages(&mut self, kept: &BTreeMap<u64, Kept>, findings: &mut Findings) {
        let promised = &mut self.promised;
        for (sequence, acked) in promised.acked.range(promised.may_be_purged..) {
            match kept.get(sequence) {
                Some(message) => check_message(*sequence, acked, message, findings),
                None if acked.may_be_expired() => {}
                None => findings.add(
                    Finding::Lost,
                    format!("{sequence}, sent as {}", acked.sent.0),
                ),
            }
        }
        for (sequence, _) in kept.range(..promised.purged) {
            findings.add(Finding::Unpurged, sequence);
        }
        let mut before = 0;
        for (sequence, acked) in &promised.acked {
            let number = acked.sent.0;
            if promised.again.contains(&number) {
                continue;
            }
            if number < before {
                findings.add(
                    Finding::Reordered,
                    format!("{number} at {sequence} is after {before}"),
                );
            }
            before = number;
        }
        let mut numbers = BTreeSet::new();
        for (sequence, message) in kept {
            match Sent::of(&message.payload) {
                None => findings.add(
                    Finding::Changed,
                    format!("{sequence} is nothing that was sent"),
                ),
                Some(sent) if !numbers.insert(sent.0) => {
                    findings.add(
                        Finding::DedupeForgotten,
                        format!("{} again at {sequence}", sent.0),
                    );
                }
                Some(_) => {}
            }
        }
        // What is gone for good need not be remembered.
        let purged = promised.may_be_purged;
        promised.acked.retain(|sequence, acked| {
            *sequence >= purged && (kept.contains_key(sequence) || !acked.may_be_expired())
        });
        let first = kept.keys().next().copied().unwrap_or(u64::MAX);
        for done in promised.done.iter_mut().chain(&mut promised.may_be_done) {
            *done = done.split_off(&purged.min(first));
        }
    }

    async fn check_consumers(&mut self, client: &Client, findings: &mut Findings) {
        let subject = format!("$JS.API.CONSUMER.NAMES.{STREAM}");
        let names = ask(client, &subject, json!({"offset": 0})).await;
        let names = names["consumers"].as_array().cloned().unwrap_or_default();
        let names: BTreeSet<String> = names
            .iter()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect();
        let promised = &mut self.promised;
        let durables = (0..CONSUMERS).map(durable);
        for name in promised.there.iter().cloned().chain(durables) {
            if !names.contains(&name) {
                findings.add(Finding::NotThere, format!("consumer {name}"));
            }
        }
        for name in names.intersection(&promised.gone) {
            findings.add(Finding::Undeleted, name);
        }
        // Those without an answer are now known.
        for name in std::mem::take(&mut promised.open) {
            if names.contains(&name) {
                promised.there.insert(name);
            } else {
                promised.gone.insert(name);
            }
        }
    }

    /// The last acknowledged ids are known still.
    async fn check_ids(
        &mut self,
        context: &jetstream::Context,
        kept: &BTreeMap<u64, Kept>,
        findings: &mut Findings,
    ) {
        let last = self.promised.acked.iter().rev();
        let last = last
            .filter(|(sequence, acked)| acked.sent.id().is_some() && kept.contains_key(sequence));
        let last: Vec<(u64, Sent)> = last
            .map(|(sequence, acked)| (*sequence, acked.sent))
            .take(SENT_AGAIN)
            .collect();
        for (sequence, sent) in last {
            let asked_at = Instant::now();
            let Some(ack) = send(context, sent).await else {
                continue;
            };
            let Ok(Ok(ack)) = tokio::time::timeout(BOUND, ack).await else {
                findings.add(Finding::NotWell, format!("no ack for {}", sent.0));
                continue;
            };
            let is_expired = sent.ttl().is_some();
            if (!ack.duplicate || ack.sequence != sequence) && !is_expired {
                let example = format!("{} at {sequence}, now {}", sent.0, ack.sequence);
                findings.add(Finding::DedupeForgotten, example);
            }
            self.promised.again.insert(sent.0);
            self.acked(sent, asked_at, ack.sequence, findings);
        }
    }

    /// Every durable gets every message that is there.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn drain(&mut self, url: &str, findings: &mut Findings) {
        let client = connect(url).await;
        let context = jetstream::new(client.clone());
        for nth in 0..CONSUMERS {
            let started = Instant::now();
            let mut missing = self.missing(&client, nth).await;
            while !missing.is_empty() && started.elapsed() < BOUND {
                self.take(&context, nth, 200, findings).await;
                missing = self.missing(&client, nth).await;
            }
            for sequence in missing {
                let example = format!("{sequence} by {}", durable(nth));
                findings.add(Finding::NotDelivered, example);
            }
        }
    }

    async fn missing(&self, client: &Client, nth: usize) -> Vec<u64> {
        let kept = read::all(client, STREAM).await;
        let missing = kept.into_keys();
        missing
            .filter(|sequence| !self.promised.may_be_done[nth].contains(sequence))
            .collect()
    }
}

fn check_message(sequence: u64, acked: &Acked, message: &Kept, findings: &mut Findings) {
    let number = acked.sent.0;
    match Sent::of(&message.payload) {
        Some(sent) if sent == acked.sent => {}
        Some(other) => findings.add(
            Finding::SequenceTwice,
            format!("{sequence} was {number} and is {}", other.0),
        ),
        None => findings.add(Finding::Changed, format!("{sequence}, sent as {number}")),
    }
    let over = acked.sent.ttl().map(|ttl| ttl + EXPIRED_LATE);
    if over.is_some_and(|over| acked.acked_at.elapsed() > over) {
        findings.add(Finding::NotExpired, format!("{sequence}, sent as {number}"));
    }
}
