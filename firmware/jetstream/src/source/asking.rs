//! How a feed asks its origin for a consumer, and what the answer means.

use std::time::Duration;

use frond_clock::Instant;
use frond_wire::{Message, MessageBuf};

use super::answer::Made;
use super::feed::{Begin, Ear, Feed, FeedInput, FeedOutput, State};
use super::flow::Flow;
use super::origin::{Kind, Origin};
use super::request::{self, Ask, Form, Start};
use crate::errors::{self, ApiError};
use crate::io::Level;
use crate::limits::{FEED_ANSWER_MS_MIN, FEED_QUIET_MS};

const RANDOM_LEN: usize = 8;

impl Feed {
    pub(super) fn ask(&mut self, now: Instant) {
        self.forget_unkept();
        self.asked = Some(now);
        let random = self.rng.base62(RANDOM_LEN);
        let reply = format!("$JSC.R.{random}");
        let durable = self.origin.config.consumer.as_ref();
        let deliver = durable.map_or_else(
            || self.origin.deliver_subject(&random),
            |consumer| consumer.deliver_subject.clone(),
        );
        let message = if let Some(consumer) = durable {
            reset(&self.origin, &consumer.name, &reply)
        } else {
            let ask = Ask {
                asker: &self.asker,
                form: self.form,
                start: self.start(),
                identity: &self.identity,
                deliver: &deliver,
                reply: &reply,
                random: &random,
            };
            request::create(&self.origin, ask)
        };
        self.out.push_back(FeedOutput::Listen(Ear::Answers, reply));
        self.out
            .push_back(FeedOutput::Listen(Ear::Deliveries, deliver));
        self.out.push_back(FeedOutput::Publish(message));
        let patience = Duration::from_millis(FEED_ANSWER_MS_MIN << self.fails.min(2));
        self.state = State::Asking {
            until: now + patience,
            held: Vec::new(),
        };
    }

    fn start(&self) -> Start {
        let config = &self.origin.config;
        match (self.seen, self.begin) {
            (None, Begin::Over) => Start::First,
            (None, Begin::AtSequence | Begin::AtTime) => match config.opt_start_time {
                Some(time) => Start::Since(time),
                None if config.opt_start_seq > 0 => Start::At(config.opt_start_seq),
                None => Start::First,
            },
            (Some(seen), _) if !seen.is_timed() => Start::At(seen.seq + 1),
            (Some(seen), Begin::AtTime) => Start::Since(seen.time),
            (Some(seen), Begin::AtSequence | Begin::Over) => Start::At(seen.seq),
        }
    }

    pub(super) fn not_made(&mut self, now: Instant, error: ApiError) {
        let is_too_new = error.err_code == errors::REQUIRED_API_LEVEL.err_code
            || error.err_code == errors::INVALID_JSON.err_code;
        if is_too_new && let Some(older) = self.form.older() {
            self.form = older;
            self.ask(now);
            return;
        }
        let is_another = error.err_code == errors::CONSUMER_STREAM_IDENTITY_MISMATCH.err_code;
        if is_another && !self.identity.is_empty() {
            self.another_origin("");
            self.fail(now, Some(error));
            return;
        }
        // The origin may be another server by the next time.
        self.form = Form::newest(self.origin.kind);
        self.fail(now, Some(error));
    }

    pub(super) fn made(&mut self, now: Instant, made: &Made, held: Vec<MessageBuf>) {
        let is_another = !self.identity.is_empty()
            && !made.identity.is_empty()
            && self.identity != made.identity;
        if is_another && self.another_origin(&made.identity) {
            self.ask(now);
            return;
        }
        if self.must_ask_by_time(made) {
            self.begin = Begin::AtTime;
            self.ask(now);
            return;
        }
        self.identity.clone_from(&made.identity);
        self.error = None;
        self.lag = made.pending;
        self.state = State::Flowing {
            quiet_until: now + Duration::from_millis(FEED_QUIET_MS),
            flow: Flow::new(now, made),
        };
        for message in held {
            // What this consumer delivered means nothing to the next one.
            if matches!(self.state, State::Flowing { .. }) {
                self.hear(now, FeedInput::Delivered(&message));
            }
        }
    }

    /// The last message seen should be there to be seen again. If it is not, either the origin
    /// let it go, or the origin lost it and gives its sequence to another.
    fn must_ask_by_time(&self, made: &Made) -> bool {
        let Some(seen) = self.seen.filter(|seen| seen.is_timed()) else {
            return false;
        };
        let is_gone = made.pending == 0 || made.stream_seq + 1 < seen.seq;
        is_gone
            && self.begin == Begin::AtSequence
            && self.origin.kind == Kind::Source
            && self.origin.config.consumer.is_none()
    }

    /// Another stream has the origin's name. Whether everything of it has to come.
    fn another_origin(&mut self, identity: &str) -> bool {
        let name = &self.origin.config.name;
        let stream = &self.asker.stream;
        let text = format!("stream {stream}: origin {name} was created anew");
        self.out.push_back(FeedOutput::Log(Level::Error, text));
        self.identity = identity.into();
        if self.origin.kind == Kind::Mirror {
            return false;
        }
        (self.seen, self.given, self.kept) = (None, None, None);
        self.begin = Begin::Over;
        true
    }
}

/// Makes a consumer that the operator prepared start over after what it has acknowledged.
fn reset(origin: &Origin, consumer: &str, reply: &str) -> MessageBuf {
    let name = &origin.config.name;
    let subject = origin.api(&format!("CONSUMER.RESET.{name}.{consumer}"));
    MessageBuf::copy_of(&Message {
        subject: &subject,
        reply: Some(reply),
        header: b"",
        payload: b"",
    })
}
