use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedStatus, WriteTraffic,
};
use rustls::{ClientConfig, CommonState, Error, ServerConfig};

use super::asker::Asker;
use super::signer::Signer;
use crate::limits::{READ_BYTES, TLS_RECORD_BYTES_MAX, TLS_RECORD_OVERHEAD_BYTES_MAX};

/// One end of a TLS session without its socket: what comes from the wire goes in, what goes to
/// the wire comes out. An idle one holds no buffer.
pub(crate) struct Session {
    side: Side,
    /// The start of a record whose end has not come.
    held: Vec<u8>,
    /// Encrypted and not yet written.
    out: Vec<u8>,
    state: State,
}

/// Buffers that all sessions of a thread share.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Records as they come.
    pub(crate) incoming: RefCell<Box<[u8]>>,
    /// Records on their way out.
    pub(crate) outgoing: RefCell<Box<[u8]>>,
    /// What was in the records that came.
    pub(crate) plain: RefCell<Vec<u8>>,
    /// Where handshakes are worked on.
    pub(crate) signer: Signer,
    /// And those that wait for responders.
    pub(crate) asker: Asker,
}

enum Side {
    Server(Box<UnbufferedServerConnection>),
    Client(Box<UnbufferedClientConnection>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Shaking,
    Open,
    /// The peer said that nothing more comes.
    Ended,
    /// Something was wrong with what the peer sent. rustls is not asked again: what it had yet to
    /// read is gone, and it panics without.
    Failed,
}

/// What one look at the records found.
enum Turn {
    Again,
    Blocked,
    Open,
    Ended,
}

impl Scratch {
    pub(crate) fn new() -> Rc<Self> {
        let outgoing = READ_BYTES + 2 * TLS_RECORD_BYTES_MAX;
        Rc::new(Self {
            incoming: RefCell::new(vec![0; READ_BYTES].into_boxed_slice()),
            outgoing: RefCell::new(vec![0; outgoing].into_boxed_slice()),
            plain: RefCell::default(),
            signer: Signer::new(),
            asker: Asker::default(),
        })
    }
}

impl Session {
    /// The accepting end.
    ///
    /// # Errors
    /// When the configuration is no good.
    pub(crate) fn server(config: Arc<ServerConfig>) -> Result<Self, Error> {
        let side = Side::Server(Box::new(UnbufferedServerConnection::new(config)?));
        Ok(Self::new(side))
    }

    /// The dialing end, which wants to talk to `name`.
    ///
    /// # Errors
    /// When the configuration is no good.
    pub(crate) fn client(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<Self, Error> {
        let side = Side::Client(Box::new(UnbufferedClientConnection::new(config, name)?));
        Ok(Self::new(side))
    }

    const fn new(side: Side) -> Self {
        Self {
            side,
            held: Vec::new(),
            out: Vec::new(),
            state: State::Shaking,
        }
    }

    /// Bytes it holds besides what any session costs.
    pub(crate) const fn held_bytes(&self) -> usize {
        self.held.capacity() + self.out.capacity()
    }

    /// Whether the handshake is done.
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Ended)
    }

    /// Whether nothing more will come.
    pub(crate) const fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// What the handshake showed.
    pub(crate) fn facts(&self) -> &CommonState {
        match &self.side {
            Side::Server(conn) => conn,
            Side::Client(conn) => conn,
        }
    }

    /// Takes bytes from the wire; what was in them is appended to `plain`. Without bytes it only
    /// looks what the handshake wants to say.
    ///
    /// # Errors
    /// When the peer broke the protocol or is not who it should be; what it is to be told waits
    /// in [`Session::waiting`].
    pub(crate) fn receive(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>) -> Result<(), Error> {
        self.check()?;
        let mut held = std::mem::take(&mut self.held);
        if held.is_empty() {
            let used = self.drive(bytes, plain)?;
            self.held = bytes.get(used..).unwrap_or_default().to_vec();
        } else {
            held.extend_from_slice(bytes);
            let used = self.drive(&mut held, plain)?;
            held.drain(..used);
            if !held.is_empty() {
                self.held = held;
            }
        }
        Ok(())
    }

    /// Encrypts into `to` and tells how many bytes it wrote; `to` must have room for the records.
    ///
    /// # Errors
    /// When the session cannot encrypt (any more).
    pub(crate) fn encrypt(&mut self, plain: &[u8], to: &mut [u8]) -> Result<usize, Error> {
        self.check()?;
        let mut held = std::mem::take(&mut self.held);
        let written = match &mut self.side {
            Side::Server(conn) => write(conn.process_tls_records(&mut held), plain, to),
            Side::Client(conn) => write(conn.process_tls_records(&mut held), plain, to),
        };
        self.held = held;
        written
    }

    /// Says that nothing more comes from here.
    pub(crate) fn say_goodbye(&mut self) {
        if self.check().is_err() {
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        let out = &mut self.out;
        match &mut self.side {
            Side::Server(conn) => goodbye(conn.process_tls_records(&mut held), out),
            Side::Client(conn) => goodbye(conn.process_tls_records(&mut held), out),
        }
        self.held = held;
    }

    /// Encrypted bytes that have yet to be written.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.out
    }

    /// So many of them were written.
    pub(crate) fn written(&mut self, bytes: usize) {
        if bytes >= self.out.len() {
            self.out = Vec::new();
        } else {
            self.out.drain(..bytes);
        }
    }

    /// These could not be written yet.
    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// How much of `plain` bytes goes into records that fit into `room`.
    pub(crate) const fn fitting(plain: usize, room: usize) -> usize {
        let record = TLS_RECORD_BYTES_MAX + TLS_RECORD_OVERHEAD_BYTES_MAX;
        let whole = room / record * TLS_RECORD_BYTES_MAX;
        let part = (room % record).saturating_sub(TLS_RECORD_OVERHEAD_BYTES_MAX);
        let fits = whole + part;
        if plain < fits { plain } else { fits }
    }

    fn drive(&mut self, incoming: &mut [u8], plain: &mut Vec<u8>) -> Result<usize, Error> {
        let mut used = 0;
        loop {
            let rest = incoming.get_mut(used..).unwrap_or_default();
            let out = &mut self.out;
            let (discard, turn) = match &mut self.side {
                Side::Server(conn) => step(conn.process_tls_records(rest), plain, out),
                Side::Client(conn) => step(conn.process_tls_records(rest), plain, out),
            };
            used += discard;
            match turn {
                Ok(Turn::Again) => {}
                Ok(Turn::Blocked) => return Ok(used),
                Ok(Turn::Open) => {
                    self.state = State::Open;
                    return Ok(used);
                }
                Ok(Turn::Ended) => {
                    self.state = State::Ended;
                    return Ok(used);
                }
                Err(error) => {
                    self.collect_alert(incoming.get_mut(used..).unwrap_or_default());
                    self.state = State::Failed;
                    return Err(error);
                }
            }
        }
    }

    /// What the peer is told of its fault. `rest` is what rustls has not discarded: it counts
    /// from there.
    fn collect_alert(&mut self, rest: &mut [u8]) {
        let out = &mut self.out;
        let mut nothing = Vec::new();
        let _ = match &mut self.side {
            Side::Server(conn) => step(conn.process_tls_records(rest), &mut nothing, out).1,
            Side::Client(conn) => step(conn.process_tls_records(rest), &mut nothing, out).1,
        };
    }

    fn check(&self) -> Result<(), Error> {
        match self.state {
            State::Shaking | State::Open | State::Ended => Ok(()),
            State::Failed => Err(Error::General("the session has failed".into())),
        }
    }
}

fn step<D>(
    status: UnbufferedStatus<'_, '_, D>,
    plain: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> (usize, Result<Turn, Error>) {
    let mut discard = status.discard;
    let turn = match status.state {
        Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
            match traffic.next_record() {
                None => break Ok(Turn::Again),
                Some(Ok(record)) => {
                    discard += record.discard;
                    plain.extend_from_slice(record.payload);
                }
                Some(Err(error)) => break Err(error),
            }
        },
        Ok(ConnectionState::EncodeTlsData(data)) => encode(data, out).map(|()| Turn::Again),
        Ok(ConnectionState::TransmitTlsData(data)) => {
            data.done();
            Ok(Turn::Again)
        }
        Ok(ConnectionState::BlockedHandshake) => Ok(Turn::Blocked),
        Ok(ConnectionState::WriteTraffic(_)) => Ok(Turn::Open),
        Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => Ok(Turn::Ended),
        Ok(_) => Err(Error::General("unexpected state".into())),
        Err(error) => Err(error),
    };
    (discard, turn)
}

/// Appends one record of the handshake.
fn encode<D>(mut data: EncodeTlsData<'_, D>, out: &mut Vec<u8>) -> Result<(), Error> {
    let at = out.len();
    match data.encode(&mut []) {
        Ok(_) => return Ok(()),
        Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
            out.resize(at + required_size, 0);
        }
        Err(error @ EncodeError::AlreadyEncoded) => return Err(Error::General(error.to_string())),
    }
    let written = data
        .encode(out.get_mut(at..).unwrap_or_default())
        .map_err(|error| Error::General(error.to_string()))?;
    out.truncate(at + written);
    Ok(())
}

fn write<D>(
    status: UnbufferedStatus<'_, '_, D>,
    plain: &[u8],
    to: &mut [u8],
) -> Result<usize, Error> {
    let state = status.state?;
    let ConnectionState::WriteTraffic(mut traffic) = state else {
        return Err(Error::General(format!("cannot write while {state:?}")));
    };
    traffic.encrypt(plain, to).map_err(|error| match error {
        EncryptError::InsufficientSize(_) => Error::General("no room".into()),
        EncryptError::EncryptExhausted => Error::EncryptError,
    })
}

fn goodbye<D>(status: UnbufferedStatus<'_, '_, D>, out: &mut Vec<u8>) {
    let Ok(ConnectionState::WriteTraffic(traffic)) = status.state else {
        return;
    };
    let mut traffic: WriteTraffic<'_, D> = traffic;
    let at = out.len();
    out.resize(at + TLS_RECORD_OVERHEAD_BYTES_MAX, 0);
    let room = out.get_mut(at..).unwrap_or_default();
    let written = traffic.queue_close_notify(room).unwrap_or(0);
    out.truncate(at + written);
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
