use frond_clock::Instant;
use frond_wire::{Headers, MessageBuf};

use super::answer::Made;
use super::position::Position;
use super::queue::Question;
use super::tokens::tokens;

/// The deliveries of one consumer.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Number of the last delivery seen.
    consumer_seq: u64,
    /// Its sequence in the origin.
    stream_seq: u64,
    /// Whether the operator was told that the origin went back.
    pub(crate) told: bool,
    /// When something came last.
    pub(crate) heard: Instant,
}

/// What one delivery is.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// The next message; with how many there are after it.
    Next(Position, u64),
    /// It was seen before, or is none.
    Nothing,
    /// The origin is there and everything it sent has come.
    Alive,
    /// Flow control asks.
    Question(Question),
    /// Something before it is missing.
    Gap,
}

impl Flow {
    /// Nothing delivered yet: whatever the answer says, the first delivery has number 1.
    pub(crate) fn new(now: Instant, made: &Made) -> Self {
        Self {
            consumer_seq: 0,
            stream_seq: made.stream_seq,
            told: false,
            heard: now,
        }
    }

    /// Judges what came.
    pub(crate) fn judge(&mut self, now: Instant, message: &MessageBuf) -> Delivery {
        self.heard = now;
        let headers = Headers::new(message.header());
        if let Some(code) = headers.status() {
            return self.status(code, &headers, message.reply());
        }
        let Some(tokens) = message.reply().and_then(tokens) else {
            return Delivery::Nothing;
        };
        if tokens.consumer_seq <= self.consumer_seq {
            return Delivery::Nothing;
        }
        if tokens.consumer_seq > self.consumer_seq + 1 {
            return Delivery::Gap;
        }
        self.consumer_seq = tokens.consumer_seq;
        self.stream_seq = tokens.stream_seq;
        let position = Position {
            seq: tokens.stream_seq,
            time: tokens.time,
        };
        Delivery::Next(position, tokens.pending)
    }

    fn status(&self, code: u16, headers: &Headers<'_>, reply: Option<&str>) -> Delivery {
        if code != 100 {
            return Delivery::Gap;
        }
        if let Some(reply) = reply {
            return Delivery::Question(self.question(reply));
        }
        let last = headers.get("Nats-Last-Consumer");
        let last = last.and_then(|text| text.parse::<u64>().ok());
        if last.is_some_and(|last| last > self.consumer_seq) {
            return Delivery::Gap;
        }
        match headers.get("Nats-Consumer-Stalled") {
            Some(stalled) => Delivery::Question(self.question(stalled)),
            None => Delivery::Alive,
        }
    }

    fn question(&self, reply: &str) -> Question {
        Question {
            reply: reply.into(),
            consumer_seq: self.consumer_seq,
            stream_seq: self.stream_seq,
        }
    }
}
