//! What a mirror or source brings into a stream: the rules for publishers don't hold for it.
//!
//! spec: nats-server v2.15.1 server/stream.go `processMirrorMsgs`, `processInboundSourceMsg`

use frond_clock::Timestamp;
use frond_ledger::Seq;
use frond_wire::{Headers, MessageBuf};

use super::Stream;
use super::admit::{Admission, Room, body_of};
use super::inflight::Rollup;
use crate::errors::{self, ApiError};

/// What a stream says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// That a subject's last message is over.
    Marker,
    /// What the schedule with this sequence publishes.
    Fired(Seq),
}

impl Stream {
    /// Judges a message of a source, which gets the next sequence and the present time.
    pub(crate) fn admit_sourced(
        &mut self,
        now: Timestamp,
        message: &MessageBuf,
        room: Room,
    ) -> Admission {
        self.dedupe.expire(now);
        let headers = Headers::new(message.header());
        let id = headers.get("Nats-Msg-Id").filter(|id| !id.is_empty());
        if let Some(seq) = id.and_then(|id| self.dedupe.find(id)) {
            return Admission::Duplicate(seq);
        }
        // Where a rollup is not permitted the message is one like any other: it was one there.
        let rollup = self.rollup(&headers).unwrap_or(Rollup::None);
        let at = (self.inflight.last() + 1, self.inflight.time(now));
        self.bring_in(at, message, true, rollup, room)
    }

    /// Judges a message of a mirror, which keeps its sequence and time.
    pub(crate) fn admit_mirrored(
        &mut self,
        at: (Seq, Timestamp),
        message: &MessageBuf,
        room: Room,
    ) -> Admission {
        if at.0 <= self.inflight.last() {
            return Admission::Duplicate(at.0);
        }
        self.bring_in(at, message, false, Rollup::None, room)
    }

    /// Takes what the stream itself says: it follows from what is kept already.
    pub(crate) fn admit_own(
        &mut self,
        now: Timestamp,
        message: &MessageBuf,
        own: Own,
        room: Room,
    ) -> Admission {
        if let Err(refused) = self.is_open(message) {
            return Admission::Refused(refused);
        }
        let headers = Headers::new(message.header());
        let rollup = self.rollup(&headers).unwrap_or(Rollup::None);
        if own != Own::Marker
            && let Err(refused) = self.fits(message, message.subject(), room, rollup)
        {
            return Admission::Refused(refused);
        }
        let renewed = self.outliving(message);
        let message = renewed.as_ref().unwrap_or(message);
        let Some(body) = body_of(message, message.subject(), false) else {
            return Admission::Refused(
                errors::STREAM_STORE_FAILED.with("err", "message too large"),
            );
        };
        let at = (self.inflight.last() + 1, self.inflight.time(now));
        let ends = match own {
            Own::Marker => None,
            // What replaced the schedule meanwhile is no part of it.
            Own::Fired(schedule) => self.ended_by(body.header(), schedule),
        };
        self.take(at, body, rollup, None, ends, room.has_interest)
    }

    /// The sequence given last, whether its message is kept yet or not.
    pub(crate) const fn last_given(&self) -> Seq {
        self.inflight.last()
    }

    fn bring_in(
        &mut self,
        at: (Seq, Timestamp),
        message: &MessageBuf,
        is_deduped: bool,
        rollup: Rollup,
        room: Room,
    ) -> Admission {
        let finished = self
            .is_open(message)
            .and_then(|()| self.finished(message, message.subject(), room, rollup));
        let counted = match finished {
            Ok(counted) => counted,
            Err(refused) => return Admission::Refused(refused),
        };
        let message = counted.as_ref().map_or(message, |it| &it.message);
        if let Some(counted) = &counted {
            self.totals
                .tell(message.subject(), at.0, counted.total.clone());
        }
        let renewed = self.outliving(message);
        let message = renewed.as_ref().unwrap_or(message);
        let Some(body) = body_of(message, message.subject(), is_deduped) else {
            return Admission::Refused(
                errors::STREAM_STORE_FAILED.with("err", "message too large"),
            );
        };
        let ends = self.ended_by(body.header(), Seq::MAX);
        self.take(at, body, rollup, None, ends, room.has_interest)
    }
}

/// Whether what is refused now may be taken later.
pub(crate) fn may_pass_later(refused: &ApiError) -> bool {
    let never = [
        errors::STREAM_MESSAGE_EXCEEDS_MAXIMUM,
        errors::STREAM_HEADER_EXCEEDS_MAXIMUM,
        errors::MESSAGE_TTL_INVALID,
        errors::MESSAGE_INCR_INVALID,
        errors::MESSAGE_INCR_MISSING,
        errors::MESSAGE_COUNTER_BROKEN,
    ];
    let is_too_large = refused.description == "message too large";
    !is_too_large && never.iter().all(|error| error.err_code != refused.err_code)
}
