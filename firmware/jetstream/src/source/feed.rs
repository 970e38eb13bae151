use std::collections::VecDeque;
use std::time::Duration;

use frond_clock::{Instant, Rng};
use frond_wire::{Message, MessageBuf, headers};

use super::answer::{self, Answer};
use super::flow::{Delivery, Flow};
use super::origin::{Kind, Origin};
use super::position::{Position, Saved};
use super::queue::{Arrived, Question, Queue};
use super::request::{Asker, Form};
use crate::errors::{self, ApiError};
use crate::io::Level;
use crate::limits::{
    FEED_BATCH_MESSAGES_MAX, FEED_QUEUE_BYTES_MAX, FEED_QUIET_MS, FEED_RETRY_MS_MAX,
    FEED_RETRY_MS_MIN, FEED_RETURN_MS,
};

/// Two requests are at least this far apart.
const SPACING: Duration = Duration::from_millis(250);

/// One mirror or source: it asks its origin for a consumer and takes in what that delivers.
///
/// **Invariants**: every state has a deadline. Messages leave towards the stream in the order
/// of the origin, each once, and only while no earlier batch is on its way to the disk; so what
/// the stream holds of an origin is always a prefix of what the feed has seen.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(super) origin: Origin,
    pub(super) asker: Asker,
    pub(super) rng: Rng,
    pub(super) state: State,
    pub(super) form: Form,
    pub(super) begin: Begin,
    /// The last message that came, was given to the stream, was kept by it.
    pub(super) seen: Option<Position>,
    pub(super) given: Option<Position>,
    pub(super) kept: Option<Position>,
    pub(super) identity: Box<str>,
    queue: Queue,
    /// Whether a batch is on its way to the disk.
    is_busy: bool,
    pub(super) fails: u32,
    pub(super) asked: Option<Instant>,
    line: Line,
    pub(super) error: Option<ApiError>,
    pub(super) heard: Option<Instant>,
    pub(super) lag: u64,
    /// How many came after the last message heard, by its own count.
    after_heard: u64,
    pub(super) out: VecDeque<FeedOutput>,
}

#[derive(Debug)]
pub(super) enum State {
    /// Asks again at this time.
    Waiting { until: Instant },
    /// The origin has been asked; what its consumer delivers before the answer is held.
    Asking {
        until: Instant,
        held: Vec<MessageBuf>,
    },
    /// Messages come.
    Flowing { quiet_until: Instant, flow: Flow },
}

/// Whether the origin could always be reached since it was asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// As far as is known.
    Steady,
    /// Not at some time: what was asked or delivered may be lost.
    Cut,
}

/// How the next consumer starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// At the last message seen, which shows whether the origin is still the same.
    AtSequence,
    /// At the time of the last message seen: its sequence means nothing at this origin.
    AtTime,
    /// At the first message: another stream has the origin's name now.
    Over,
}

/// What a feed hears.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FeedInput<'a> {
    /// The deadline passed.
    Time,
    /// Somebody listens at the origin's API.
    Reachable,
    /// Nobody does.
    Cut,
    /// On [`Ear::Answers`].
    Answer(&'a MessageBuf),
    /// On [`Ear::Deliveries`].
    Delivered(&'a MessageBuf),
}

/// Where a feed listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ear {
    /// For the origin's answer.
    Answers,
    /// For messages.
    Deliveries,
}

/// What a feed wants.
#[derive(Debug)]
pub(crate) enum FeedOutput {
    /// Listen here and nowhere else with this ear.
    Listen(Ear, String),
    /// Stop listening.
    Deaf(Ear),
    /// Publish.
    Publish(MessageBuf),
    /// Tell the operator.
    Log(Level, String),
}

impl Feed {
    /// A feed that has come as far as `saved` and asks when it is first told the time.
    pub(crate) fn new(now: Instant, seed: u64, origin: Origin, asker: Asker, saved: Saved) -> Self {
        Self {
            form: Form::newest(origin.kind),
            origin,
            asker,
            rng: Rng::seeded(seed),
            state: State::Waiting { until: now },
            begin: Begin::AtSequence,
            seen: saved.position,
            given: saved.position,
            kept: saved.position,
            identity: saved.identity,
            queue: Queue::default(),
            is_busy: false,
            fails: 0,
            asked: None,
            line: Line::Steady,
            error: None,
            heard: None,
            lag: 0,
            after_heard: 0,
            out: VecDeque::new(),
        }
    }

    /// Takes one input.
    pub(crate) fn hear(&mut self, now: Instant, input: FeedInput<'_>) {
        match input {
            FeedInput::Time => self.time(now),
            FeedInput::Reachable => self.reachable(now),
            FeedInput::Cut => self.line = Line::Cut,
            FeedInput::Answer(message) => self.answered(now, answer::read(message)),
            FeedInput::Delivered(message) => self.delivered(now, message),
        }
    }

    /// The next wish.
    pub(crate) fn poll(&mut self) -> Option<FeedOutput> {
        self.out.pop_front()
    }

    /// When to wake it; there is always such a time.
    pub(crate) const fn deadline(&self) -> Instant {
        match &self.state {
            State::Waiting { until } | State::Asking { until, .. } => *until,
            State::Flowing { quiet_until, .. } => *quiet_until,
        }
    }

    /// The literal subject that must reach somebody.
    pub(crate) fn api_subject(&self) -> String {
        let name = &self.origin.config.name;
        match self.origin.filters().as_slice() {
            [filter] => self
                .origin
                .api(&format!("CONSUMER.CREATE.{name}.JS.{filter}")),
            _ => self.origin.api(&format!("CONSUMER.CREATE.{name}")),
        }
    }

    /// How far the stream has come, for the disk.
    pub(crate) fn given(&self) -> Saved {
        Saved {
            position: self.given,
            identity: self.identity.clone(),
        }
    }

    /// The last message the stream keeps.
    pub(crate) const fn kept_position(&self) -> Option<Position> {
        self.kept
    }

    /// Which stream of its name the origin is.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// What the stream may take now.
    pub(crate) fn front(&self) -> Option<&Arrived> {
        self.queue.front().filter(|_| !self.is_busy)
    }

    /// The stream took what was in front, or has no use for it.
    pub(crate) fn advance(&mut self) {
        match self.queue.pop() {
            Some(Arrived::Message(position, _)) => {
                self.given = Some(position);
                self.begin = Begin::AtSequence;
            }
            Some(Arrived::Question(question)) => self.reply(&question),
            None => {}
        }
    }

    /// What was given is on its way to the disk: nothing more until it is there.
    pub(crate) const fn committing(&mut self) {
        self.is_busy = true;
    }

    /// What was given is kept.
    pub(crate) const fn committed(&mut self) {
        self.is_busy = false;
        self.kept = self.given;
        self.fails = 0;
    }

    /// What was given is not kept: it has to come again.
    pub(crate) fn refused(&mut self, now: Instant, error: ApiError) {
        self.is_busy = false;
        self.given = self.kept;
        self.fail(now, Some(error));
    }

    /// The stream cannot take what is in front; it has to come again.
    pub(crate) fn full(&mut self, now: Instant, error: ApiError) {
        self.fail(now, Some(error));
    }

    fn time(&mut self, now: Instant) {
        if now < self.deadline() {
            return;
        }
        match &self.state {
            State::Waiting { .. } => self.ask(now),
            State::Asking { .. } => self.fail(now, None),
            State::Flowing { .. } => self.again(now),
        }
    }

    fn reachable(&mut self, now: Instant) {
        let was_cut = std::mem::replace(&mut self.line, Line::Steady) == Line::Cut;
        let soon = now + Duration::from_millis(FEED_RETURN_MS);
        match &mut self.state {
            State::Waiting { .. } => self.ask_soon(now),
            State::Asking { .. } | State::Flowing { .. } if was_cut => self.ask_soon(now),
            // It may be somebody else who came.
            State::Asking { until: at, .. }
            | State::Flowing {
                quiet_until: at, ..
            } => {
                *at = soon.min(*at);
            }
        }
    }

    fn ask_soon(&mut self, now: Instant) {
        self.fails = 0;
        match self.asked.map(|asked| asked + SPACING) {
            Some(at) if at > now => self.rest(at),
            Some(_) | None => self.ask(now),
        }
    }

    fn answered(&mut self, now: Instant, answer: Answer) {
        let State::Asking { held, .. } = &mut self.state else {
            return;
        };
        let held = std::mem::take(held);
        self.out.push_back(FeedOutput::Deaf(Ear::Answers));
        match answer {
            Answer::Made(made) => self.made(now, &made, held),
            Answer::Refused(error) => self.not_made(now, error),
            Answer::Nobody | Answer::Strange => self.fail(now, None),
        }
    }

    fn delivered(&mut self, now: Instant, message: &MessageBuf) {
        match &mut self.state {
            State::Waiting { .. } => {}
            State::Asking { held, .. } => {
                // What does not fit is missed, and asked for again, when the answer is there.
                if held.len() < FEED_BATCH_MESSAGES_MAX {
                    held.push(message.clone());
                }
            }
            State::Flowing { quiet_until, flow } => {
                *quiet_until = now + Duration::from_millis(FEED_QUIET_MS);
                self.heard = Some(now);
                match flow.judge(now, message) {
                    Delivery::Next(position, pending) => {
                        self.after_heard = pending;
                        self.lag = pending.saturating_sub(1);
                        self.next(now, position, message);
                    }
                    Delivery::Nothing => {}
                    Delivery::Alive => self.fails = 0,
                    Delivery::Question(question) => self.queue.push(Arrived::Question(question)),
                    Delivery::Gap => self.again(now),
                }
            }
        }
        if self.queue.bytes() > FEED_QUEUE_BYTES_MAX {
            self.fail(now, None);
        }
    }

    fn next(&mut self, now: Instant, position: Position, message: &MessageBuf) {
        let is_new = self.seen.is_none_or(|seen| position.seq > seen.seq);
        if !is_new {
            let is_later = self
                .seen
                .is_some_and(|seen| seen.is_timed() && position.time > seen.time);
            if !is_later {
                return;
            }
            self.tell_went_back(position);
            if self.origin.kind == Kind::Mirror {
                return;
            }
            if self.begin == Begin::AtSequence {
                self.begin = Begin::AtTime;
                self.ask(now);
                return;
            }
        }
        self.seen = Some(position);
        self.fails = 0;
        self.queue.push(Arrived::Message(position, message.clone()));
    }

    fn tell_went_back(&mut self, position: Position) {
        let State::Flowing { flow, .. } = &mut self.state else {
            return;
        };
        if std::mem::replace(&mut flow.told, true) {
            return;
        }
        let text = format!(
            "stream {}: origin {} lost messages and uses sequence {} again",
            self.asker.stream, self.origin.config.name, position.seq
        );
        if self.origin.kind == Kind::Mirror {
            let words = errors::MIRROR_CONSUMER_SETUP_FAILED.with("err", &text);
            self.error = Some(words);
        }
        self.out.push_back(FeedOutput::Log(Level::Error, text));
    }

    /// Something is missing: asks at once, unless that did not help before.
    fn again(&mut self, now: Instant) {
        if self.fails == 0 {
            self.fails = 1;
            self.ask(now);
        } else {
            self.fail(now, None);
        }
    }

    /// Asks later.
    pub(super) fn fail(&mut self, now: Instant, error: Option<ApiError>) {
        if error.is_some() {
            self.error = error;
        }
        let doubled = FEED_RETRY_MS_MIN << self.fails.min(8);
        self.fails = self.fails.saturating_add(1);
        let pause = doubled.min(FEED_RETRY_MS_MAX);
        let jitter = self.rng.below(pause / 4 + 1);
        self.rest(now + Duration::from_millis(pause + jitter));
    }

    fn rest(&mut self, until: Instant) {
        self.forget_unkept();
        self.out.push_back(FeedOutput::Deaf(Ear::Answers));
        self.out.push_back(FeedOutput::Deaf(Ear::Deliveries));
        self.state = State::Waiting { until };
    }

    /// What came and was not given to the stream comes again.
    pub(super) fn forget_unkept(&mut self) {
        let unkept = self.queue.messages();
        if unkept > 0 {
            self.lag = self.after_heard.saturating_add(unkept);
        }
        self.queue.clear();
        self.seen = self.given;
    }

    fn reply(&mut self, question: &Question) {
        let mut header = Vec::new();
        let mut tell = |key, value: u64| headers::append(&mut header, key, &value.to_string());
        tell("Nats-Last-Consumer", question.consumer_seq);
        tell("Nats-Last-Stream", question.stream_seq);
        let message = Message {
            subject: &question.reply,
            reply: None,
            header: &header,
            payload: b"",
        };
        let message = MessageBuf::copy_of(&message);
        self.out.push_back(FeedOutput::Publish(message));
    }
}
