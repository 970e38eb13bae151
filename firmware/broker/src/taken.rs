use frond_wire::{Op, RouteOp};

/// What became of the bytes of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes at the start of the buffer that are done with.
    pub consumed: usize,
    /// What to do next.
    pub next: Next,
}

/// When to call [`Broker::bytes`] again for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When the buffer holds at least so many bytes in total.
    Read(usize),
    /// With what is left of the buffer after a few milliseconds: some receiver is behind.
    Stall,
    /// With what is left of the buffer, once the other connections had their turn.
    Turn,
    /// After [`Broker::verified`], with what is left of the buffer.
    Verify,
    /// Never: the connection is being closed.
    Never,
}

/// What a connection may still have done for it in one turn.
#[derive(Debug)]
pub(crate) struct Share {
    /// Operations that are not messages.
    pub(crate) operations: usize,
    /// Messages this server sent when its turn ends.
    pub(crate) sent_max: u64,
}

impl Share {
    /// One more operation is done. Messages count by their deliveries, and what is answered at
    /// once by nothing: there is only so much of it in one read.
    pub(crate) const fn count(&mut self, op: &Op<'_>) {
        match op {
            Op::Publish(_)
            | Op::LeafMessage { .. }
            | Op::Route(RouteOp::Message { .. })
            | Op::Ping
            | Op::Pong
            | Op::Ok => {}
            Op::Info(_)
            | Op::Connect(_)
            | Op::Subscribe { .. }
            | Op::Unsubscribe { .. }
            | Op::Err(_)
            | Op::LeafSubscribe { .. }
            | Op::LeafUnsubscribe { .. }
            | Op::Route(_) => self.operations = self.operations.saturating_sub(1),
        }
    }

    /// Whether it is others' turn, now that so many messages were sent.
    pub(crate) const fn is_used(&self, sent: u64) -> bool {
        self.operations == 0 || sent >= self.sent_max
    }
}
