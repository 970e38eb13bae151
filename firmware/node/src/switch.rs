//! JetStream on and off in a running server, and its limits.
//! spec: nats-server v2.15.1 server/reload.go `jetStreamOption`, `jetStreamLimitsOption`

use frond_clock::Now;
use frond_config::Config;

use crate::Node;
use crate::bridge::Streams;
use crate::owner::Owner;

impl Node {
    /// The streams, while anybody reaches them.
    pub(crate) fn serving(&self) -> Option<&Streams> {
        self.streams.as_ref().filter(|it| !it.are_leaving)
    }

    /// Whether JetStream runs: it may be wanted and still on its way from the disk, or be wanted
    /// and not be had.
    #[must_use]
    pub fn has_jetstream(&self) -> bool {
        self.serving().is_some()
    }

    /// The configuration in force, with JetStream only if it runs.
    pub(crate) fn in_force(&self) -> Config {
        let mut config = self.config.clone();
        config.jetstream.enabled = self.has_jetstream();
        config
    }

    /// Another configuration is in force: JetStream ends with it, or has other limits.
    pub(crate) fn reload_jetstream(&mut self, now: Now) {
        if !self.config.jetstream.enabled {
            return self.retire_jetstream(now);
        }
        let wanted = &self.config.jetstream;
        let (memory, file) = (wanted.max_memory, wanted.max_file);
        let Some(streams) = self.streams.as_mut().filter(|it| !it.are_leaving) else {
            return;
        };
        let limits = &mut streams.limits;
        limits.memory_bytes_max = memory.unwrap_or(limits.memory_bytes_max);
        limits.file_bytes_max = file.unwrap_or(limits.file_bytes_max);
        let limits = limits.clone();
        let facts = self.stream_facts(&limits);
        if let Some(streams) = &mut self.streams {
            streams.machine.set_facts(facts);
        }
    }

    /// Consumers are told, nobody reaches the streams any more, and all they have to say is on its
    /// way to the disk. [`Node::end_jetstream`] comes when it is there.
    fn retire_jetstream(&mut self, now: Now) {
        if !self.has_jetstream() {
            return;
        }
        self.shut_down_streams(now);
        self.settle(now);
        if let Some(streams) = &mut self.streams {
            streams.are_leaving = true;
        }
        let is_streams = |id| Owner::of(id) == Some(Owner::JetStream);
        self.broker.unsubscribe_internals(is_streams);
        self.settle(now);
    }

    /// The disk has everything and said so.
    pub fn end_jetstream(&mut self, now: Now) {
        self.retire_jetstream(now);
        self.settle(now);
        self.streams = None;
    }
}
