use std::collections::VecDeque;

use frond_wire::MessageBuf;

use crate::limits::HELD_BYTES_MAX;

/// What is published to a stream while counters are read: it waits, in order.
#[derive(Debug, Default)]
pub(crate) struct Held {
    state: State,
    messages: VecDeque<MessageBuf>,
    bytes: usize,
    /// How many have had their turn.
    passed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing waits.
    #[default]
    Free,
    /// The disk is asked.
    Reading,
    /// It has answered: what waits is taken in.
    Draining,
}

/// Whether a message waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// There is nothing to wait for.
    Needless,
    /// It does.
    Waits,
    /// Too much waits already.
    Full,
}

impl Held {
    /// Lets a message wait behind the others.
    pub(crate) fn push(&mut self, message: &MessageBuf) -> Wait {
        if self.state == State::Free {
            return Wait::Needless;
        }
        if self.bytes + bytes_of(message) > HELD_BYTES_MAX {
            return Wait::Full;
        }
        self.bytes += bytes_of(message);
        self.messages.push_back(message.clone());
        Wait::Waits
    }

    /// Lets a message wait in front of the others.
    pub(crate) fn put_back(&mut self, message: &MessageBuf) {
        self.passed = self.passed.saturating_sub(1);
        self.bytes += bytes_of(message);
        self.messages.push_front(message.clone());
    }

    /// The disk is asked for counters.
    pub(crate) fn begin(&mut self) {
        self.state = State::Reading;
    }

    /// The disk has answered.
    pub(crate) fn drain(&mut self) {
        self.state = State::Draining;
    }

    /// The next one whose turn it is; `None` when there is none or the disk was asked again.
    pub(crate) fn next(&mut self) -> Option<MessageBuf> {
        if self.state == State::Reading {
            return None;
        }
        let next = self.messages.pop_front();
        match &next {
            Some(message) => {
                self.bytes -= bytes_of(message);
                self.passed += 1;
            }
            None => self.state = State::Free,
        }
        next
    }

    /// How many have had their turn when all have that wait now: none more of them, when there
    /// is nothing to wait for. A batch that waits alone has its turn when everything has.
    pub(crate) fn end(&self) -> Option<u64> {
        let waiting = self.messages.len() as u64;
        match self.state {
            State::Free => None,
            State::Reading | State::Draining if waiting == 0 => Some(u64::MAX),
            State::Reading | State::Draining => Some(self.passed + waiting),
        }
    }

    /// Whether that is still to come.
    pub(crate) fn waits_for(&self, end: u64) -> bool {
        self.state != State::Free && self.passed < end
    }

    /// The first of those that wait.
    pub(crate) fn first(&self, count: usize) -> Vec<MessageBuf> {
        self.messages.iter().take(count).cloned().collect()
    }
}

fn bytes_of(message: &MessageBuf) -> usize {
    size_of::<MessageBuf>() + message.message().body_bytes() + message.subject().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_wire::Message;

    fn message(bytes: usize) -> MessageBuf {
        MessageBuf::copy_of(&Message {
            subject: "s",
            reply: None,
            header: b"",
            payload: &vec![0; bytes],
        })
    }

    #[test]
    fn what_is_turned_away_takes_no_room() {
        let mut held = Held::default();
        assert_eq!(held.push(&message(1)), Wait::Needless);
        held.begin();
        assert_eq!(held.push(&message(HELD_BYTES_MAX / 2)), Wait::Waits);
        for _ in 0..4 {
            assert_eq!(held.push(&message(HELD_BYTES_MAX)), Wait::Full);
        }
        assert_eq!(held.push(&message(1)), Wait::Waits);
        assert!(held.next().is_none(), "the disk has not answered");
        held.drain();
        assert_eq!(
            held.next().unwrap().message().payload.len(),
            HELD_BYTES_MAX / 2
        );
        assert_eq!(held.push(&message(HELD_BYTES_MAX / 2)), Wait::Waits);
        assert_eq!(held.next().unwrap().message().payload.len(), 1);
        assert!(held.next().is_some() && held.next().is_none());
        assert_eq!(held.bytes, 0);
        assert_eq!(held.push(&message(1)), Wait::Needless);
    }
}
