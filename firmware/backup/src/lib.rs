//! nats-server's two backup formats of a stream, bytes to what was in the stream and back.
//!
//! The archive of 2.15 is written and read; the tar of message blocks before it is only read.
//! Both are packed in S2 frames. Bytes come in pieces of any size and leave in pieces as they are
//! ready, so a backup of any size passes through a bounded buffer. What a stream or a consumer is,
//! and what to do with a damaged backup, this crate doesn't know.
//!
//! It is a crate of its own because nothing in it needs a stream to be understood or tested, and
//! because formats of another server must not leak into the rules of ours.

mod archive;
mod buffer;
mod fault;
mod gone;
mod highway;
mod item;
pub mod limits;
mod reader;
mod tarball;
mod uvarint;
mod writer;

pub use fault::Fault;
pub use gone::Gone;
pub use item::{ConsumerKept, Extent, Item, Message, Pair, PendingAck};
pub use reader::Reader;
pub use writer::Writer;
