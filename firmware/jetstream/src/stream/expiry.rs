//! What a stream lets go because of its age, and the markers that some of it leaves behind.
//!
//! spec: ADR-43; nats-server v2.15.1 server/filestore.go `expireMsgs`

use std::time::Duration;

use frond_clock::{Ages, Timestamp, Trust};
use frond_ledger::Seq;
use frond_wire::{Message, MessageBuf, headers};

use super::inflight::Proposal;
use super::mark::Mark;
use super::removed::Removed;
use super::ttl::Ttl;
use super::{Health, Stream, config};
use crate::consumer::go_duration;
use crate::limits::MARKERS_INFLIGHT_MAX;

impl Stream {
    /// When something of the stream expires next.
    pub(crate) fn expires_at(&self, ages: &Ages) -> Option<Timestamp> {
        let ids = self.dedupe.expires_at();
        let messages = self.may_expire().then(|| {
            let aged = self.age_limit().and_then(|age| {
                let (seq, slot) = self.contents.from(self.timed.settled()).next()?;
                ages.reached(self.timed.taken(seq, slot.time), age)
            });
            [aged, self.over_at(ages)].into_iter().flatten().min()
        });
        let scheduled = self.scheduled_at(ages);
        [ids, messages.flatten(), scheduled]
            .into_iter()
            .flatten()
            .min()
    }

    /// Lets go of what is too old, messages and message ids. The messages told stay until a
    /// marker in their place is kept.
    pub(crate) fn expire(
        &mut self,
        now: Timestamp,
        ages: &Ages,
        removed: &mut Removed,
    ) -> Vec<Seq> {
        self.dedupe.expire(now);
        let mut marked = Vec::new();
        if let Some(age) = self.age_limit() {
            self.expire_aged((now, age), ages, removed, &mut marked);
        }
        while self.may_expire()
            && self.over_at(ages).is_some()
            && let Some(seq) = self.timed.due(now)
        {
            self.let_go(seq, removed, &mut marked);
        }
        marked
    }

    /// Ages are judged anew.
    pub(crate) fn judge(&mut self, ages: &Ages) {
        self.inflight.believe(ages.trust == Trust::Trusted);
        self.timed.judge(ages);
    }

    /// The disk refuses the message with this sequence. If it is a marker, what it was to take the
    /// place of is over still.
    pub(crate) fn marker_failed(&mut self, seq: Seq, ages: &Ages) {
        let proposed = self.inflight.iter().find(|it| it.seq == seq);
        let Some(Proposal::Keep(body, _)) = proposed.map(|it| &it.proposal) else {
            return;
        };
        if Mark::decode(body.mark()).is_marker {
            let of_subject = self.contents.subjects().find(body.subject());
            if let Some(held) = of_subject.map(|it| it.first) {
                self.hold_no_more(held, ages);
            }
        }
    }

    /// A message that is over waits for no marker: it is looked at again.
    pub(crate) fn hold_no_more(&mut self, seq: Seq, ages: &Ages) {
        self.timed.hold_no_more(seq, ages);
    }

    /// What says that the last message of a subject is gone.
    pub(crate) fn marker_of(&self, seq: Seq) -> Option<MessageBuf> {
        let subject = self.contents.subject_of(seq)?.name;
        let ttl = go_duration(i64::try_from(self.marker_ttl()?.as_nanos()).ok()?);
        let mut header = Vec::new();
        headers::append(&mut header, "Nats-Marker-Reason", "MaxAge");
        headers::append(&mut header, "Nats-TTL", &ttl);
        headers::append(&mut header, "Nats-Rollup", "sub");
        Some(MessageBuf::copy_of(&Message {
            subject,
            reply: None,
            header: &header,
            payload: b"",
        }))
    }

    /// How long markers live, in whole seconds; `None` when there are none.
    pub(super) fn marker_ttl(&self) -> Option<Duration> {
        let ttl = config::limit(self.config.subject_delete_marker_ttl)?;
        Some(Duration::from_secs(Duration::from_nanos(ttl).as_secs()))
    }

    /// The message with a longer life when a marker would outlive it: a subject's marker of
    /// before would hide that it is gone.
    ///
    /// spec: nats-server v2.15.1 server/stream.go `processJetStreamMsgWithBatch`
    pub(super) fn outliving(&self, message: &MessageBuf) -> Option<MessageBuf> {
        let least = self.marker_ttl()?.as_secs();
        let parts = message.message();
        let Ttl::Seconds(asked) = Mark::of(parts.header).ttl else {
            return None;
        };
        if asked >= least || self.config.max_msgs_per_subject == 1 {
            return None;
        }
        let mut header = parts.header.to_vec();
        headers::set(&mut header, "Nats-TTL", &least.to_string());
        Some(MessageBuf::copy_of(&Message {
            header: &header,
            ..parts
        }))
    }

    /// Whether markers can be kept for what goes.
    fn may_expire(&self) -> bool {
        let has_room = self.timed.held() < MARKERS_INFLIGHT_MAX && self.health == Health::Sound;
        self.marker_ttl().is_none() || (has_room && !self.config.sealed)
    }

    fn over_at(&self, ages: &Ages) -> Option<Timestamp> {
        let is_on = self.config.allow_msg_ttl && ages.trust == Trust::Trusted;
        self.timed.next_due().filter(|_| is_on)
    }

    fn expire_aged(
        &mut self,
        (now, age): (Timestamp, Duration),
        ages: &Ages,
        removed: &mut Removed,
        marked: &mut Vec<Seq>,
    ) {
        let mut from = self.timed.settled();
        while self.may_expire() {
            let next = self.contents.from(from).next();
            let Some((seq, time)) = next.map(|(seq, slot)| (seq, slot.time)) else {
                break;
            };
            let time = self.timed.taken(seq, time);
            if ages.reached(time, age).is_none_or(|end| end > now) {
                break;
            }
            from = seq + 1;
            let stays = self.timed.mark(seq).ttl == Ttl::Never || self.timed.is_held(seq);
            if !stays {
                self.let_go(seq, removed, marked);
            }
        }
        self.timed.settle(from);
    }

    /// The last message of its subject leaves a marker, unless it is one.
    fn let_go(&mut self, seq: Seq, removed: &mut Removed, marked: &mut Vec<Seq>) {
        let is_last = |stream: &Self| {
            let subject = stream.contents.subject_of(seq);
            subject.is_some_and(|it| it.count == 1 && stream.inflight.of_subject(it.name) == 0)
        };
        let leaves_marker = self.marker_ttl().is_some() && !self.timed.mark(seq).is_marker;
        if leaves_marker && is_last(self) {
            self.timed.hold(seq);
            marked.push(seq);
        } else {
            self.remove(seq, removed);
        }
    }
}
