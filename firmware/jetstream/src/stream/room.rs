//! Whether the limits leave room for a message.

use frond_wire::{Headers, MessageBuf};

use super::Stream;
use super::admit::Room;
use super::config::{Discard, limit};
use super::contents::stored_bytes;
use super::inflight::Rollup;
use crate::errors::{self, ApiError};
use crate::limits::HEADER_BYTES_MAX;
use crate::scarcity::Scarcity;

impl Stream {
    /// Whether the limits leave room for a message.
    pub(super) fn fits(
        &self,
        message: &MessageBuf,
        subject: &str,
        room: Room,
        rollup: Rollup,
    ) -> Result<(), ApiError> {
        self.is_not_too_large(message)?;
        let parts = message.message();
        if parts.header.len() > HEADER_BYTES_MAX {
            return Err(errors::STREAM_HEADER_EXCEEDS_MAXIMUM);
        }
        if !room.has_interest {
            // Nothing of it stays but its id.
            return match room.scarcity {
                Scarcity::None | Scarcity::NewSubjects => Ok(()),
                Scarcity::Messages => Err(errors::INSUFFICIENT_RESOURCES),
            };
        }
        let size = self.has_room(message, subject, room, rollup)?;
        self.discard_new(subject, size, rollup)
    }

    /// The bytes a message will count, which the account and the server must have.
    pub(crate) fn has_room(
        &self,
        message: &MessageBuf,
        subject: &str,
        room: Room,
        rollup: Rollup,
    ) -> Result<u64, ApiError> {
        let parts = message.message();
        let size = stored_bytes(
            self.config.storage,
            subject.len(),
            !parts.header.is_empty(),
            parts.body_bytes() as u64,
        );
        let subjects = self.contents.subjects();
        let is_costly = || subjects.find(subject).is_none() && !subjects.has_place(subject.len());
        let is_scarce = match room.scarcity {
            Scarcity::None => false,
            Scarcity::NewSubjects => is_costly(),
            Scarcity::Messages => is_costly() || !self.makes_room(message, subject, size, rollup),
        };
        if is_scarce || size > room.server_bytes {
            return Err(errors::INSUFFICIENT_RESOURCES);
        }
        let Some(left) = room.account_bytes else {
            return Err(errors::NO_LIMITS);
        };
        if size > left {
            return Err(errors::ACCOUNT_RESOURCES_EXCEEDED);
        }
        Ok(size)
    }

    /// Whether another message goes for it, so that no more has to be known when it is kept.
    fn makes_room(&self, message: &MessageBuf, subject: &str, size: u64, rollup: Rollup) -> bool {
        let id = Headers::new(message.header()).get("Nats-Msg-Id");
        if id.is_some_and(|id| !id.is_empty()) && self.config.duplicate_window > 0 {
            return false;
        }
        let of_subject = || {
            let kept = self.contents.subjects().find(subject);
            kept.map_or(0, |kept| kept.count) + self.inflight.of_subject(subject)
        };
        let messages = self.contents.messages() + self.inflight.len() as u64;
        let bytes = self.bytes_with_inflight() + size;
        let is_at = |max: Option<u64>, held: u64| max.is_some_and(|max| held >= max);
        match rollup {
            Rollup::All => messages > 0,
            Rollup::Subject => of_subject() > 0,
            Rollup::None if self.config.discard == Discard::New => false,
            Rollup::None => {
                is_at(limit(self.config.max_msgs), messages)
                    || is_at(limit(self.config.max_bytes), bytes.saturating_sub(1))
                    || limit(self.config.max_msgs_per_subject)
                        .is_some_and(|max| of_subject() >= max)
            }
        }
    }

    /// Whether the stream takes messages of this size.
    pub(crate) fn is_not_too_large(&self, message: &MessageBuf) -> Result<(), ApiError> {
        let bytes = message.message().body_bytes() as u64;
        if limit(self.config.max_msg_size).is_some_and(|max| bytes > max) {
            return Err(errors::STREAM_MESSAGE_EXCEEDS_MAXIMUM);
        }
        Ok(())
    }

    fn discard_new(&self, subject: &str, size: u64, rollup: Rollup) -> Result<(), ApiError> {
        if self.config.discard == Discard::Old {
            return Ok(());
        }
        let full = |text: &str| Err(errors::STREAM_STORE_FAILED.with("err", text));
        let per_subject = limit(self.config.max_msgs_per_subject);
        if self.config.discard_new_per_subject
            && rollup == Rollup::None
            && let Some(max) = per_subject
        {
            let kept = self
                .contents
                .subjects()
                .find(subject)
                .map_or(0, |s| s.count);
            if kept + self.inflight.of_subject(subject) >= max {
                return full("maximum messages per subject exceeded");
            }
        }
        let replaced = self.pushed_out(subject);
        let messages = self.contents.messages() + self.inflight.len() as u64;
        if replaced.is_none() && limit(self.config.max_msgs).is_some_and(|max| messages >= max) {
            return full("maximum messages exceeded");
        }
        let bytes = self.bytes_with_inflight() + size;
        let is_larger = replaced.is_none_or(|replaced| replaced < size);
        if is_larger && limit(self.config.max_bytes).is_some_and(|max| bytes > max) {
            return full("maximum bytes exceeded");
        }
        Ok(())
    }

    /// The bytes of the message that goes for one more of its subject, where that has as many as
    /// it may.
    ///
    /// spec: nats-server v2.15.1 server/filestore.go `storeRawMsg`
    fn pushed_out(&self, subject: &str) -> Option<u64> {
        let max = limit(self.config.max_msgs_per_subject)?;
        let kept = self.contents.subjects().find(subject);
        let kept = kept.map_or(0, |kept| kept.count);
        let over = (kept + self.inflight.of_subject(subject)).checked_sub(max)?;
        if over < kept {
            let seqs = self.contents.under(subject);
            return self
                .contents
                .bytes_of(*seqs.get(usize::try_from(over).ok()?)?);
        }
        let coming = self.inflight.iter();
        let mut coming = coming.filter(|p| p.subject == subject.as_bytes());
        let goes = coming.nth(usize::try_from(over - kept).ok()?)?;
        Some(goes.stored_bytes)
    }
}
