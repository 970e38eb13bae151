//! Consumers come, go, and come back after a restart.

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{ConsumerId, Record, RecoveredConsumer, StreamId};
use frond_wire::go_json;
use serde::Serialize;

use crate::actions::Action;
use crate::consumer::{Consumer, ConsumerConfig, ConsumerInput, Ending};
use crate::host::Attached;
use crate::io::{Level, Reach, SubId, Tenant};
use crate::jetstream::{Alarm, JetStream, Route};
use crate::source::origin::hash;
use crate::stream::removed::Removed;
use crate::stream::view::StreamView;

/// The layout written today.
const VERSION: u8 = 1;

/// A version byte, then JSON: `{"created":…,"config":{…}}`.
#[derive(Serialize)]
struct Written<'a> {
    created: String,
    config: &'a ConsumerConfig,
}

/// Writes a consumer's description.
pub(crate) fn encode(created: Timestamp, config: &ConsumerConfig) -> Bytes {
    let mut bytes = vec![VERSION];
    bytes.extend(go_json::to_vec(&Written {
        created: created.to_string(),
        config,
    }));
    bytes.into()
}

/// Reads a consumer's description.
fn decode(meta: &[u8]) -> Result<(Timestamp, ConsumerConfig), String> {
    #[derive(serde::Deserialize)]
    struct Read {
        created: String,
        config: ConsumerConfig,
    }
    let (version, text) = meta.split_first().ok_or("empty description")?;
    if *version != VERSION {
        return Err(format!(
            "written in layout {version}, this server reads {VERSION}"
        ));
    }
    let read: Read = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let created = Timestamp::parse_rfc3339(&read.created).ok_or("created at no time")?;
    Ok((created, read.config))
}

impl JetStream {
    /// A consumer starts to live in its stream.
    pub(crate) fn attach(&mut self, stream: StreamId, consumer: ConsumerId, machine: Consumer) {
        let Some(host) = self.hosts.get(&stream) else {
            return;
        };
        let (tenant, name) = (host.stream.tenant, host.stream.config.name.clone());
        let subs = self.consumer_subs(tenant, &name, &machine, (stream, consumer));
        let Some(host) = self.hosts.get_mut(&stream) else {
            return;
        };
        host.by_name.insert(machine.name().into(), consumer);
        host.consumers
            .insert(consumer, Attached::new(machine, subs));
        self.note_pusher(stream, consumer);
    }

    /// Where a consumer delivers to is new.
    pub(crate) fn note_pusher(&mut self, stream: StreamId, consumer: ConsumerId) {
        let Some(host) = self.hosts.get_mut(&stream) else {
            return;
        };
        let (tenant, place) = (host.stream.tenant, (stream, consumer));
        let Some(attached) = host.consumers.get_mut(&consumer) else {
            return;
        };
        let new: Option<Box<str>> = attached.machine.pushes_to().map(Into::into);
        if let Some(new) = &new {
            self.pushers.insert(tenant, new, place);
        }
        let old = std::mem::replace(&mut attached.pushes_to, new);
        if let Some(old) = old.filter(|old| attached.pushes_to.as_ref() != Some(old)) {
            self.pushers.remove(tenant, &old, place);
        }
    }

    /// A consumer is over because nobody used it.
    pub(crate) fn drop_consumer(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
        reach: &dyn Reach,
    ) {
        let Some(host) = self.hosts.get(&stream) else {
            return;
        };
        let is_kept = host
            .consumers
            .get(&consumer)
            .is_some_and(|a| !a.machine.is_volatile());
        if is_kept {
            let record = Record::Consumer {
                stream,
                consumer,
                meta: None,
            };
            self.journal.soon(self.now.mono, record);
        }
        self.detach(stream, consumer, reach);
    }

    /// A consumer stops to live; what only it needed leaves an interest stream.
    pub(crate) fn detach(&mut self, stream: StreamId, consumer: ConsumerId, reach: &dyn Reach) {
        if let Some(machine) = self.take_out(stream, consumer) {
            self.tell_of(stream, Some(machine.name()), Action::Deleted, reach);
            self.drop_unneeded(stream, reach);
        }
    }

    /// The same, as if it had never been.
    pub(crate) fn take_out(&mut self, stream: StreamId, consumer: ConsumerId) -> Option<Consumer> {
        let host = self.hosts.get_mut(&stream)?;
        let mut attached = host.take_consumer(consumer)?;
        host.by_name.retain(|_, id| *id != consumer);
        let tenant = host.stream.tenant;
        if let Some(subject) = &attached.pushes_to {
            self.pushers.remove(tenant, subject, (stream, consumer));
        }
        attached.machine.end(Ending::Deleted);
        self.last_words(tenant, &mut attached.machine);
        for sub in attached.subs {
            self.unsubscribe(tenant, sub);
        }
        self.timers.cancel(&Alarm::Consumer(stream, consumer));
        self.count_index(stream);
        Some(attached.machine)
    }

    /// Brings a recovered consumer back; false when something of it is not there any more.
    pub(crate) fn restore(&mut self, stream: StreamId, found: &RecoveredConsumer) -> bool {
        let Some(host) = self.hosts.get(&stream) else {
            return false;
        };
        let (created, config) = match decode(&found.meta) {
            Ok(read) => read,
            Err(words) => {
                let name = &host.stream.config.name;
                let number = found.consumer.0;
                let text = format!("consumer {number} of stream {name} left out: {words}");
                self.log(Level::Error, text);
                return false;
            }
        };
        let facts = host.facts(self.facts.domain.as_deref());
        let seed = self.rng.next_u64();
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let saved = (found.state.as_deref(), found.changes.as_slice());
        let (machine, damage) =
            Consumer::restore(self.now, created, config, &facts, seed, saved, &view);
        let is_whole = damage.is_none();
        if let Some(words) = damage {
            self.log(Level::Warn, format!("consumer {}: {words}", machine.name()));
        }
        self.attach(stream, found.consumer, machine);
        is_whole
    }

    /// Every consumer ends until the next start.
    pub(crate) fn end_consumers(&mut self, reach: &dyn Reach) {
        let mut all = Vec::new();
        for (stream, host) in &mut self.hosts {
            for (consumer, attached) in &mut host.consumers {
                attached.machine.end(Ending::Shutdown);
                all.push((*stream, *consumer));
            }
        }
        for (stream, consumer) in all {
            self.serve_consumer(stream, consumer, reach);
        }
    }

    /// Wakes every consumer of a stream.
    pub(crate) fn wake_consumers(&mut self, stream: StreamId, reach: &dyn Reach) {
        self.tell_consumers(stream, || ConsumerInput::Time, reach);
    }

    /// Messages of an interest stream that no consumer needs leave.
    pub(crate) fn drop_unneeded(&mut self, stream: StreamId, reach: &dyn Reach) {
        let Some(host) = self.hosts.get_mut(&stream) else {
            return;
        };
        let retention = host.stream.config.retention;
        if retention != crate::stream::config::Retention::Interest {
            return;
        }
        let mut removed = Removed::default();
        host.drop_done(0, u64::MAX, &mut removed);
        self.left(stream, &removed, reach);
    }

    /// What a consumer that is over still has to say to those who wait for it.
    pub(crate) fn last_words(&mut self, tenant: Tenant, machine: &mut Consumer) {
        use crate::consumer::ConsumerOutput as Wish;
        while let Some(wish) = machine.poll() {
            match wish {
                Wish::Publish(message) => self.publish(tenant, message),
                Wish::Deliver { .. }
                | Wish::Fetch(_)
                | Wish::Save { .. }
                | Wish::Done { .. }
                | Wish::Expired => {}
            }
        }
    }

    /// Where a consumer hears acks and flow control, in the older and the newer form.
    ///
    /// spec: nats-server v2.15.1 server/consumer.go `subscribeToAckSubjects`; ADR-15
    fn consumer_subs(
        &mut self,
        tenant: Tenant,
        stream: &str,
        machine: &Consumer,
        id: (StreamId, ConsumerId),
    ) -> Vec<SubId> {
        let name = machine.name();
        let domain = self.facts.domain.as_deref().unwrap_or("_").to_owned();
        let account = self.accounts.get(&tenant);
        let hash = account.map_or_else(String::new, |account| hash(&account.name));
        let mut subs = Vec::new();
        if machine.config().ack_policy != crate::consumer::AckPolicy::None {
            for subject in [
                format!("$JS.ACK.{stream}.{name}.*.*.*.*.*"),
                format!("$JS.ACK.{domain}.{hash}.{stream}.{name}.*.*.*.*.>"),
            ] {
                subs.push(self.subscribe(tenant, &subject, Route::Ack(id.0, id.1)));
            }
        }
        if machine.config().flow_control {
            for subject in [
                format!("$JS.FC.{stream}.{name}.*"),
                format!("$JS.FC.{domain}.{hash}.{stream}.{name}.*"),
            ] {
                subs.push(self.subscribe(tenant, &subject, Route::FlowControl(id.0, id.1)));
            }
        }
        subs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &str = "\u{1}{\"created\":\"2026-11-29T19:45:13.5Z\",\"config\":{\"durable_name\":\"C\",\"name\":\"C\",\"deliver_policy\":\"all\",\"ack_policy\":\"explicit\",\"replay_policy\":\"instant\",\"num_replicas\":0}}";

    #[test]
    fn descriptions_written_before_are_read_and_written_the_same() {
        let config = ConsumerConfig {
            durable_name: "C".into(),
            name: "C".into(),
            ack_policy: crate::consumer::AckPolicy::Explicit,
            ..ConsumerConfig::default()
        };
        let created = Timestamp::parse_rfc3339("2026-11-29T19:45:13.5Z").unwrap();
        let bytes = encode(created, &config);
        assert_eq!(core::str::from_utf8(&bytes).unwrap(), GOLDEN);
        assert_eq!(decode(GOLDEN.as_bytes()), Ok((created, config)));
        assert!(decode(b"\x02{}").is_err() && decode(b"").is_err());
    }
}
