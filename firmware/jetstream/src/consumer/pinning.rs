//! The one client that is served while others stand by.

use std::borrow::Cow;
use std::time::Duration;

use frond_clock::{Instant, Now, Timestamp};
use frond_wire::{Message, MessageBuf, go_json};
use serde::Serialize;

use super::config::PriorityPolicy;
use super::machine::Consumer;
use super::priority::Rule;
use super::pull::Standing;
use super::scene::{Listens, Scene};

/// Who is pinned, and until when without a word from them.
#[derive(Debug)]
pub(super) struct Pin {
    /// What the client repeats.
    pub(super) id: Box<str>,
    /// The group it asked in.
    group: Box<str>,
    /// Since when.
    pub(super) since: Timestamp,
    /// When it is over.
    until: Option<Instant>,
}

/// What became of a pin.
#[derive(Clone, Copy, Debug)]
enum Turn<'a> {
    Pinned(&'a str),
    Unpinned(&'static str),
}

// spec: nats-server v2.15.1 server/jetstream_events.go JSConsumerGroupPinnedAdvisory,
// JSConsumerGroupUnpinnedAdvisory
#[derive(Serialize)]
struct Advisory<'a> {
    r#type: &'static str,
    id: String,
    #[serde(serialize_with = "super::config::write_time")]
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "str::is_empty")]
    account: &'a str,
    stream: &'a str,
    consumer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    group: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl Consumer {
    /// Whether its policy serves one client alone.
    pub(super) fn pins(&self) -> bool {
        self.config.priority_policy == PriorityPolicy::PinnedClient
    }

    /// What decides who is served the next message. `held`: who is pinned; `fresh`: the message
    /// was never delivered before; `new_pin`: what whoever is pinned by it would get.
    pub(super) fn rule<'a>(
        &self,
        held: Option<&'a Pin>,
        fresh: bool,
        new_pin: &'a str,
    ) -> Rule<'a> {
        match (self.config.priority_policy, held) {
            (PriorityPolicy::None, _) => Rule::InTurn,
            (PriorityPolicy::Overflow, _) => Rule::Overflow {
                pending: self.num_pending() + u64::from(!fresh),
                on_the_way: self.progress.pending.len() as u64,
            },
            (PriorityPolicy::PinnedClient, Some(pin)) => Rule::Pinned(&pin.id),
            (PriorityPolicy::PinnedClient, None) => Rule::PinNext(new_pin),
            (PriorityPolicy::Prioritized, _) => Rule::ByNumber,
        }
    }

    /// A request of a consumer that pins: the pinned client is still there. False: the request
    /// names another pin than the one that holds.
    pub(super) fn renew_pin(&mut self, now: Instant, standing: Option<&Standing>) -> bool {
        let until = self.pin_until(now);
        let (Some(standing), Some(pin)) = (standing, &mut self.pin) else {
            return true;
        };
        if *standing.id == *pin.id {
            pin.until = until;
            return true;
        }
        standing.id.is_empty()
    }

    /// A client is served alone from now on.
    pub(super) fn pin(&mut self, scene: &Scene<'_>, id: &str, group: &str) {
        self.pin = Some(Pin {
            id: id.into(),
            group: group.into(),
            since: scene.now.wall,
            until: self.pin_until(scene.mono()),
        });
        self.tell_turn(scene.now, group, Turn::Pinned(id), scene.listens);
    }

    /// An operator wants another client to have its turn. Wake it with `ConsumerInput::Time`
    /// afterwards.
    pub(crate) fn unpin(&mut self, now: Now, group: &str, listens: &Listens<'_>) {
        self.pin = None;
        self.tell_turn(now, group, Turn::Unpinned("admin"), listens);
        self.wake_now(now);
    }

    /// The pinned client was not heard of for too long.
    pub(super) fn tick_pin(&mut self, scene: &Scene<'_>) {
        let now = scene.mono();
        let over = self
            .pin
            .take_if(|pin| pin.until.is_some_and(|at| at <= now));
        if let Some(pin) = over {
            let turn = Turn::Unpinned("timeout");
            self.tell_turn(scene.now, &pin.group, turn, scene.listens);
        }
    }

    /// When the pin is over by itself.
    pub(super) fn pin_deadline(&self) -> Option<Instant> {
        self.pin.as_ref().and_then(|pin| pin.until)
    }

    /// The headers that tell a client its pin.
    pub(super) fn with_pin<'a>(&self, header: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        if !self.pins() {
            return header;
        }
        let id = self.pin.as_ref().map_or("", |pin| &*pin.id);
        let mut told = match header.strip_suffix(b"\r\n") {
            Some(open) => open.to_vec(),
            None => b"NATS/1.0\r\n".to_vec(),
        };
        told.extend_from_slice(format!("Nats-Pin-Id: {id}\r\n\r\n").as_bytes());
        Cow::Owned(told)
    }

    fn pin_until(&self, now: Instant) -> Option<Instant> {
        let nanos = u64::try_from(self.config.priority_timeout).ok()?;
        (nanos > 0).then(|| now + Duration::from_nanos(nanos))
    }

    fn tell_turn(&mut self, now: Now, group: &str, turn: Turn<'_>, listens: &Listens<'_>) {
        let (token, r#type) = match turn {
            Turn::Pinned(_) => (
                "PINNED",
                "io.nats.jetstream.advisory.v1.consumer_group_pinned",
            ),
            Turn::Unpinned(_) => (
                "UNPINNED",
                "io.nats.jetstream.advisory.v1.consumer_group_unpinned",
            ),
        };
        let subject = format!(
            "$JS.EVENT.ADVISORY.CONSUMER.{token}.{}.{}",
            self.stream.name, self.name
        );
        if !listens.anybody(&subject) {
            return;
        }
        let (pinned_id, reason) = match turn {
            Turn::Pinned(id) => (Some(id), None),
            Turn::Unpinned(reason) => (None, Some(reason)),
        };
        let payload = go_json::to_vec(&Advisory {
            r#type,
            id: self.rng.nuid(),
            timestamp: now.wall,
            account: &self.stream.account,
            stream: &self.stream.name,
            consumer: &self.name,
            domain: self.stream.domain.as_deref(),
            group,
            pinned_id,
            reason,
        });
        self.out.publish(MessageBuf::copy_of(&Message {
            subject: &subject,
            reply: None,
            header: b"",
            payload: &payload,
        }));
    }
}
