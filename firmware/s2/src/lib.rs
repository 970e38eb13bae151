//! S2's frames, which are Snappy's with more freedom: bytes to frames and back.
//!
//! What is written could be read by a reader of Snappy, were it not for its first frame; what is
//! read is everything that S2 writes. Links between servers are compressed in these frames, and a
//! backup of a stream is. Which of the two it is, this crate doesn't know.
//!
//! spec: google/snappy framing_format.txt and format_description.txt; klauspost/compress s2

mod crc32c;
mod decode;
mod fault;
mod frame;
pub mod limits;
mod packer;
mod reader;
mod writer;

pub use fault::Fault;
pub use packer::{Level, Packer};
pub use reader::{FrameReader, Writer};
pub use writer::FrameWriter;
