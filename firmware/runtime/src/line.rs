use std::io::{self, Read as _};

use frond_broker::Outbox;
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::limits::WRITE_SLICES_MAX;

/// One TCP connection: what the protocol's bytes are read from and written to, in the clear or
/// encrypted. Everything above it sees the protocol's own bytes.
#[derive(Debug)]
pub(crate) struct Line {
    stream: TcpStream,
}

/// How far the peer took what was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    All,
    Part,
}

impl Line {
    /// A connection whose bytes are the protocol's.
    pub(crate) fn plain(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        Self { stream }
    }

    /// The connection itself, to wait for it.
    pub(crate) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Reads what is there, at most a buffer full; 0 at the end.
    ///
    /// # Errors
    /// The system's, `WouldBlock` when there is nothing now.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        read_some(&self.stream, buffer)
    }

    /// Reads what is there and appends it, within the capacity; 0 at the end.
    ///
    /// # Errors
    /// As [`Line::read`].
    pub(crate) fn read_more(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        self.stream.try_read_buf(bytes)
    }

    /// One `writev` after another until the outbox is empty or the socket is full.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn write(&self, outbox: &mut Outbox) -> io::Result<Written> {
        while !outbox.is_empty() {
            let mut slices = [io::IoSlice::new(&[]); WRITE_SLICES_MAX];
            let mut count = 0;
            for (slot, slice) in slices.iter_mut().zip(outbox.slices()) {
                *slot = io::IoSlice::new(slice);
                count += 1;
            }
            let slices = slices.get(..count).unwrap_or_default();
            match self.stream.try_write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => outbox.advance(n),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Written::Part);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Written::All)
    }
}

/// Reads what is there. A read that doesn't fill the buffer has emptied the socket: it is waited
/// for the next bytes without asking the system once more to learn that there are none. Bytes
/// that come meanwhile are an event of their own, as for tokio's own `poll_read`.
fn read_some(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    let mut last = None;
    let read = stream.try_io(Interest::READABLE, || {
        let read = (&*SockRef::from(stream)).read(buffer)?;
        if read > 0 && read < buffer.len() {
            last = Some(read);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(read)
    });
    last.map_or(read, Ok)
}
