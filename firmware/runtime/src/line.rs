use std::cell::RefCell;
use std::io::{self, Read as _};

use frond_broker::Outbox;
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::limits::WRITE_SLICES_MAX;
use crate::tls::Session;

/// One TCP connection: what the protocol's bytes are read from and written to, in the clear or
/// encrypted. Everything above it sees the protocol's own bytes.
#[derive(Debug)]
pub(crate) struct Line {
    stream: TcpStream,
    tls: RefCell<Option<Box<Session>>>,
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
        Self {
            stream,
            tls: RefCell::new(None),
        }
    }

    /// From here on everything goes through this session, whose handshake is done.
    pub(crate) fn secure(&self, session: Session) {
        self.tls.replace(Some(Box::new(session)));
    }

    /// Whether it is encrypted: then [`Line::read_secured`] reads.
    pub(crate) fn is_secured(&self) -> bool {
        self.tls.borrow().is_some()
    }

    /// The certificates the peer showed, its own first, DER.
    pub(crate) fn peer_chain(&self) -> Vec<Vec<u8>> {
        let tls = self.tls.borrow();
        let chain = tls
            .as_ref()
            .and_then(|session| session.facts().peer_certificates());
        chain
            .unwrap_or_default()
            .iter()
            .map(|der| der.to_vec())
            .collect()
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

    /// Reads what is there and appends what was in it; 0 at the end. `WouldBlock` also when what
    /// came is only the start of a record.
    ///
    /// # Errors
    /// As [`Line::read`], and when the peer broke TLS.
    pub(crate) fn read_secured(&self, plain: &mut Vec<u8>) -> io::Result<usize> {
        let mut tls = self.tls.borrow_mut();
        let Some(session) = tls.as_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let before = plain.len();
        let scratch = session.scratch();
        let mut incoming = scratch.incoming.borrow_mut();
        let read = self.stream.try_read(&mut incoming)?;
        let bytes = incoming.get_mut(..read).unwrap_or_default();
        let taken = session.receive(bytes, plain);
        drop(incoming);
        // Answers to key updates, or what is wrong.
        let _ = self.write_waiting(session);
        taken.map_err(io::Error::other)?;
        match plain.len() - before {
            0 if read > 0 && !session.is_ended() => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    /// Says that nothing more comes, as far as the socket takes it.
    pub(crate) fn say_goodbye(&self) {
        if let Some(session) = self.tls.borrow_mut().as_mut() {
            session.say_goodbye();
            let _ = self.write_waiting(session);
        }
    }

    /// Writes what the outbox holds as far as the peer takes it now.
    ///
    /// # Errors
    /// The system's, and when the session cannot encrypt any more.
    pub(crate) fn write(&self, outbox: &mut Outbox) -> io::Result<Written> {
        match self.tls.borrow_mut().as_mut() {
            None => self.write_plain(outbox),
            Some(session) => self.write_secured(session, outbox),
        }
    }

    fn write_secured(&self, session: &mut Session, outbox: &mut Outbox) -> io::Result<Written> {
        let scratch = session.scratch();
        let mut records = scratch.outgoing.borrow_mut();
        loop {
            if self.write_waiting(session)? == Written::Part {
                return Ok(Written::Part);
            }
            if outbox.is_empty() {
                return Ok(Written::All);
            }
            let (mut filled, mut taken) = (0, 0);
            for slice in outbox.slices() {
                let room = records.get_mut(filled..).unwrap_or_default();
                let fits = Session::fitting(slice.len(), room.len());
                let part = slice.get(..fits).unwrap_or_default();
                if part.is_empty() {
                    break;
                }
                filled += session.encrypt(part, room).map_err(io::Error::other)?;
                taken += fits;
                if fits < slice.len() {
                    break;
                }
            }
            outbox.advance(taken);
            let ready = records.get(..filled).unwrap_or_default();
            match self.stream.try_write(ready) {
                Ok(n) if n == filled => {}
                Ok(n) => session.keep(ready.get(n..).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => session.keep(ready),
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes records that wait, as far as the socket takes them.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn push(&self) -> io::Result<Written> {
        match self.tls.borrow_mut().as_mut() {
            Some(session) => self.write_waiting(session),
            None => Ok(Written::All),
        }
    }

    /// Encrypts as much as goes into one go and begins to write it; [`Line::push`] writes the rest.
    ///
    /// # Errors
    /// The system's, and when the session cannot encrypt any more.
    pub(crate) fn encrypt(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut tls = self.tls.borrow_mut();
        let Some(session) = tls.as_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let scratch = session.scratch();
        let mut records = scratch.outgoing.borrow_mut();
        let taken = Session::fitting(bytes.len(), records.len());
        let part = bytes.get(..taken).unwrap_or_default();
        let filled = session
            .encrypt(part, &mut records)
            .map_err(io::Error::other)?;
        session.keep(records.get(..filled).unwrap_or_default());
        self.write_waiting(session)?;
        Ok(taken)
    }

    fn write_waiting(&self, session: &mut Session) -> io::Result<Written> {
        while !session.waiting().is_empty() {
            match self.stream.try_write(session.waiting()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => session.written(n),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Written::Part);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Written::All)
    }

    /// One `writev` after another until the outbox is empty or the socket is full.
    fn write_plain(&self, outbox: &mut Outbox) -> io::Result<Written> {
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
