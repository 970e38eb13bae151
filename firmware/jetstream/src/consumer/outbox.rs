use std::collections::VecDeque;

use frond_ledger::Seq;
use frond_wire::MessageBuf;

use super::io::ConsumerOutput;
use crate::parcel::Parcel;

/// What one input made the consumer want, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    wishes: VecDeque<ConsumerOutput>,
}

impl Outbox {
    /// Adds a wish.
    pub(crate) fn push(&mut self, wish: ConsumerOutput) {
        self.wishes.push_back(wish);
    }

    /// Sends a message as it is.
    pub(crate) fn publish(&mut self, message: MessageBuf) {
        self.push(ConsumerOutput::Publish(message));
    }

    /// Messages `first..=last` are done; neighbours are told together.
    pub(crate) fn done(&mut self, first: Seq, last: Seq) {
        if let Some(ConsumerOutput::Done { last: end, .. }) = self.wishes.back_mut()
            && *end + 1 == first
        {
            *end = last;
        } else {
            self.push(ConsumerOutput::Done { first, last });
        }
    }

    /// The next wish, if it is a delivery.
    pub(crate) fn pop_delivery(&mut self) -> Option<Parcel> {
        if !matches!(self.wishes.front(), Some(ConsumerOutput::Deliver(_))) {
            return None;
        }
        let Some(ConsumerOutput::Deliver(parcel)) = self.wishes.pop_front() else {
            return None;
        };
        Some(parcel)
    }

    /// The next wish.
    pub(crate) fn pop(&mut self) -> Option<ConsumerOutput> {
        self.wishes.pop_front()
    }
}
