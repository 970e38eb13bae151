//! From what a socket gave to the stream inside it.
//! spec: nats-server v2.15.1 server/websocket.go `wsReadLoop`, `wsHandleControlFrame`.

use std::borrow::Cow;

use crate::deflate::{Inflation, Stepped, TAIL};
use crate::frame::{Masking, Opcode};
use crate::limits::{
    COMPRESSED_BYTES_MAX, COMPRESSED_PER_PAYLOAD_MAX, CONTROL_BYTES_MAX, FRAME_HEAD_BYTES_MAX,
    INFLATION_BYTES,
};
use crate::mask::Mask;
use crate::{CloseCode, CloseFrame, Inflater};

/// What was agreed when the connection was upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How the peer's frames come.
    pub masking: Masking,
    /// Whether its messages may be compressed.
    pub compression: bool,
    /// What one compressed message may inflate to.
    pub payload_bytes_max: u64,
}

/// Something a peer sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The next bytes of the stream; never none.
    Data(&'a [u8]),
    /// To be answered with a pong that holds the same.
    Ping(Vec<u8>),
    /// An answer.
    Pong,
    /// The peer is done; this is what to answer.
    Close(CloseFrame),
}

/// Why nothing more can be read from a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It broke the rules of frames; it is told so with 1002.
    #[error("{0}")]
    Protocol(Cow<'static, str>),
    /// A compressed message is too long, or becomes so.
    #[error("maximum payload exceeded")]
    TooBig,
    /// A compressed message isn't one.
    #[error("corrupt compressed message")]
    Corrupt,
    /// Too many compressed messages are half received.
    #[error("too many unfinished compressed messages")]
    Busy,
}

/// Reads the frames of one connection.
///
/// Holds at most a frame head, a control frame and the window of one compressed message.
#[derive(Debug)]
pub struct Receiver {
    settings: Settings,
    state: State,
    message: Message,
}

/// Where in a frame it is.
#[derive(Debug)]
enum State {
    Head {
        bytes: [u8; FRAME_HEAD_BYTES_MAX],
        have: usize,
    },
    Payload(Payload),
    Control(Box<Control>),
    /// All of a compressed message came; what its sender left away is fed.
    Tail {
        fed: usize,
    },
}

#[derive(Clone, Copy, Debug)]
struct Payload {
    left: u64,
    /// Bytes that are unmasked already and not yet taken.
    clear: usize,
    mask: Option<Mask>,
    last: bool,
}

#[derive(Debug)]
struct Control {
    opcode: Opcode,
    left: usize,
    mask: Option<Mask>,
    payload: Vec<u8>,
}

/// Which message it is in.
#[derive(Debug)]
enum Message {
    Between,
    Plain,
    Deflated(Box<Inflation>),
}

/// The head of a frame as it is read.
struct Start {
    opcode: Opcode,
    last: bool,
    compressed: bool,
    len: u64,
    mask: Option<Mask>,
}

impl State {
    const fn start() -> Self {
        Self::Head {
            bytes: [0; FRAME_HEAD_BYTES_MAX],
            have: 0,
        }
    }
}

impl Receiver {
    /// For a connection that has just been upgraded.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::start(),
            message: Message::Between,
        }
    }

    /// The next event in `raw` from `at` on, which moves on; `None` when all of it is used.
    ///
    /// `raw` is unmasked in place: what was not used must come again as it is now.
    ///
    /// # Errors
    /// The connection is of no use after one.
    pub fn next<'a>(
        &mut self,
        raw: &'a mut [u8],
        at: &mut usize,
        inflater: &'a mut Inflater,
    ) -> Result<Option<Event<'a>>, Fault> {
        loop {
            match &mut self.state {
                State::Head { .. } => {
                    if !self.head(raw.get(*at..).unwrap_or_default(), at, inflater)? {
                        return Ok(None);
                    }
                }
                State::Control(control) => {
                    if !control.take(raw, at) {
                        return Ok(None);
                    }
                    let State::Control(control) =
                        core::mem::replace(&mut self.state, State::start())
                    else {
                        return Ok(None);
                    };
                    return control.event().map(Some);
                }
                State::Payload(payload) => match &mut self.message {
                    Message::Deflated(inflation) => {
                        let input = payload.unmasked(raw, *at);
                        if input.is_empty() && payload.left > 0 {
                            return Ok(None);
                        }
                        let given = input.len();
                        let stepped = inflater.step(inflation, input).ok_or(Fault::Corrupt)?;
                        if given > 0 && stepped.taken == 0 && stepped.made == 0 {
                            return Err(Fault::Corrupt);
                        }
                        *at += stepped.taken;
                        self.deflated(stepped)?;
                        if stepped.made > 0 {
                            return Ok(Some(Event::Data(inflater.room(stepped.made))));
                        }
                    }
                    Message::Plain | Message::Between => {
                        let from = *at;
                        let taken = payload.unmasked(raw, from).len();
                        if taken == 0 && payload.left > 0 {
                            return Ok(None);
                        }
                        *at += taken;
                        self.plain(taken);
                        if taken > 0 {
                            let data = raw.get(from..from + taken).unwrap_or_default();
                            return Ok(Some(Event::Data(data)));
                        }
                    }
                },
                State::Tail { fed } => {
                    let fed = *fed;
                    if let Some(made) = self.tail(fed, inflater)? {
                        return Ok(Some(Event::Data(inflater.room(made))));
                    }
                }
            }
        }
    }

    /// Bytes it holds, about.
    #[must_use]
    pub const fn held_bytes(&self) -> usize {
        match &self.message {
            Message::Deflated(_) => INFLATION_BYTES,
            Message::Between | Message::Plain => 0,
        }
    }

    /// Gives back what the connection holds of what all share.
    pub fn end(&mut self, inflater: &mut Inflater) {
        if let Message::Deflated(inflation) =
            core::mem::replace(&mut self.message, Message::Between)
        {
            inflater.end(*inflation);
        }
        self.state = State::start();
    }

    /// Takes bytes of a head. False when it is not whole.
    fn head(&mut self, raw: &[u8], at: &mut usize, inflater: &mut Inflater) -> Result<bool, Fault> {
        let State::Head { bytes, have } = &mut self.state else {
            return Ok(true);
        };
        for byte in raw {
            if let Some(place) = bytes.get_mut(*have) {
                *place = *byte;
                *have += 1;
                *at += 1;
            }
            let head = bytes.get(..*have).unwrap_or_default();
            if let Some(start) = read_head(head, &self.settings)? {
                self.begin(start, inflater)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn begin(&mut self, start: Start, inflater: &mut Inflater) -> Result<(), Fault> {
        match start.opcode {
            Opcode::Close | Opcode::Ping | Opcode::Pong => {
                let left = usize::try_from(start.len).unwrap_or(CONTROL_BYTES_MAX);
                self.state = State::Control(Box::new(Control {
                    opcode: start.opcode,
                    left,
                    mask: start.mask,
                    payload: Vec::with_capacity(left),
                }));
                return Ok(());
            }
            Opcode::Text | Opcode::Binary => {
                if !matches!(self.message, Message::Between) {
                    return Err(broken(
                        "new message started before final frame for previous message was received",
                    ));
                }
                self.message = if start.compressed {
                    Message::Deflated(Box::new(inflater.begin().ok_or(Fault::Busy)?))
                } else {
                    Message::Plain
                };
            }
            Opcode::Continuation => {
                if start.compressed || matches!(self.message, Message::Between) {
                    return Err(broken("invalid continuation frame"));
                }
            }
        }
        self.state = State::Payload(Payload {
            left: start.len,
            clear: 0,
            mask: start.mask,
            last: start.last,
        });
        Ok(())
    }

    fn plain(&mut self, taken: usize) {
        if let State::Payload(payload) = &mut self.state {
            payload.took(taken);
            if payload.left == 0 {
                if payload.last {
                    self.message = Message::Between;
                }
                self.state = State::start();
            }
        }
    }

    fn deflated(&mut self, stepped: Stepped) -> Result<(), Fault> {
        let (State::Payload(payload), Message::Deflated(inflation)) =
            (&mut self.state, &mut self.message)
        else {
            return Ok(());
        };
        let limit = self.settings.payload_bytes_max;
        let compressed_max = limit
            .saturating_mul(COMPRESSED_PER_PAYLOAD_MAX)
            .min(COMPRESSED_BYTES_MAX);
        if inflation.arrived(stepped.taken) > compressed_max || inflation.inflated() > limit {
            return Err(Fault::TooBig);
        }
        payload.took(stepped.taken);
        if payload.left == 0 {
            self.state = if payload.last {
                State::Tail { fed: 0 }
            } else {
                State::start()
            };
        }
        Ok(())
    }

    /// Feeds the end of a compressed message. What came out, or nothing when it is over.
    fn tail(&mut self, fed: usize, inflater: &mut Inflater) -> Result<Option<usize>, Fault> {
        let Message::Deflated(inflation) = &mut self.message else {
            self.state = State::start();
            return Ok(None);
        };
        let rest = TAIL.get(fed..).unwrap_or_default();
        let stepped = inflater.step(inflation, rest).ok_or(Fault::Corrupt)?;
        if inflation.inflated() > self.settings.payload_bytes_max {
            return Err(Fault::TooBig);
        }
        let fed = fed + stepped.taken;
        if stepped.made > 0 {
            self.state = State::Tail { fed };
            return Ok(Some(stepped.made));
        }
        if !inflation.is_ended() {
            if stepped.taken == 0 {
                return Err(Fault::Corrupt);
            }
            self.state = State::Tail { fed };
            return Ok(None);
        }
        self.end(inflater);
        Ok(None)
    }
}

impl Payload {
    /// What is in `raw` from `at` on and belongs to this frame, unmasked.
    fn unmasked<'a>(&mut self, raw: &'a mut [u8], at: usize) -> &'a [u8] {
        let there = raw.get_mut(at..).unwrap_or_default();
        let len = usize::try_from(self.left).map_or(there.len(), |left| left.min(there.len()));
        let ours = there.get_mut(..len).unwrap_or_default();
        if let (Some(mask), Some(fresh)) = (&mut self.mask, ours.get_mut(self.clear..)) {
            mask.apply(fresh);
        }
        self.clear = self.clear.max(len);
        ours
    }

    fn took(&mut self, taken: usize) {
        self.left = self
            .left
            .saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        self.clear = self.clear.saturating_sub(taken);
    }
}

impl Control {
    /// Takes bytes of the payload. False when it is not whole.
    fn take(&mut self, raw: &[u8], at: &mut usize) -> bool {
        let there = raw.get(*at..).unwrap_or_default();
        let ours = there.get(..self.left.min(there.len())).unwrap_or_default();
        self.payload.extend_from_slice(ours);
        *at += ours.len();
        self.left -= ours.len();
        self.left == 0
    }

    fn event<'a>(mut self) -> Result<Event<'a>, Fault> {
        if let Some(mut mask) = self.mask {
            mask.apply(&mut self.payload);
        }
        match self.opcode {
            Opcode::Ping => Ok(Event::Ping(self.payload)),
            Opcode::Close => close(&self.payload).map(Event::Close),
            Opcode::Pong | Opcode::Text | Opcode::Binary | Opcode::Continuation => Ok(Event::Pong),
        }
    }
}

/// What to answer to the payload of a close frame.
fn close(payload: &[u8]) -> Result<CloseFrame, Fault> {
    let (code, words) = match payload {
        [] => {
            return Ok(CloseFrame {
                code: None,
                reason: String::new(),
            });
        }
        [_] => return Err(broken("close frame payload cannot be 1 byte")),
        [high, low, words @ ..] => (CloseCode(u16::from_be_bytes([*high, *low])), words),
    };
    if !code.may_be_sent() {
        let text = format!("invalid close status code {}", code.0);
        return Err(Fault::Protocol(text.into()));
    }
    Ok(match str::from_utf8(words) {
        Ok(words) => CloseFrame::new(code, words),
        Err(_) => CloseFrame::new(
            CloseCode::INVALID_PAYLOAD,
            "invalid utf8 body in close frame",
        ),
    })
}

/// A head, once all its bytes are there.
fn read_head(bytes: &[u8], settings: &Settings) -> Result<Option<Start>, Fault> {
    let [first, rest @ ..] = bytes else {
        return Ok(None);
    };
    let (last, compressed) = (first & 0x80 != 0, first & 0x40 != 0);
    if first & 0x30 != 0 {
        return Err(broken("RSV2 and RSV3 must be clear"));
    }
    if compressed && !settings.compression {
        return Err(broken(
            "compressed frame received without negotiated permessage-deflate",
        ));
    }
    let [second, rest @ ..] = rest else {
        return Ok(None);
    };
    let masked = settings.masking == Masking::Masked;
    if masked && second & 0x80 == 0 {
        return Err(broken("mask bit missing"));
    }
    let short = second & 0x7f;
    let opcode = Opcode::from_bits(first & 0x0f);
    let opcode =
        opcode.ok_or_else(|| Fault::Protocol(format!("unknown opcode {}", first & 0x0f).into()))?;
    if let Opcode::Close | Opcode::Ping | Opcode::Pong = opcode {
        if usize::from(short) > CONTROL_BYTES_MAX {
            return Err(broken(
                "control frame length bigger than maximum allowed of 125 bytes",
            ));
        }
        if !last {
            return Err(broken("control frame does not have final bit set"));
        }
        if compressed {
            return Err(broken("control frame must not be compressed"));
        }
    }
    let (len, rest) = match (short, rest) {
        (126, [a, b, rest @ ..]) => (u64::from(u16::from_be_bytes([*a, *b])), rest),
        (127, [a, b, c, d, e, f, g, h, rest @ ..]) => {
            let len = u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
            if len >> 63 != 0 {
                return Err(broken("invalid 64-bit payload length"));
            }
            (len, rest)
        }
        (126 | 127, _) => return Ok(None),
        (len, rest) => (u64::from(len), rest),
    };
    let mask = match (masked, rest) {
        (false, _) => None,
        (true, [a, b, c, d, ..]) => Some(Mask::new([*a, *b, *c, *d])),
        (true, _) => return Ok(None),
    };
    Ok(Some(Start {
        opcode,
        last,
        compressed,
        len,
        mask,
    }))
}

const fn broken(text: &'static str) -> Fault {
    Fault::Protocol(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests;
