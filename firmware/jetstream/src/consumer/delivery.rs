use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use frond_clock::{Instant, Timestamp};
use frond_ledger::{Body, Seq};

use super::advisory::{Event, Teller};
use super::io::{Cause, ConsumerOutput};
use super::limits;
use super::machine::{Consumer, Mode, Stop};
use super::read_ahead::Found;
use super::scene::Scene;
use super::status;
use super::waiting::{Taker, Unused};
use crate::parcel::{AckSubject, Contents, Parcel};

/// What comes next.
enum Choice {
    /// A message that was delivered before.
    Again(Seq),
    /// A message that was not.
    Fresh(Seq),
    /// Nothing: too many are on the way.
    Full,
    /// Nothing: the stream has no more.
    End,
}

/// What became of one attempt.
enum Attempt {
    Sent(usize),
    Skipped,
    Stopped,
}

/// One delivery, before anything is changed by it.
struct Draft {
    seq: Seq,
    fresh: bool,
    time: Timestamp,
    body: Body,
    contents: Contents,
    ack: AckSubject,
}

/// What is read ahead and what is read beside it are less.
const DEMAND_MAX: i64 = 4 * limits::FETCH_MESSAGES_MAX as i64;

impl Consumer {
    /// Delivers what can be delivered, within the bounds of one burst.
    pub(super) fn pump(&mut self, scene: &Scene<'_>) {
        self.pace.stop = Stop::Idle;
        self.pace.resume_at = None;
        if self.pace.is_untold {
            return;
        }
        let (mut messages, mut bytes) = (0, 0);
        loop {
            if !self.may_send(scene) {
                self.nothing_now();
                self.end_replay();
                break;
            }
            match self.attempt(scene) {
                Attempt::Stopped => break,
                Attempt::Skipped => messages += 1,
                Attempt::Sent(size) => {
                    messages += 1;
                    bytes += size;
                }
            }
            if messages >= limits::BURST_MESSAGES_MAX || bytes >= limits::BURST_BYTES_MAX {
                self.pace.stop = Stop::Turn;
                break;
            }
        }
        self.read_on(scene);
    }

    /// Whether somebody wants a message and would get it.
    fn may_send(&mut self, scene: &Scene<'_>) -> bool {
        let paused = self.paused_for(scene.now.wall).is_some();
        match &mut self.mode {
            _ if paused => false,
            Mode::Push(push) => push.may_send(),
            Mode::Pull(waiting) => waiting.has_request(scene.mono(), &mut self.out),
        }
    }

    fn attempt(&mut self, scene: &Scene<'_>) -> Attempt {
        let (seq, fresh) = match self.choose(scene) {
            Choice::Again(seq) => (seq, false),
            Choice::Fresh(seq) => (seq, true),
            Choice::Full => {
                self.pace.stop = Stop::Full;
                self.end_replay();
                return Attempt::Stopped;
            }
            Choice::End => {
                self.nothing_now();
                self.end_replay();
                return Attempt::Stopped;
            }
        };
        let (time, body) = match self.bodies.find(seq, scene.messages) {
            Found::Here(time, body) => (time, body),
            Found::OnDisk => {
                self.fetch(scene);
                return Attempt::Stopped;
            }
            Found::Gone => {
                self.skip(scene, seq, fresh);
                return Attempt::Skipped;
            }
        };
        if let Some(at) = self.hold_until(scene.mono(), time) {
            self.pace.resume_at = Some(at);
            return Attempt::Stopped;
        }
        let draft = self.draft(seq, fresh, time, body);
        match self.send(scene, draft) {
            Some(size) => Attempt::Sent(size),
            None => Attempt::Stopped,
        }
    }

    /// What comes next: what is to be delivered again goes before anything new.
    fn choose(&mut self, scene: &Scene<'_>) -> Choice {
        while let Some(seq) = self.redelivery.first() {
            if !self.progress.pending.contains_key(&seq) {
                self.redelivery.forget(seq);
            } else if self.is_exhausted(seq) {
                self.give_up(scene, seq);
            } else {
                return Choice::Again(seq);
            }
        }
        if self.is_full() {
            return Choice::Full;
        }
        if let Some(&seq) = self.backlog.list.first() {
            return Choice::Fresh(seq);
        }
        let next = scene
            .messages
            .next(self.progress.next_stream, &self.filters);
        match next.filter(|seq| *seq <= scene.messages.last()) {
            Some(seq) => Choice::Fresh(seq),
            None => {
                self.progress.skip_to(scene.messages.last() + 1);
                self.backlog.counted_to = self.backlog.counted_to.max(scene.messages.last());
                self.backlog.after = 0;
                Choice::End
            }
        }
    }

    /// Whether as many are on the way as may be.
    pub(super) fn is_full(&self) -> bool {
        let most = usize::try_from(self.config.max_ack_pending)
            .ok()
            .filter(|&most| most > 0)
            .unwrap_or(limits::ACK_PENDING_MAX);
        self.tracks() && self.progress.pending.len() >= most
    }

    /// Requests that do not wait end when there is nothing for them.
    fn nothing_now(&mut self) {
        if let Mode::Pull(waiting) = &mut self.mode {
            waiting.end_of_stream(&mut self.out);
        }
    }

    /// A message that cannot be delivered: it is not there, or cannot be read.
    fn skip(&mut self, scene: &Scene<'_>, seq: Seq, fresh: bool) {
        self.bodies.forget(seq);
        let is_unread = scene.messages.head(seq).is_some();
        if fresh {
            self.take_fresh(seq);
        }
        if is_unread {
            self.redelivery.forget(seq);
            self.progress.ack(seq);
            self.progress.leave_unread(seq);
            return;
        }
        if fresh {
            return;
        }
        self.end_unacknowledged(scene, seq, Cause::Limits);
    }

    /// The message has left the backlog.
    fn take_fresh(&mut self, seq: Seq) {
        if self.backlog.list.remove(&seq) {
            self.progress.advance(seq + 1);
            if self.backlog.list.is_empty() {
                self.leave_list();
            }
        } else {
            self.progress.advance(seq + 1);
            self.backlog.after = self.backlog.after.saturating_sub(1);
        }
    }

    /// Once it has caught up with what was old: what came meanwhile kept its pace too.
    ///
    /// spec: nats-server v2.15.1 server/consumer.go `loopAndGatherMsgs`
    fn end_replay(&mut self) {
        let next = self.progress.next_stream;
        self.pace.replay = self.pace.replay.filter(|replay| next <= replay.upto);
    }

    /// Replay and rate limit: when this message may go, if not now.
    fn hold_until(&self, now: Instant, time: Timestamp) -> Option<Instant> {
        let replay = self.pace.replay.and_then(|replay| {
            let (stored, sent) = replay.previous?;
            let gap = time.since(stored);
            (gap > Duration::from_millis(1)).then(|| sent + gap)
        });
        let rate = self.pace.rate.as_ref().map(super::rate::Rate::ready_at);
        replay.max(rate).filter(|at| *at > now)
    }

    fn draft(&self, seq: Seq, fresh: bool, time: Timestamp, body: Body) -> Draft {
        let count = if fresh {
            1
        } else {
            self.progress.deliveries(seq) + 1
        };
        let ack = AckSubject {
            prefix: Arc::clone(&self.ack_prefix),
            count,
            seq,
            delivery: self.progress.next_delivery,
            time,
            pending: self.num_pending().saturating_sub(u64::from(fresh)),
        };
        let contents = if self.config.headers_only {
            Contents::HeaderOnly(with_size(&body).into())
        } else {
            Contents::Whole
        };
        Draft {
            seq,
            fresh,
            time,
            body,
            contents,
            ack,
        }
    }

    /// Sends it to whoever is next and notes that; `None` when nobody takes it.
    fn send(&mut self, scene: &Scene<'_>, mut draft: Draft) -> Option<usize> {
        let Some((to, unused)) = self.receiver(scene, &draft) else {
            self.nothing_now();
            return None;
        };
        let header = Cow::Borrowed(draft.contents.header(&draft.body));
        if let Some(relabeled) = draft.contents.relabeled(self.with_pin(header)) {
            draft.contents = relabeled;
        }
        let size = draft.size();
        let sent = size - draft.body.subject_len() as usize + to.len();
        self.note(scene, &draft);
        let Draft {
            body,
            contents,
            ack,
            ..
        } = draft;
        let parcel = Parcel::new(Arc::clone(&to), ack, body, contents);
        self.out.push(ConsumerOutput::Deliver(parcel));
        if let Some(Unused { messages, bytes }) = unused {
            let text = "409 Batch Completed";
            self.out
                .publish(status::unfinished(&to, text, messages, bytes));
        }
        self.sent(scene, sent);
        Some(size)
    }

    /// Who gets it, and what they would have taken beyond it.
    fn receiver(&mut self, scene: &Scene<'_>, draft: &Draft) -> Option<(Arc<str>, Option<Unused>)> {
        if let Mode::Push(push) = &self.mode {
            return Some((push.subject(), None));
        }
        let size = i64::try_from(draft.size()).unwrap_or(i64::MAX);
        let new_pin = if self.pins() && self.pin.is_none() {
            self.rng.nuid()
        } else {
            String::new()
        };
        let taker = self.take(scene, size, draft.fresh, &new_pin)?;
        if let Some(group) = taker.pinned_in {
            self.pin(scene, &new_pin, &group);
        }
        Some((taker.reply, taker.unused))
    }

    fn take(&mut self, scene: &Scene<'_>, size: i64, fresh: bool, new_pin: &str) -> Option<Taker> {
        let held = self.pin.take();
        let rule = self.rule(held.as_ref(), fresh, new_pin);
        let taker = match &mut self.mode {
            Mode::Push(_) => None,
            Mode::Pull(waiting) => {
                waiting.take(scene.mono(), size, rule, scene.listens, &mut self.out)
            }
        };
        self.pin = held;
        taker
    }

    /// Progress after a delivery.
    fn note(&mut self, scene: &Scene<'_>, draft: &Draft) {
        let seq = draft.seq;
        self.bodies.forget(seq);
        if draft.fresh {
            self.take_fresh(seq);
        } else {
            self.redelivery.forget(seq);
            self.progress.count_again(seq);
        }
        let tracked = self.tracks();
        self.progress.deliver(seq, scene.now.wall, tracked);
        if tracked {
            self.rearm_now(scene.mono(), seq);
        } else {
            self.done(seq, seq);
        }
        self.delivered_at = Some(scene.now.wall);
        self.idle.used(scene.mono());
        if let Some(rate) = &mut self.pace.rate {
            rate.sent(scene.mono(), draft.size() as u64);
        }
        if let Some(replay) = &mut self.pace.replay {
            replay.previous = Some((draft.time, scene.mono()));
        }
    }

    /// Asks for the bodies that come next, when somebody waits for them.
    fn fetch(&mut self, scene: &Scene<'_>) {
        let fresh = self.backlog.list.iter().copied();
        let after = fresh_from(self.after_list(), scene, &self.filters);
        let coming = self.redelivery.queued().chain(fresh).chain(after);
        let wanted = self.demand().saturating_sub(self.bodies.len());
        if let Some(block) = self.bodies.plan(wanted, coming, scene.messages) {
            self.out.push(ConsumerOutput::Fetch(block));
        }
    }

    /// How many messages would be taken now, or more than are ever read ahead.
    fn demand(&self) -> usize {
        match &self.mode {
            Mode::Push(push) if push.may_send() => usize::MAX,
            Mode::Push(_) => 0,
            Mode::Pull(waiting) => usize::try_from(waiting.wanted(DEMAND_MAX)).unwrap_or(0),
        }
    }

    /// Reads on before what was read is used up; lets it go when nobody asks for it.
    pub(super) fn read_on(&mut self, scene: &Scene<'_>) {
        let Some(last) = self.bodies.last() else {
            return;
        };
        let demand = self.demand();
        if demand == 0 {
            return self.bodies.rest();
        }
        let wanted = demand.saturating_sub(self.bodies.len());
        let is_worth_it = wanted >= limits::FETCH_MESSAGES_MAX / 2 && self.bodies.has_room();
        if is_worth_it && self.backlog.list.is_empty() && !self.is_full() {
            let after = fresh_from(self.after_list().max(last + 1), scene, &self.filters);
            if let Some(block) = self.bodies.plan(wanted, after, scene.messages) {
                self.out.push(ConsumerOutput::Fetch(block));
            }
        }
    }

    /// Tells those who watch, when there are any.
    pub(super) fn tell(&mut self, scene: &Scene<'_>, event: &Event) {
        let teller = Teller {
            stream: &self.stream.name,
            consumer: &self.name,
            domain: self.stream.domain.as_deref(),
        };
        if scene.listens.anybody(&event.subject(teller)) {
            let message = event.message(teller, scene.now.wall, &mut self.rng);
            self.out.publish(message);
        }
    }
}

impl Draft {
    /// What budgets count: the subject is the stored one.
    fn size(&self) -> usize {
        let (header, payload) = (
            self.contents.header(&self.body),
            self.contents.payload(&self.body),
        );
        self.body.subject_len() as usize + self.ack.len() + header.len() + payload.len()
    }
}

/// The messages for a consumer with these filters, from `from` on.
fn fresh_from(mut from: Seq, scene: &Scene<'_>, filters: &[Box<str>]) -> impl Iterator<Item = Seq> {
    std::iter::from_fn(move || {
        let seq = scene.messages.next(from, filters)?;
        from = seq + 1;
        Some(seq)
    })
}

/// The stored headers and the size of the payload that is left out.
fn with_size(body: &Body) -> Vec<u8> {
    let stored = body.header();
    let mut header = match stored.strip_suffix(b"\r\n") {
        Some(open) => open.to_vec(),
        None => b"NATS/1.0\r\n".to_vec(),
    };
    header.extend_from_slice(format!("Nats-Msg-Size: {}\r\n\r\n", body.payload().len()).as_bytes());
    header
}
