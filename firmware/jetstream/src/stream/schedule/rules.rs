//! What a message that schedules must keep to.
//!
//! spec: nats-server v2.15.1 server/stream.go `processJetStreamMsgWithBatch`

use frond_clock::Timestamp;
use frond_subject::{is_literal, is_valid_filter, matches};
use frond_wire::{Headers, Message, MessageBuf, headers};

use super::pattern::{Fault, Pattern};
use super::{NEXT, PURGE, SCHEDULER};
use crate::errors::{self, ApiError};
use crate::stream::Stream;
use crate::stream::inflight::{Proposal, Proposed};
use crate::stream::mark::Mark;
use crate::stream::ttl::Ttl;

impl Stream {
    /// Whether what a publisher says of schedules holds.
    pub(in crate::stream) fn may_schedule(
        &self,
        now: Timestamp,
        said: &Headers<'_>,
        subject: &str,
    ) -> Result<(), ApiError> {
        let next = Pattern::of(said).and_then(|pattern| match pattern {
            None => Ok(None),
            Some(pattern) => pattern.next(now, now).map(Some).ok_or(Fault::Pattern),
        });
        let is_allowed = self.config.allow_msg_schedules;
        match next {
            Err(_) | Ok(Some(_)) if !is_allowed => Err(errors::MESSAGE_SCHEDULES_DISABLED),
            Err(Fault::Pattern) => Err(errors::MESSAGE_SCHEDULES_PATTERN_INVALID),
            Err(Fault::Zone) => Err(errors::MESSAGE_SCHEDULES_TIME_ZONE_INVALID),
            Ok(Some(_)) => self.is_schedule(said, subject),
            Ok(None) => Ok(()),
        }?;
        self.may_end_schedule(said, subject)
    }

    /// A schedule replaces the one its subject has: the message that says so.
    pub(in crate::stream) fn replacing(&self, message: &MessageBuf) -> Option<MessageBuf> {
        let parts = message.message();
        if !self.config.allow_msg_schedules || !Mark::of(parts.header).is_schedule {
            return None;
        }
        let rollup = Headers::new(parts.header).get("Nats-Rollup");
        if rollup.is_some_and(|rollup| !rollup.is_empty()) {
            return None;
        }
        let mut header = parts.header.to_vec();
        headers::append(&mut header, "Nats-Rollup", "sub");
        Some(MessageBuf::copy_of(&Message {
            header: &header,
            ..parts
        }))
    }

    fn is_schedule(&self, said: &Headers<'_>, subject: &str) -> Result<(), ApiError> {
        let get = |name| said.get(name).filter(|value| !value.is_empty());
        let ttl = get("Nats-Schedule-TTL");
        if ttl.is_some_and(|ttl| Ttl::parse(ttl).is_none()) {
            return Err(errors::MESSAGE_SCHEDULES_TTL_INVALID);
        }
        if get("Nats-Schedule-Rollup").is_some_and(|rollup| rollup != "sub") {
            return Err(errors::MESSAGE_SCHEDULES_ROLLUP_INVALID);
        }
        if ttl.is_some() && !self.config.allow_msg_ttl {
            return Err(errors::MESSAGE_TTL_DISABLED);
        }
        let target = get("Nats-Schedule-Target").filter(|target| *target != subject);
        let target = target.filter(|target| is_publishable(target));
        let target = target.ok_or(errors::MESSAGE_SCHEDULES_TARGET_INVALID)?;
        let source = get("Nats-Schedule-Source");
        let is_wrong = |it: &str| it == target || it == subject || !is_publishable(it);
        if source.is_some_and(is_wrong) {
            return Err(errors::MESSAGE_SCHEDULES_SOURCE_INVALID);
        }
        let is_ours = |it: &str| self.config.subjects.iter().any(|ours| matches(ours, it));
        if !is_ours(target) {
            return Err(errors::MESSAGE_SCHEDULES_TARGET_INVALID);
        }
        if source.is_some_and(|source| !is_ours(source)) {
            return Err(errors::MESSAGE_SCHEDULES_SOURCE_INVALID);
        }
        if get("Nats-Rollup").is_some_and(|rollup| !rollup.eq_ignore_ascii_case("sub")) {
            return Err(errors::MESSAGE_SCHEDULES_ROLLUP_INVALID);
        }
        Ok(())
    }

    /// Publishers may end schedules, not fire them.
    fn may_end_schedule(&self, said: &Headers<'_>, subject: &str) -> Result<(), ApiError> {
        let get = |name| said.get(name).filter(|value| !value.is_empty());
        let invalid = Err(errors::MESSAGE_SCHEDULES_SCHEDULER_INVALID);
        match (get(NEXT), get(SCHEDULER)) {
            (None, None) => Ok(()),
            (None, Some(_)) => invalid,
            (Some(next), _) if next != PURGE => invalid,
            (Some(_), Some(scheduler)) if scheduler != subject && is_publishable(scheduler) => {
                if !self.config.allow_msg_schedules {
                    return Err(errors::MESSAGE_SCHEDULES_DISABLED);
                }
                match self.last_mark(scheduler) {
                    Some(mark) if !mark.is_schedule => invalid,
                    Some(_) | None => Ok(()),
                }
            }
            (Some(_), Some(_) | None) => invalid,
        }
    }

    /// What the last message of a subject is, also when it is on its way.
    fn last_mark(&self, subject: &str) -> Option<Mark> {
        let is_of = |p: &&Proposed| p.subject == subject.as_bytes();
        let on_its_way = self.inflight.of_subject(subject) > 0;
        let newest = on_its_way.then(|| self.inflight.iter().rfind(is_of));
        if let Some(Proposal::Keep(body, _)) = newest.flatten().map(|p| &p.proposal) {
            return Some(Mark::decode(body.mark()));
        }
        let last = self.contents.subjects().find(subject)?.last;
        Some(self.timed.mark(last))
    }
}

fn is_publishable(subject: &str) -> bool {
    is_literal(subject) && is_valid_filter(subject)
}
