//! A consumer that rests until its time.

use frond_clock::{Now, Timestamp};
use frond_wire::{Message, MessageBuf, go_json};
use serde::Serialize;

use super::config::ConsumerConfig;
use super::machine::Consumer;
use super::scene::Scene;
use crate::api::json::GivenTime;

/// spec: nats-server v2.15.1 server/jetstream_events.go `JSConsumerPauseAdvisory`
#[derive(Serialize)]
struct Advisory<'a> {
    r#type: &'static str,
    id: String,
    #[serde(serialize_with = "super::config::write_time")]
    timestamp: Timestamp,
    stream: &'a str,
    consumer: &'a str,
    paused: bool,
    pause_until: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
}

/// What those who watch know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Until when it rests, if it does.
    Told(Option<Timestamp>),
    /// They are told next, whatever it is.
    Untold,
}

impl Consumer {
    /// Rests until then; `None` or a time that is over ends the rest. Any other time than before
    /// is told. Wake it with `ConsumerInput::Time` afterwards.
    pub(crate) fn pause(&mut self, now: Now, until: Option<Timestamp>) {
        let old = self.config.pause_until.as_ref().map(GivenTime::at);
        if old != until {
            self.rest_told = Rest::Untold;
        }
        self.config = self.paused(until);
        self.wake_now(now);
    }

    /// Its description when it rests until then.
    pub(crate) fn paused(&self, until: Option<Timestamp>) -> ConsumerConfig {
        let mut config = self.config.clone();
        config.pause_until = until.map(Into::into);
        config.set_required_level();
        config
    }

    /// Somebody asked for a consumer like it: that it rests is told again. Wake it with
    /// `ConsumerInput::Time` afterwards.
    // spec: nats-server v2.15.1 server/jetstream_api.go jsConsumerCreateRequest
    pub(crate) fn remind_of_rest(&mut self, now: Now) {
        if self.rests_until(now.wall).is_some() {
            self.rest_told = Rest::Untold;
            self.wake_now(now);
        }
    }

    /// The time it rests until, while it does.
    pub(super) fn rests_until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.config.pause_until.as_ref()?.at();
        (until > now).then_some(until)
    }

    /// Tells those who watch when a rest begins, changes or ends.
    pub(super) fn tick_pause(&mut self, scene: &Scene<'_>) {
        let rests_until = self.rests_until(scene.now.wall);
        if self.rest_told == Rest::Told(rests_until) {
            return;
        }
        self.rest_told = Rest::Told(rests_until);
        let subject = format!(
            "$JS.EVENT.ADVISORY.CONSUMER.PAUSE.{}.{}",
            self.stream.name, self.name
        );
        if !scene.listens.anybody(&subject) {
            return;
        }
        let advisory = Advisory {
            r#type: "io.nats.jetstream.advisory.v1.consumer_pause",
            id: self.rng.nuid(),
            timestamp: scene.now.wall,
            stream: &self.stream.name,
            consumer: &self.name,
            paused: rests_until.is_some(),
            pause_until: text_or_zero(self.config.pause_until.as_ref().map(GivenTime::at)),
            domain: self.stream.domain.as_deref(),
        };
        let payload = go_json::to_vec(&advisory);
        self.out.publish(MessageBuf::copy_of(&Message {
            subject: &subject,
            reply: None,
            header: b"",
            payload: &payload,
        }));
    }
}

/// A time, or Go's zero time when there is none.
pub(crate) fn text_or_zero(time: Option<Timestamp>) -> String {
    time.map_or_else(
        || "0001-01-01T00:00:00Z".to_owned(),
        |time| time.to_string(),
    )
}
