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
    /// What was read and not understood is in frames; those of a WebSocket are in them themselves,
    /// so that the line has held what follows.
    pub(super) fn unpack_rest(&mut self) {
        if self.socket.line.frames().is_some() && !self.rest.is_empty() {
            return self.feed_rest();
        }
        let early = std::mem::take(&mut self.rest);
        self.socket.line.hold_packed(&early);
        self.next = Next::Read(1);
    }

    /// Whoever is known now may pack more.
    pub(super) fn trust_packer(&self) {
        if self.socket.line.is_packed_by_stranger()
            && !self.core.with_node(|node| node.is_stranger(self.conn))
        {
            self.socket.line.is_packed_by_known();
        }
    }

    /// As the secured way, only that what was read is what was in the frames.
    pub(super) fn read_packed(&mut self) -> io::Result<usize> {
        self.trust_packer();
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
