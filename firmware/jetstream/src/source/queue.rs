use std::collections::VecDeque;

use frond_wire::MessageBuf;

use super::position::Position;

/// What came from the origin's consumer, in its order.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// A message.
    Message(Position, MessageBuf),
    /// The origin waits until everything before is kept.
    Question(Question),
}

/// An answer the origin's flow control waits for.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) reply: Box<str>,
    /// What had been delivered when it was asked.
    pub(crate) consumer_seq: u64,
    pub(crate) stream_seq: u64,
}

/// What waits until the batch before it is kept.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    items: VecDeque<Arrived>,
    bytes: usize,
}

impl Queue {
    /// Appends.
    pub(crate) fn push(&mut self, item: Arrived) {
        self.bytes += size(&item);
        self.items.push_back(item);
    }

    /// What is next.
    pub(crate) fn front(&self) -> Option<&Arrived> {
        self.items.front()
    }

    /// Takes what is next.
    pub(crate) fn pop(&mut self) -> Option<Arrived> {
        let item = self.items.pop_front()?;
        self.bytes -= size(&item);
        Some(item)
    }

    /// What it all takes.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many messages it has.
    pub(crate) fn messages(&self) -> u64 {
        let messages = self.items.iter();
        let messages = messages.filter(|item| matches!(item, Arrived::Message(..)));
        messages.count() as u64
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.bytes = 0;
    }
}

fn size(item: &Arrived) -> usize {
    match item {
        Arrived::Message(_, message) => message.message().body_bytes() + message.subject().len(),
        Arrived::Question(question) => question.reply.len(),
    }
}
