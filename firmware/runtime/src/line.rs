use std::cell::{Cell, RefCell};
use std::io::{self, Read as _};
use std::rc::Rc;

use bytes::BufMut as _;
use frond_broker::Outbox;
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::frames::Frames;
use crate::limits::{LEAF_UNSENT_BYTES_MAX, READ_BYTES, WRITE_SLICES_MAX};
use crate::packed::Packed;
use crate::tls::{Scratch, Session};

mod framed;
mod packed;

/// One TCP connection: what the protocol's bytes are read from and written to, in the clear or
/// encrypted. Everything above it sees the protocol's own bytes.
#[derive(Debug)]
pub(crate) struct Line {
    stream: TcpStream,
    tls: RefCell<Option<Box<Secured>>>,
    /// When it is a link that both ends pack.
    packed: RefCell<Option<Box<Packed>>>,
    /// When it is a WebSocket.
    frames: Option<Box<RefCell<Frames>>>,
    /// The last read took as much as it could: there is probably more.
    hurried: Cell<bool>,
}

/// What encrypts a connection.
#[derive(Debug)]
struct Secured {
    session: Session,
    scratch: Rc<Scratch>,
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
            packed: RefCell::new(None),
            frames: None,
            hurried: Cell::new(false),
        }
    }

    /// One that may be slow: little waits in the system, so that a ping is not behind minutes of
    /// messages.
    pub(crate) fn with_short_queue(self) -> Self {
        // Where the system does not know it, the queue is long.
        let _ = SockRef::from(&self.stream).set_tcp_notsent_lowat(LEAF_UNSENT_BYTES_MAX);
        self
    }

    /// From here on what it carries are these frames.
    pub(crate) fn framed(self, frames: Frames) -> Self {
        Self {
            frames: Some(Box::new(RefCell::new(frames))),
            ..self
        }
    }

    /// Whether it is a WebSocket: then [`Line::read_framed`] reads.
    pub(crate) const fn frames(&self) -> Option<&RefCell<Frames>> {
        match &self.frames {
            Some(frames) => Some(frames),
            None => None,
        }
    }

    /// From here on everything goes through this session, whose handshake is done.
    pub(crate) fn secure(&self, session: Session, scratch: Rc<Scratch>) {
        self.tls
            .replace(Some(Box::new(Secured { session, scratch })));
    }

    /// Whether it is encrypted: then [`Line::read_secured`] reads.
    pub(crate) fn is_secured(&self) -> bool {
        self.tls.borrow().is_some()
    }

    /// Bytes that TLS and frames hold for the peer.
    pub(crate) fn held_bytes(&self) -> usize {
        let tls = self.tls.borrow();
        let tls = tls.as_ref().map_or(0, |tls| tls.session.held_bytes());
        let packed = self.packed.borrow();
        let packed = packed.as_ref().map_or(0, |packed| packed.held_bytes());
        let frames = self.frames.as_ref();
        tls + packed + frames.map_or(0, |frames| frames.borrow().held_bytes())
    }

    /// The certificates the peer showed, its own first, DER.
    pub(crate) fn peer_chain(&self) -> Vec<Vec<u8>> {
        let tls = self.tls.borrow();
        let chain = tls
            .as_ref()
            .and_then(|tls| tls.session.facts().peer_certificates());
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
        let read = read_some(&self.stream, buffer)?;
        self.hurried.set(read == buffer.len());
        Ok(read)
    }

    /// Whether the last read left something behind, told once: others have their turn before the
    /// next one.
    pub(crate) const fn take_hurry(&self) -> bool {
        self.hurried.replace(false)
    }

    /// Reads what is there and appends it, within the capacity and one turn; 0 at the end.
    ///
    /// # Errors
    /// As [`Line::read`].
    pub(crate) fn read_more(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let room = (bytes.capacity() - bytes.len()).min(READ_BYTES);
        let read = self.stream.try_read_buf(&mut bytes.limit(room))?;
        self.hurried.set(read == room);
        Ok(read)
    }

    /// Reads what is there and appends what was in it; 0 at the end. `WouldBlock` also when what
    /// came is only the start of a record.
    ///
    /// # Errors
    /// As [`Line::read`], and when the peer broke TLS.
    pub(crate) fn read_secured(&self, plain: &mut Vec<u8>) -> io::Result<usize> {
        let mut tls = self.tls.borrow_mut();
        let Some(Secured { session, scratch }) = tls.as_deref_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let before = plain.len();
        let mut incoming = scratch.incoming.borrow_mut();
        let read = self.stream.try_read(&mut incoming)?;
        self.hurried.set(read == incoming.len());
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
        if let Some(tls) = self.tls.borrow_mut().as_mut() {
            tls.session.say_goodbye();
            let _ = self.write_waiting(&mut tls.session);
        }
    }

    /// Reads and appends what came, whatever it means: through TLS where there is any.
    ///
    /// # Errors
    /// As [`Line::read_secured`].
    pub(crate) fn read_raw(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        if self.is_secured() {
            self.read_secured(bytes)
        } else {
            self.read_more(bytes)
        }
    }

    /// Writes all of it, waiting for the peer.
    ///
    /// # Errors
    /// The system's.
    pub(crate) async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        loop {
            let taken = self.send(core::iter::once(rest))?;
            rest = rest.get(taken.unwrap_or(0)..).unwrap_or_default();
            if rest.is_empty() && self.write_kept()? == Written::All {
                return Ok(());
            }
            self.stream.writable().await?;
        }
    }

    /// Writes what the outbox holds as far as the peer takes it now.
    ///
    /// # Errors
    /// The system's, and when the session cannot encrypt any more.
    pub(crate) fn write(&self, outbox: &mut Outbox) -> io::Result<Written> {
        let mut packed = self.packed.borrow_mut();
        match (&self.frames, packed.as_deref_mut()) {
            (None, None) => {}
            (None, Some(packed)) => return self.write_packed(packed, outbox),
            (Some(frames), None) => return self.write_framed(&mut frames.borrow_mut(), outbox),
            (Some(frames), Some(packed)) => {
                return self.write_framed_packed(&mut frames.borrow_mut(), packed, outbox);
            }
        }
        drop(packed);
        while !outbox.is_empty() {
            match self.send(outbox.slices())? {
                Some(taken) => outbox.advance(taken),
                None => return Ok(Written::Part),
            }
        }
        self.write_kept()
    }

    /// Writes some of it, and tells how much; `None` when the socket is full.
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<Option<usize>> {
        match self.tls.borrow_mut().as_mut() {
            None => self.send_plain(slices),
            Some(tls) => self.send_secured(tls, slices),
        }
    }

    fn send_secured<'a>(
        &self,
        tls: &mut Secured,
        slices: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<Option<usize>> {
        let Secured { session, scratch } = tls;
        if self.write_waiting(session)? == Written::Part {
            return Ok(None);
        }
        let mut records = scratch.outgoing.borrow_mut();
        let (mut filled, mut taken) = (0, 0);
        for slice in slices {
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
        let ready = records.get(..filled).unwrap_or_default();
        match self.stream.try_write(ready) {
            Ok(n) if n == filled => {}
            Ok(n) => session.keep(ready.get(n..).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => session.keep(ready),
            Err(error) => return Err(error),
        }
        Ok(Some(taken))
    }

    /// Writes what was encrypted before and not taken.
    fn write_kept(&self) -> io::Result<Written> {
        match self.tls.borrow_mut().as_mut() {
            None => Ok(Written::All),
            Some(tls) => self.write_waiting(&mut tls.session),
        }
    }

    /// Writes records that wait, as far as the socket takes them.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn push(&self) -> io::Result<Written> {
        match self.tls.borrow_mut().as_mut() {
            Some(tls) => self.write_waiting(&mut tls.session),
            None => Ok(Written::All),
        }
    }

    /// Encrypts as much as goes into one go and begins to write it; [`Line::push`] writes the rest.
    ///
    /// # Errors
    /// The system's, and when the session cannot encrypt any more.
    pub(crate) fn encrypt(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut tls = self.tls.borrow_mut();
        let Some(Secured { session, scratch }) = tls.as_deref_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
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

    /// One `writev`.
    fn send_plain<'a>(&self, parts: impl Iterator<Item = &'a [u8]>) -> io::Result<Option<usize>> {
        let mut slices = [io::IoSlice::new(&[]); WRITE_SLICES_MAX];
        let mut count = 0;
        for (slot, part) in slices.iter_mut().zip(parts) {
            *slot = io::IoSlice::new(part);
            count += 1;
        }
        let slices = slices.get(..count).unwrap_or_default();
        loop {
            match self.stream.try_write_vectored(slices) {
                Ok(0) if count > 0 => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => return Ok(Some(n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
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

/// What lies in the first bytes of an outbox.
pub(crate) fn first_of(outbox: &Outbox, bytes: usize) -> impl Iterator<Item = &[u8]> {
    let mut left = bytes;
    outbox.slices().map_while(move |slice| {
        let part = slice.get(..left.min(slice.len())).unwrap_or_default();
        left -= part.len();
        (!part.is_empty()).then_some(part)
    })
}
