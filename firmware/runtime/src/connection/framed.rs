//! What is different for a WebSocket.

use std::cell::RefCell;
use std::io;

use super::Connection;
use crate::dial::peer_of;
use crate::frames::Frames;

impl Connection {
    /// As the secured way, only that what was read is what was in the frames. Answers to pings
    /// go out at once.
    pub(super) fn read_framed(&mut self) -> io::Result<usize> {
        self.trust_packer();
        let read = if self.rest.is_empty() {
            let tools = self.socket.line.frames().map(|f| f.borrow().tools());
            let tools = tools.unwrap_or_default();
            let mut plain = tools.plain.borrow_mut();
            plain.clear();
            let read = self.socket.line.read_framed(&mut plain);
            if !plain.is_empty() {
                let consumed = self.feed(&plain);
                self.rest
                    .extend_from_slice(plain.get(consumed..).unwrap_or_default());
            }
            read
        } else {
            let read = self.socket.line.read_framed(&mut self.rest);
            if matches!(read, Ok(1..)) && self.rest.len() >= self.need() {
                self.feed_rest();
            }
            read
        };
        let answers = |frames: &RefCell<Frames>| frames.borrow().wants_to_write(0);
        if self.socket.line.frames().is_some_and(answers)
            && !self.socket.blocked.get()
            && !self.write_rest()
        {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        read
    }

    /// Why reading ended.
    pub(super) fn end(&self) -> &'static str {
        if let Some(fault) = self.socket.line.pack_fault() {
            let peer = peer_of(self.socket.line.stream());
            let conn = self.conn.0;
            tracing::error!("{peer} - lid:{conn} - read error: {fault}");
            return "Read Error";
        }
        let frames = self.socket.line.frames().map(|frames| frames.borrow());
        match frames.as_ref().and_then(|frames| frames.fault()) {
            Some(_) => "Read Error",
            None => "Client Closed",
        }
    }

    /// Whether the peer ended its WebSocket, well or not, and is to be answered.
    pub(super) fn tell_fault(&self) -> bool {
        let Some(frames) = self.socket.line.frames().map(|frames| frames.borrow()) else {
            return false;
        };
        if let Some(fault) = frames.fault() {
            let peer = peer_of(self.socket.line.stream());
            let conn = self.conn.0;
            tracing::error!("{peer} - wid:{conn} - read error: {fault}");
        }
        frames.is_ended()
    }
}
