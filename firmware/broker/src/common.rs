//! The short way of what clients say most: publishes, one after the other.

use frond_wire::Op;

use crate::Broker;
use crate::connection::{Kind, State};
use crate::taken::Share;

impl Broker {
    /// Runs the plain publishes at the start of the buffer, as long as there is nothing else.
    pub(crate) fn run_publishes(
        &mut self,
        slot: u32,
        buf: &[u8],
        consumed: &mut usize,
        share: &Share,
    ) {
        let mut head = None;
        while let Some(connection) = self.conns.get_mut(slot)
            && let Kind::Client(session) = &connection.kind
            && matches!(session.state, State::Ready(_))
            && self.totals.traffic.out_msgs < share.sent_max
            && let Some(rest) = buf.get(*consumed..)
            && let Some((message, len)) = connection.parser.common_publish(rest, &mut head)
        {
            *consumed += len;
            if self.traces {
                self.trace_in(slot, &Op::Publish(message));
            }
            self.client_publish(slot, &message);
            self.settle();
        }
    }

    /// Whether nothing waits for [`Broker::settle`]; this is asked after each operation.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        let bytes_max = self.limits.outboxes_bytes_max.unwrap_or(usize::MAX);
        let memory_max = self.limits.memory_bytes_max.unwrap_or(usize::MAX);
        self.spent.is_empty()
            && self.overrun.is_empty()
            && self.changes.is_empty()
            && self.notices.is_empty()
            && self.stock.waiting() <= bytes_max / 4 * 3
            && self.stock.held() <= memory_max
    }
}
