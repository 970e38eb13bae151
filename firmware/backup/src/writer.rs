use std::collections::BTreeMap;

use frond_s2::FrameWriter;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::archive::{CONSUMERS, Head, MAGIC, STATE, State, Written};
use crate::item::{ConsumerKept, PendingAck};

/// Writes a backup in the form of 2.15: the state, as many consumers as it tells, the messages,
/// the end.
#[derive(Debug)]
pub struct Writer {
    frames: FrameWriter,
    packed: Vec<u8>,
    taken: usize,
}

impl Writer {
    /// Begins with the stream's state, `{"first_seq":…,"last_seq":…,"consumer_count":…}`.
    #[must_use]
    pub fn new(now: i64, state: &impl Serialize) -> Self {
        let mut writer = Self {
            frames: FrameWriter::default(),
            packed: Vec::new(),
            taken: 0,
        };
        writer.frames.write(MAGIC, &mut writer.packed);
        // Writing to memory cannot fail; an empty state would be refused when read.
        let state = serde_json::to_vec(state).unwrap_or_default();
        writer.file(STATE, now, &state);
        writer
    }

    /// Adds a consumer.
    pub fn consumer(&mut self, now: i64, consumer: ConsumerKept) {
        let config = String::from_utf8_lossy(&consumer.config).into_owned();
        let Ok(config) = RawValue::from_string(config) else {
            return;
        };
        let pending: BTreeMap<u64, PendingAck> = consumer.pending;
        let written = Written {
            config: &config,
            state: State {
                delivered: consumer.delivered,
                ack_floor: consumer.ack_floor,
                pending: (!pending.is_empty()).then_some(pending),
                redelivered: (!consumer.redelivered.is_empty()).then_some(consumer.redelivered),
            },
        };
        let content = serde_json::to_vec(&written).unwrap_or_default();
        self.file(&format!("{CONSUMERS}{}", consumer.name), now, &content);
    }

    /// Adds a message.
    pub fn message(&mut self, seq: u64, time: i64, subject: &str, header: &[u8], payload: &[u8]) {
        let mut head = Vec::with_capacity(40 + subject.len());
        let parts = Head {
            name: subject,
            time,
            seq,
            header_len: header.len() as u64,
            payload_len: payload.len() as u64,
        };
        parts.put(&mut head);
        for part in [&head, header, payload] {
            self.frames.write(part, &mut self.packed);
        }
    }

    /// Adds the end.
    pub fn end(&mut self) {
        let mut head = Vec::new();
        Head::default().put(&mut head);
        self.frames.write(&head, &mut self.packed);
        self.frames.flush(&mut self.packed);
    }

    /// How many bytes are ready, at most a frame's worth less than what was written.
    #[must_use]
    pub const fn ready(&self) -> usize {
        self.packed.len() - self.taken
    }

    /// Takes up to `len` bytes that are ready.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        let end = (self.taken + len).min(self.packed.len());
        let taken = self
            .packed
            .get(self.taken..end)
            .unwrap_or_default()
            .to_vec();
        self.taken = end;
        if self.taken >= self.packed.len() / 2 {
            self.packed.drain(..self.taken);
            self.taken = 0;
        }
        taken
    }

    fn file(&mut self, name: &str, now: i64, content: &[u8]) {
        let mut head = Vec::new();
        let parts = Head {
            name,
            time: now,
            payload_len: content.len() as u64,
            ..Head::default()
        };
        parts.put(&mut head);
        self.frames.write(&head, &mut self.packed);
        self.frames.write(content, &mut self.packed);
    }
}
