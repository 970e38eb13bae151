use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use frond_clock::{Instant, Now, Rng, Timestamp};
use frond_ledger::Seq;

use super::backlog::Backlog;
use super::config::{ConsumerConfig, PriorityPolicy, StreamFacts};
use super::idle::Idle;
use super::io::{ConsumerInput, ConsumerOutput, Messages};
use super::outbox::Outbox;
use super::pausing::Rest;
use super::pinning::Pin;
use super::progress::Progress;
use super::pushing::Push;
use super::rate::Rate;
use super::read_ahead::ReadAhead;
use super::redelivery::Redelivery;
use super::saving::Saver;
use super::scene::{Listens, Scene};
use super::start;
use super::waiting::Waiting;
use crate::parcel::{AckSubject, Parcel};

/// One consumer of one stream.
///
/// After each call of [`Consumer::handle`] the owner takes its wishes with [`Consumer::poll`]
/// until there are none, and wakes it at [`Consumer::deadline`] with [`ConsumerInput::Time`].
#[derive(Debug)]
pub(crate) struct Consumer {
    pub(super) name: Box<str>,
    /// How the replies of its deliveries begin.
    pub(super) ack_prefix: Arc<str>,
    pub(super) config: ConsumerConfig,
    pub(super) stream: StreamFacts,
    pub(super) filters: Vec<Box<str>>,
    pub(super) created: Timestamp,
    pub(super) rng: Rng,
    pub(super) progress: Progress,
    pub(super) backlog: Backlog,
    pub(super) redelivery: Redelivery,
    pub(super) bodies: ReadAhead,
    pub(super) mode: Mode,
    pub(super) pace: Pace,
    /// The client that is served alone.
    pub(super) pin: Option<Pin>,
    pub(super) idle: Idle,
    pub(super) saver: Saver,
    pub(super) delivered_at: Option<Timestamp>,
    pub(super) acked_at: Option<Timestamp>,
    /// The rest that those who watch were told of.
    pub(super) rest_told: Rest,
    pub(super) out: Outbox,
    wake: Option<Instant>,
}

/// Who decides when a message is sent.
#[derive(Debug)]
pub(super) enum Mode {
    /// Clients ask.
    Pull(Waiting),
    /// We do, while somebody listens.
    Push(Push),
}

/// What slows delivery down.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes per second.
    pub(super) rate: Option<Rate>,
    /// Replay as stored: up to which sequence, and what was sent last.
    pub(super) replay: Option<Replay>,
    /// Nothing is sent before.
    pub(super) resume_at: Option<Instant>,
    /// Whether its maker is still to be told of it: nothing is sent before.
    pub(super) is_untold: bool,
    /// Why it stopped.
    pub(super) stop: Stop,
}

/// Why delivery stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// Nobody or nothing is there, or it is not its time.
    #[default]
    Idle,
    /// More is ready, others shall have a turn first.
    Turn,
    /// As many are on the way as may be.
    Full,
}

/// Replay with the gaps the messages were stored with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replay {
    /// The last message that is old.
    pub(super) upto: Seq,
    /// When the last one was stored and when it was sent.
    pub(super) previous: Option<(Timestamp, Instant)>,
}

/// Why a consumer ends while clients wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It, or its stream, was deleted.
    Deleted,
    /// The server stops; the consumer will be back.
    Shutdown,
}

impl Consumer {
    /// A new consumer from a prepared description that has a name. `seed` feeds its choices.
    /// Its first wish is to save where it starts, with `Need::Sync`: answer the create call
    /// when that is safe, with [`Consumer::info`] taken before any other input, and then call
    /// [`Consumer::told`]: it delivers nothing before.
    pub(crate) fn create(
        now: Now,
        config: ConsumerConfig,
        stream: &StreamFacts,
        seed: u64,
        messages: &dyn Messages,
    ) -> Self {
        let (progress, list) = start::start(&config, stream, messages);
        let mut consumer = Self::assemble(now, now.wall, config, stream, seed, progress);
        consumer.recount(list, messages);
        consumer.pace.replay = consumer.replay(messages);
        consumer.pace.is_untold = true;
        consumer.save_whole(frond_ledger::Need::Sync);
        consumer
    }

    /// Who asked for it was told that it exists: it delivers from its next input on.
    pub(crate) const fn told(&mut self) {
        self.pace.is_untold = false;
    }

    /// A consumer as the ledger has it. What cannot be read is left out: the text says so.
    pub(crate) fn restore(
        now: Now,
        created: Timestamp,
        config: ConsumerConfig,
        stream: &StreamFacts,
        seed: u64,
        saved: (Option<&[u8]>, &[Bytes]),
        messages: &dyn Messages,
    ) -> (Self, Option<String>) {
        let (progress, damage) = read(saved);
        let (progress, list) = match progress {
            Some(progress) => {
                let list = start::rest_of_list(&progress, &config.filters(), messages);
                (progress, list)
            }
            None => start::start_again(&config, stream, created, messages),
        };
        let mut consumer = Self::assemble(now, created, config, stream, seed, progress);
        consumer.rest_told = Rest::Told(consumer.rests_until(now.wall));
        consumer.settle_with_stream(now, messages);
        consumer.recount(list, messages);
        consumer.pace.replay = consumer.replay(messages);
        if damage.is_some() {
            consumer.save_anew();
        }
        (consumer, damage)
    }

    fn assemble(
        now: Now,
        created: Timestamp,
        config: ConsumerConfig,
        stream: &StreamFacts,
        seed: u64,
        progress: Progress,
    ) -> Self {
        let mut rng = Rng::seeded(seed);
        let mode = if config.is_push() {
            Mode::Push(Push::new(now.mono, &config))
        } else {
            Mode::Pull(Waiting::new(config.max_waiting))
        };
        // Those of mirrors and sources start anew with whoever asked for them.
        let volatile = config.mem_storage || config.direct || stream.in_memory;
        Self {
            name: config.asset_name().into(),
            ack_prefix: AckSubject::prefix(&stream.name, config.asset_name()),
            filters: config.filters(),
            created,
            backlog: Backlog::default(),
            redelivery: Redelivery::default(),
            bodies: ReadAhead::default(),
            pace: Pace {
                rate: rate(&config, stream),
                ..Pace::default()
            },
            pin: None,
            idle: Idle::new(now.mono, &config, &mut rng),
            saver: Saver::new(volatile, progress.saves),
            delivered_at: None,
            acked_at: None,
            rest_told: Rest::Told(None),
            progress,
            out: Outbox::default(),
            wake: Some(now.mono),
            stream: stream.clone(),
            config,
            rng,
            mode,
        }
    }

    /// Takes one input.
    pub(crate) fn handle(
        &mut self,
        now: Now,
        input: ConsumerInput<'_>,
        messages: &dyn Messages,
        listens: &Listens<'_>,
    ) {
        let scene = Scene {
            now,
            messages,
            listens,
        };
        if let Mode::Pull(waiting) = &mut self.mode {
            waiting.begin_round();
        }
        let is_pull = matches!(input, ConsumerInput::Next(_));
        match input {
            ConsumerInput::Appended => self.appended(messages),
            ConsumerInput::Removed(gone, cause) => self.removed(&scene, gone, cause),
            ConsumerInput::Ack(message) => self.on_ack(&scene, message),
            ConsumerInput::Next(message) => self.on_next(&scene, message),
            ConsumerInput::FlowControl(message) => self.on_flow_control(&scene, message),
            ConsumerInput::Fetched { messages, missing } => {
                self.bodies.fetched(messages, missing);
                // The disk reads on while these are delivered.
                self.read_on(&scene);
            }
            ConsumerInput::Saved(number) => self.saver.saved(number, &mut self.out),
            ConsumerInput::NotSaved => self.not_saved(),
            ConsumerInput::Interest(filter) => self.interest_changed(&scene, filter),
            ConsumerInput::Time => {}
        }
        if self.wake.is_some_and(|at| at <= now.mono) {
            self.tick(&scene);
        }
        if is_pull && self.config.priority_policy == PriorityPolicy::Prioritized {
            // Requests of one read stand in their order before the first is served.
            self.pace.stop = Stop::Turn;
        } else {
            self.pump(&scene);
        }
        self.save_when_due(now.mono);
        self.wake = self.next_wake(now);
    }

    /// The next wish.
    pub(crate) fn poll(&mut self) -> Option<ConsumerOutput> {
        self.out.pop()
    }

    /// The next wish, if it is a delivery.
    pub(crate) fn poll_delivery(&mut self) -> Option<Parcel> {
        self.out.pop_delivery()
    }

    /// When to wake it.
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.wake
    }

    /// Its description, as prepared.
    pub(crate) const fn config(&self) -> &ConsumerConfig {
        &self.config
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// When it was made.
    pub(crate) const fn created(&self) -> Timestamp {
        self.created
    }

    /// What it has delivered and what was acknowledged.
    pub(crate) const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Whether nothing of it goes to the disk.
    pub(crate) const fn is_volatile(&self) -> bool {
        self.saver.is_volatile()
    }

    /// Tells everybody who waits that it is over. Its last wishes follow.
    pub(crate) fn end(&mut self, why: Ending) {
        if let Mode::Pull(waiting) = &mut self.mode {
            match why {
                Ending::Deleted => waiting.end_all("409 Consumer Deleted", false, &mut self.out),
                Ending::Shutdown => waiting.end_all("409 Server Shutdown", true, &mut self.out),
            }
        }
        if why == Ending::Shutdown {
            self.save_now();
        }
        self.wake = None;
    }

    /// Whether the stream must keep a message for this consumer.
    // spec: nats-server v2.14.0 server/consumer.go needAck
    pub(crate) fn needs(&self, seq: Seq, subject: &str) -> bool {
        if !self.wants(subject) {
            return false;
        }
        let open = if self.config.ack_policy == super::config::AckPolicy::Explicit {
            seq >= self.progress.next_stream || self.progress.pending.contains_key(&seq)
        } else {
            true
        };
        (seq > self.progress.floor.stream && open)
            || self.progress.pending.contains_key(&seq)
            || self.progress.redelivered.contains_key(&seq)
    }

    /// Whether its filters name `subject`.
    pub(crate) fn wants(&self, subject: &str) -> bool {
        self.filters.is_empty()
            || self
                .filters
                .iter()
                .any(|filter| frond_subject::matches(filter, subject))
    }

    /// Everything that happens by itself.
    fn tick(&mut self, scene: &Scene<'_>) {
        self.tick_pause(scene);
        self.tick_pin(scene);
        self.redeliver_due(scene);
        match &mut self.mode {
            Mode::Pull(waiting) => {
                // What is held back by unacknowledged messages will not come in time for those
                // who do not wait.
                // spec: nats-server v2.15.1 server/consumer.go loopAndGatherMsgs
                if waiting.is_due(scene.mono()) && self.pace.stop == Stop::Full {
                    waiting.expire(scene.mono(), &mut self.out);
                    waiting.end_of_stream(&mut self.out);
                }
                waiting.tick(scene.mono(), self.progress.last(), &mut self.out);
            }
            Mode::Push(_) => self.tick_push(scene),
        }
        self.tick_idle(scene);
    }

    fn next_wake(&self, now: Now) -> Option<Instant> {
        if self.pace.stop == Stop::Turn {
            return Some(now.mono);
        }
        let paused = self.paused_for(now.wall).map(|rest| now.mono + rest);
        [
            self.redelivery.deadline(),
            self.mode_deadline(),
            self.pace.resume_at,
            self.idle_deadline(),
            self.pin_deadline(),
            self.saver.deadline(),
            paused,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn mode_deadline(&self) -> Option<Instant> {
        match &self.mode {
            Mode::Pull(waiting) => waiting.deadline(),
            Mode::Push(push) => push.deadline(),
        }
    }

    /// It wants to be woken at once.
    pub(super) const fn wake_now(&mut self, now: Now) {
        self.wake = Some(now.mono);
    }

    /// How long it stays paused.
    pub(super) fn paused_for(&self, now: Timestamp) -> Option<Duration> {
        self.rests_until(now).map(|until| until.since(now))
    }

    fn replay(&self, messages: &dyn Messages) -> Option<Replay> {
        (self.config.replay_policy == super::config::ReplayPolicy::Original).then(|| Replay {
            upto: messages.last(),
            previous: None,
        })
    }
}

pub(super) fn rate(config: &ConsumerConfig, stream: &StreamFacts) -> Option<Rate> {
    let burst = u64::try_from(stream.max_msg_size).ok().filter(|&n| n > 0);
    (config.rate_limit_bps > 0)
        .then(|| Rate::new(config.rate_limit_bps, burst.unwrap_or(1024 * 1024)))
}

/// As much of the saved progress as can be read.
fn read((state, changes): (Option<&[u8]>, &[Bytes])) -> (Option<Progress>, Option<String>) {
    let Some(state) = state else {
        let text = "its progress is missing: it starts over";
        return (None, Some(text.to_owned()));
    };
    let mut progress = match Progress::decode_state(state) {
        Ok(progress) => progress,
        Err(error) => return (None, Some(error.to_string())),
    };
    for change in changes {
        if let Err(error) = progress.apply_change(change) {
            return (Some(progress), Some(error.to_string()));
        }
    }
    (Some(progress), None)
}

impl Consumer {
    /// After a start: what the stream no longer has is over, what it has is waited for.
    pub(super) fn settle_with_stream(&mut self, now: Now, messages: &dyn Messages) {
        let pending: Vec<Seq> = self.progress.pending.keys().copied().collect();
        for seq in pending {
            if messages.head(seq).is_none() {
                self.progress.ack(seq);
            } else {
                self.rearm(now, seq);
            }
        }
        let counted: BTreeSet<Seq> = self.progress.redelivered.keys().copied().collect();
        for seq in counted {
            if messages.head(seq).is_none() {
                self.progress.ack(seq);
            }
        }
        if self.tracks() {
            for seq in self.progress.take_unread() {
                self.redelivery.queue(seq);
            }
        }
        // The stream may have lost its tail: then what it will store there is new again.
        let next = messages.last() + 1;
        if self.progress.next_stream > next && self.config.opt_start_seq < self.progress.next_stream
        {
            self.progress.rewind(next);
        }
    }
}
