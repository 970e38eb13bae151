use frond_ledger::Seq;

use super::config::AckPolicy;
use super::machine::Consumer;
use super::progress::Progress;

/// What a consumer needed once.
#[derive(Debug)]
pub(crate) struct Needing {
    filters: Vec<Box<str>>,
    ack_policy: AckPolicy,
    progress: Progress,
}

impl Needing {
    /// Whether the stream had to keep a message for it.
    pub(crate) fn needs(&self, seq: Seq, subject: &str) -> bool {
        wants(&self.filters, subject) && is_open(self.ack_policy, &self.progress, seq)
    }
}

impl Consumer {
    /// Whether the stream must keep a message for this consumer.
    pub(crate) fn needs(&self, seq: Seq, subject: &str) -> bool {
        self.wants(subject) && is_open(self.config.ack_policy, &self.progress, seq)
    }

    /// Whether its filters name `subject`.
    pub(crate) fn wants(&self, subject: &str) -> bool {
        wants(&self.filters, subject)
    }

    /// What it needs now.
    pub(crate) fn needing(&self) -> Needing {
        self.needed_at(self.progress.clone())
    }

    /// What it needed when it was there.
    pub(crate) fn needed_at(&self, progress: Progress) -> Needing {
        Needing {
            filters: self.filters.clone(),
            ack_policy: self.config.ack_policy,
            progress,
        }
    }
}

fn wants(filters: &[Box<str>], subject: &str) -> bool {
    let mut named = filters.iter();
    filters.is_empty() || named.any(|filter| frond_subject::matches(filter, subject))
}

// spec: nats-server v2.14.0 server/consumer.go needAck
fn is_open(ack_policy: AckPolicy, progress: &Progress, seq: Seq) -> bool {
    let open = if ack_policy == AckPolicy::Explicit {
        seq >= progress.next_stream || progress.pending.contains_key(&seq)
    } else {
        true
    };
    (seq > progress.floor.stream && open)
        || progress.pending.contains_key(&seq)
        || progress.redelivered.contains_key(&seq)
}
