use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::stream::Config;

use interop::wait_for_async;

use crate::Guest;

/// Publishers into a box's stream, and what they were promised.
#[derive(Debug, Default)]
pub struct Load {
    /// The highest sequence that was acknowledged.
    acked: Arc<AtomicU64>,
    /// How many acks there were.
    acks: Arc<AtomicU64>,
}

const STREAM: &str = "BOX";
const SUBJECT: &str = "box.load";
const PUBLISHERS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(20);

impl Load {
    /// How many acks there were.
    #[must_use]
    pub fn acks(&self) -> u64 {
        self.acks.load(Ordering::Relaxed)
    }

    /// Makes the stream and publishes one message: when this returns, the box has acknowledged it.
    ///
    /// # Panics
    /// When it does not.
    pub async fn first(&self, guest: &Guest) -> u64 {
        let client = guest.client().await;
        let context = jetstream::new(client);
        let config = Config {
            name: STREAM.to_owned(),
            subjects: vec!["box.>".to_owned()],
            ..Config::default()
        };
        let start = std::time::Instant::now();
        loop {
            let made = context.get_or_create_stream(config.clone()).await;
            if made.is_ok() {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{made:?}\n{}", guest.console());
        }
        let ack = context
            .publish(SUBJECT, "first".into())
            .await
            .expect("a publish");
        let ack = ack.await.expect("an ack");
        self.note(ack.sequence);
        ack.sequence
    }

    /// Publishes until it is dropped; the box may vanish at any moment.
    pub async fn run(&self, guest: &Guest) {
        let client = guest.client().await;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..PUBLISHERS {
            let context = jetstream::new(client.clone());
            let (acked, acks) = (self.acked.clone(), self.acks.clone());
            tasks.spawn(async move {
                while let Ok(ack) = context.publish(SUBJECT, vec![b'x'; 200].into()).await {
                    if let Ok(ack) = ack.await {
                        acked.fetch_max(ack.sequence, Ordering::Relaxed);
                        acks.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    }

    /// The highest sequence that was acknowledged.
    #[must_use]
    pub fn acked(&self) -> u64 {
        self.acked.load(Ordering::Relaxed)
    }

    /// How many acknowledged messages the box lacks; it must have none of another stream's making.
    ///
    /// # Panics
    /// When it doesn't answer.
    pub async fn lost(&self, guest: &Guest) -> u64 {
        let acked = self.acked();
        if acked == 0 {
            return 0;
        }
        Self::lost_at(guest.client().await, acked).await
    }

    /// As [`Load::lost`], of those up to `acked`, where that client is.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn lost_at(client: async_nats::Client, acked: u64) -> u64 {
        let context = jetstream::new(client);
        let state = wait_for_async("the stream", PATIENCE, async || {
            match context.get_stream(STREAM).await {
                Ok(stream) => Some(Some(stream.cached_info().state.clone())),
                Err(error) if error.to_string().contains("not found") => Some(None),
                Err(_) => None,
            }
        });
        let Some(state) = state.await else {
            return acked;
        };
        let missing = acked.saturating_sub(state.last_sequence);
        let there = state.last_sequence + 1 - state.first_sequence;
        missing + there.saturating_sub(state.messages)
    }

    fn note(&self, sequence: u64) {
        self.acked.fetch_max(sequence, Ordering::Relaxed);
        self.acks.fetch_add(1, Ordering::Relaxed);
    }
}
