//! What holds for a message because it is part of an atomic batch.
//!
//! spec: nats-server v2.15.1 server/jetstream_batching.go `checkMsgHeadersPreClusteredProposal`

use frond_clock::Timestamp;
use frond_ledger::Seq;
use frond_wire::{Headers, MessageBuf};

use super::Stream;
use super::admit::number;
use super::inflight::{Mark, Rollup};
use crate::errors::{self, ApiError};

impl Stream {
    /// What was given last, to come back to.
    pub(crate) const fn mark(&self) -> Mark {
        self.inflight.mark()
    }

    /// Takes back what was admitted since `mark` and not proposed.
    pub(crate) fn withdraw(&mut self, mark: Mark) {
        for taken in self.inflight.withdraw(mark) {
            self.dedupe.forget(taken.seq, taken.id_place);
        }
    }

    /// Whether a message may be part of a batch whose earlier messages follow `before`.
    pub(crate) fn belongs(
        &mut self,
        now: Timestamp,
        message: &MessageBuf,
        subject: &str,
        before: Seq,
    ) -> Result<(), ApiError> {
        let headers = Headers::new(message.header());
        let expected_id = "Nats-Expected-Last-Msg-Id";
        if headers.get(expected_id).is_some_and(|id| !id.is_empty()) {
            let error = errors::ATOMIC_PUBLISH_UNSUPPORTED_HEADER_BATCH;
            return Err(error.with("header", expected_id));
        }
        // spec: nats-server v2.15.1 server/jetstream_batching.go: whatever it says
        let ttl = headers.get("Nats-TTL").filter(|ttl| !ttl.is_empty());
        if ttl.is_some() && !self.config.allow_msg_ttl {
            return Err(errors::MESSAGE_TTL_DISABLED);
        }
        self.dedupe.expire(now);
        let id = headers.get("Nats-Msg-Id").filter(|id| !id.is_empty());
        if id.is_some_and(|id| self.dedupe.find(id).is_some()) {
            return Err(errors::ATOMIC_PUBLISH_CONTAINS_DUPLICATE_MESSAGE);
        }
        let is_first = self.inflight.last() == before;
        let last = self.inflight.last();
        if let Some(expected) = number(&headers, "Nats-Expected-Last-Sequence") {
            if expected != last {
                return Err(errors::STREAM_WRONG_LAST_SEQUENCE.with("seq", last));
            }
            if !is_first {
                return Err(errors::STREAM_WRONG_LAST_SEQUENCE_CONSTANT);
            }
        }
        if self.expects_of_batch(&headers, subject, before) {
            return Err(errors::STREAM_WRONG_LAST_SEQUENCE_CONSTANT);
        }
        let refuse = |text: &str| Err(errors::STREAM_ROLLUP_FAILED.with("err", text));
        // A schedule takes the place of the one before it.
        let is_schedule = headers
            .get("Nats-Schedule")
            .is_some_and(|it| !it.is_empty());
        let rollup = match self.rollup(&headers)? {
            Rollup::None if is_schedule => Rollup::Subject,
            rollup @ (Rollup::None | Rollup::All | Rollup::Subject) => rollup,
        };
        match rollup {
            Rollup::All if !is_first => refuse("batch rollup all invalid"),
            Rollup::Subject if self.is_in_batch(subject, before) => {
                refuse("batch rollup sub invalid")
            }
            Rollup::None | Rollup::All | Rollup::Subject => Ok(()),
        }
    }

    fn is_in_batch(&self, subject: &str, before: Seq) -> bool {
        let mut batch = self.inflight.iter().filter(|p| p.seq > before);
        batch.any(|p| p.subject == subject.as_bytes())
    }
}
