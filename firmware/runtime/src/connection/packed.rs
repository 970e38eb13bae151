//! What is different once a link is packed.

use std::io;
use std::rc::Rc;

use frond_broker::{Next, Pack};

use super::{Connection, Socket};
use crate::packed::PackTools;

impl Socket {
    /// The node wants the connection packed.
    pub(crate) fn pack(&self, pack: Pack, tools: &Rc<PackTools>) {
        if self.line.pack(pack, tools) {
            self.repacked.set(true);
            self.changed.notify_one();
        }
    }
}

impl Connection {
    /// What was read and not understood is in frames.
    pub(super) fn unpack_rest(&mut self) {
        let early = std::mem::take(&mut self.rest);
        self.socket.line.hold_packed(&early);
        self.next = Next::Read(1);
    }

    /// As the secured way, only that what was read is what was in the frames.
    pub(super) fn read_packed(&mut self) -> io::Result<usize> {
        if self.socket.line.is_packed_by_stranger()
            && !self.core.with_node(|node| node.is_stranger(self.conn))
        {
            self.socket.line.is_packed_by_known();
        }
        if !self.rest.is_empty() {
            let read = self.socket.line.read_packed(&mut self.rest);
            if matches!(read, Ok(1..)) && self.rest.len() >= self.need() {
                self.feed_rest();
            }
            return read;
        }
        let tools = Rc::clone(self.core.pack_tools());
        let mut plain = tools.plain.borrow_mut();
        plain.clear();
        let read = self.socket.line.read_packed(&mut plain);
        // Also when it broke: what came before that is good.
        if !plain.is_empty() {
            let consumed = self.feed(&plain);
            let rest = plain.get(consumed..).unwrap_or_default();
            self.rest.extend_from_slice(rest);
        }
        read
    }
}
