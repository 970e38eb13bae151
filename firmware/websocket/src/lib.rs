//! WebSocket as nats-server speaks it: HTTP upgrade, frames and close codes on one side, an
//! uninterrupted stream of NATS bytes on the other.
//!
//! Both ends are here: the one that listens (frames come masked, go out bare) and the one that
//! dials (the reverse). A frame's payload is unmasked where it was read and handed on as a slice
//! of it; what goes out needs only a head before the bytes that wait anyway. Compressed messages
//! are inflated as they arrive, piece by piece: nothing is collected, whatever the peer sends.
//!
//! What it doesn't know: sockets, time, NATS operations, who may come in.

mod close;
mod deflate;
mod frame;
mod handshake;
pub mod limits;
mod mask;
mod receive;
mod send;

pub use close::{CloseCode, CloseFrame};
pub use deflate::{Deflater, Inflater};
pub use frame::{FrameHead, Masking, Opcode};
pub use handshake::{
    Accepted, Agreed, Browser, CookieNames, Cookies, Dialer, Endpoint, Head, HeadError, Origin,
    OriginError, Refusal, Rules, accept_key,
};
pub use receive::{Event, Fault, Receiver, Settings};
pub use send::{Sender, Style};
