use std::cell::{Cell, RefCell};
use std::rc::Rc;

use frond_broker::Outbox;
use frond_websocket::{
    Accepted, Agreed, Browser, CloseCode, CloseFrame, Deflater, Event, Fault, Inflater, Masking,
    Receiver, Sender, Settings, Style,
};

use crate::limits::READ_BYTES;
use crate::line::first_of;

/// More than both ends say before they know whether they pack.
const FIRST_WORDS: u8 = 4;

/// The frames of one WebSocket, between what the wire carries and the bytes of the protocol.
#[derive(Debug)]
pub(crate) struct Frames {
    receiver: Receiver,
    sender: Sender,
    /// Received and not yet looked at.
    raw: Vec<u8>,
    /// So many pieces are taken one by one: what follows one of them may be packed.
    singly: u8,
    ended: Cell<bool>,
    fault: Option<Fault>,
    tools: Rc<Tools>,
}

/// What all WebSockets of a thread share.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    inflater: RefCell<Inflater>,
    deflater: RefCell<Deflater>,
    /// What the wire carried, while it is looked at.
    pub(crate) raw: RefCell<Vec<u8>>,
    /// What was in it.
    pub(crate) plain: RefCell<Vec<u8>>,
}

impl Frames {
    /// For a request that was accepted; its answer is written first.
    pub(crate) fn accepted(accepted: &Accepted, payload_bytes_max: u64, tools: Rc<Tools>) -> Self {
        let mut sender = Sender::new(Style {
            masking: Masking::Bare,
            compression: accepted.compression,
            browser: accepted.browser,
        });
        sender.raw(&accepted.answer);
        let receiver = Receiver::new(Settings {
            masking: accepted.masking,
            compression: accepted.compression,
            payload_bytes_max,
        });
        Self {
            receiver,
            sender,
            raw: Vec::new(),
            singly: 0,
            ended: Cell::new(false),
            fault: None,
            tools,
        }
    }

    /// For a request of ours that was agreed to; `early` came behind the answer.
    pub(crate) fn dialed(
        agreed: Agreed,
        early: Vec<u8>,
        payload_bytes_max: u64,
        tools: Rc<Tools>,
    ) -> Self {
        Self {
            sender: Sender::new(Style {
                masking: agreed.masking,
                compression: agreed.compression,
                browser: Browser::No,
            }),
            receiver: Receiver::new(Settings {
                masking: Masking::Bare,
                compression: agreed.compression,
                payload_bytes_max,
            }),
            raw: early,
            singly: 0,
            ended: Cell::new(false),
            fault: None,
            tools,
        }
    }

    /// For a link: its ends may agree to pack in what they say first.
    pub(crate) const fn for_link(mut self) -> Self {
        self.singly = FIRST_WORDS;
        self
    }

    /// Whether its messages are compressed.
    pub(crate) const fn deflates(&self) -> bool {
        self.sender.compresses()
    }

    /// What came and was not looked at, which is packed.
    pub(crate) fn take_raw(&mut self) -> Vec<u8> {
        self.singly = 0;
        std::mem::take(&mut self.raw)
    }

    /// The shared buffers.
    pub(crate) fn tools(&self) -> Rc<Tools> {
        Rc::clone(&self.tools)
    }

    /// Bytes it holds.
    pub(crate) const fn held_bytes(&self) -> usize {
        self.raw.capacity() + self.receiver.held_bytes() + self.sender.held_bytes()
    }

    /// Whether there is something to take without reading.
    pub(crate) fn holds_more(&self) -> bool {
        !self.raw.is_empty() || self.ended.get()
    }

    /// Whether the peer said goodbye, or something it had better not.
    pub(crate) const fn is_ended(&self) -> bool {
        self.ended.get()
    }

    /// What it had better not have said.
    pub(crate) const fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Appends to `plain` what was in frames that came before.
    pub(crate) fn take_held(&mut self, plain: &mut Vec<u8>) {
        let mut raw = std::mem::take(&mut self.raw);
        self.take(&mut raw, plain);
    }

    /// Appends to `plain` what is in these frames; about as much as one read, the rest is held.
    pub(crate) fn take(&mut self, raw: &mut [u8], plain: &mut Vec<u8>) {
        let tools = Rc::clone(&self.tools);
        let mut inflater = tools.inflater.borrow_mut();
        let full = plain.len() + READ_BYTES;
        let mut at = 0;
        while plain.len() < full && !self.ended.get() {
            match self.receiver.next(raw, &mut at, &mut inflater) {
                Ok(None) => break,
                Ok(Some(Event::Data(bytes))) => {
                    plain.extend_from_slice(bytes);
                    if self.singly > 0 {
                        self.singly -= 1;
                        break;
                    }
                }
                Ok(Some(Event::Ping(payload))) => self.sender.pong(&payload, mask_key()),
                Ok(Some(Event::Pong)) => {}
                Ok(Some(Event::Close(frame))) => self.end(frame),
                Err(fault) => {
                    self.end(CloseFrame::new(code(&fault), &fault.to_string()));
                    self.fault = Some(fault);
                }
            }
        }
        if at < raw.len() && !self.ended.get() {
            self.raw = raw.get(at..).unwrap_or_default().to_vec();
        }
    }

    fn end(&mut self, last: CloseFrame) {
        self.sender.close(last);
        self.ended.set(true);
    }

    /// The node ends the connection: the peer is told why where it should be.
    pub(crate) fn part(&mut self, cause: &str) {
        if let Some(code) = CloseCode::for_reason(cause) {
            self.sender.close(CloseFrame::new(code, cause));
        }
    }

    /// Whether anything waits to be written, `waiting` bytes of it in the outbox.
    pub(crate) const fn wants_to_write(&self, waiting: usize) -> bool {
        self.sender.wants_to_write(waiting)
    }

    /// Makes ready what comes next of the first `waiting` bytes of the outbox.
    pub(crate) fn prepare(&mut self, outbox: &mut Outbox, waiting: usize) {
        let mut deflater = self.tools.deflater.borrow_mut();
        let stream = first_of(outbox, waiting);
        let copied = self
            .sender
            .prepare(stream, waiting, &mut deflater, mask_key);
        outbox.advance(copied);
    }

    /// Whether a part of what was made ready is not written.
    pub(crate) fn is_midway(&self) -> bool {
        !self.sender.head().is_empty() || self.sender.body() > 0
    }

    /// What to write: bytes of its own, then so many of the outbox.
    pub(crate) fn ready(&self) -> (&[u8], usize) {
        (self.sender.head(), self.sender.body())
    }

    /// So many bytes of that were written.
    pub(crate) fn wrote(&mut self, bytes: usize, outbox: &mut Outbox) {
        outbox.advance(self.sender.wrote(bytes));
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.receiver.end(&mut self.tools.inflater.borrow_mut());
    }
}

/// Only frames of a side that dialed are masked.
fn mask_key() -> [u8; 4] {
    let mut key = [0; 4];
    // Without randomness the frames are still right, only easier to guess.
    let _ = getrandom::fill(&mut key);
    key
}

const fn code(fault: &Fault) -> CloseCode {
    match fault {
        Fault::Protocol(_) => CloseCode::PROTOCOL_ERROR,
        Fault::TooBig => CloseCode::TOO_BIG,
        Fault::Corrupt => CloseCode::INVALID_PAYLOAD,
        Fault::Busy => CloseCode::TRY_AGAIN,
    }
}
