use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use frond_account::TlsSession;
use rustls::pki_types::ServerName;
use rustls::{CommonState, InvalidMessage, ProtocolVersion};

use super::cert::Certificate;
use super::context::{Inbound, Outbound};
use super::session::{Scratch, Session};
use super::words;
use crate::limits::HANDSHAKE_BYTES;
use crate::line::Line;
use std::rc::Rc;

/// Why a handshake failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It took too long.
    Timeout,
    /// The connection broke.
    Line(io::Error),
    /// The peer broke the protocol, or is not who it should be.
    Peer(rustls::Error),
    /// Its certificate is none of `pinned_certs`.
    NotPinned,
    /// This end is not set up for it.
    Setup(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("TLS handshake error: i/o timeout"),
            Self::Line(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("TLS handshake error: EOF")
            }
            Self::Line(error) => write!(f, "TLS handshake error: {error}"),
            Self::Peer(error) => write!(f, "TLS handshake error: {}", words::of(error)),
            Self::NotPinned => f.write_str("TLS handshake error: certificate not pinned"),
            Self::Setup(why) => write!(f, "TLS handshake error: {why}"),
        }
    }
}

/// Shakes hands as the accepting end; from then on the line is encrypted. What the peer said
/// right after its last word of the handshake is appended to `early`. Meanwhile `holding` is told
/// how many bytes are held for it.
///
/// # Errors
/// Why not; the peer was told as far as it listens.
pub(crate) async fn accept(
    line: &Line,
    context: &Inbound,
    scratch: &Rc<Scratch>,
    early: &mut Vec<u8>,
    holding: &dyn Fn(usize),
) -> Result<TlsSession, Fault> {
    let session = Session::server(Arc::clone(&context.config))
        .map_err(|error| Fault::Setup(error.to_string()))?;
    let session = within(
        context.timeout(),
        shake(line, session, scratch, early, (context.waits(), holding)),
    )
    .await?;
    let facts = facts(session.facts());
    let pins = &context.rules.pinned_certs;
    if !pins.is_empty() && !is_pinned(&facts, pins) {
        return Err(Fault::NotPinned);
    }
    line.secure(session, Rc::clone(scratch));
    Ok(facts)
}

/// Shakes hands as the dialing end, with a server of this name. `early` holds what was received
/// before, and then what came right after the handshake.
///
/// # Errors
/// Why not; the peer was told as far as it listens.
pub(crate) async fn connect(
    line: &Line,
    context: &Outbound,
    name: &str,
    scratch: &Rc<Scratch>,
    early: &mut Vec<u8>,
) -> Result<TlsSession, Fault> {
    let name = ServerName::try_from(name.to_owned())
        .map_err(|error| Fault::Setup(format!("{name:?}: {error}")))?;
    let session = Session::client(Arc::clone(&context.config), name)
        .map_err(|error| Fault::Setup(error.to_string()))?;
    let session = within(
        context.rules.timeout,
        shake(line, session, scratch, early, (context.waits(), &|_| {})),
    )
    .await?;
    let facts = facts(session.facts());
    let pins = &context.rules.pinned_certs;
    if !pins.is_empty() && !is_pinned(&facts, pins) {
        return Err(Fault::NotPinned);
    }
    line.secure(session, Rc::clone(scratch));
    Ok(facts)
}

/// The same, of a handshake that came before the first word.
pub(crate) fn first(session: TlsSession) -> TlsSession {
    TlsSession {
        first: true,
        ..session
    }
}

async fn within<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::time::timeout(timeout, work)
        .await
        .unwrap_or(Err(Fault::Timeout))
}

async fn shake(
    line: &Line,
    mut session: Session,
    scratch: &Scratch,
    early: &mut Vec<u8>,
    (waits, holding): (bool, &dyn Fn(usize)),
) -> Result<Session, Fault> {
    let mut came = std::mem::take(early);
    if came.is_empty() {
        // Who dials has the first word.
        let taken = session.receive(&mut came, early);
        answer(line, &mut session, taken).await?;
    } else {
        session = step(line, session, (scratch, waits), came, early).await?;
    }
    while !session.is_open() {
        holding(HANDSHAKE_BYTES + session.held_bytes());
        line.stream().readable().await.map_err(Fault::Line)?;
        if let Some(came) = read(line, scratch)? {
            session = step(line, session, (scratch, waits), came, early).await?;
        }
    }
    holding(0);
    Ok(session)
}

/// Reads what is there; `None` when that is nothing.
fn read(line: &Line, scratch: &Scratch) -> Result<Option<Vec<u8>>, Fault> {
    let mut incoming = scratch.incoming.borrow_mut();
    match line.stream().try_read(&mut incoming) {
        Ok(0) => Err(Fault::Line(io::ErrorKind::UnexpectedEof.into())),
        Ok(n) => Ok(Some(incoming.get(..n).unwrap_or_default().to_vec())),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(Fault::Line(error)),
    }
}

/// Takes bytes and sends what they are answered with. A signature takes long on a small box:
/// meanwhile those who are in are served, so it is made by another thread, one at a time. One
/// that `waits` for responders has a thread of its own.
async fn step(
    line: &Line,
    mut session: Session,
    (scratch, waits): (&Scratch, bool),
    mut came: Vec<u8>,
    early: &mut Vec<u8>,
) -> Result<Session, Fault> {
    let work = move || {
        let mut plain = Vec::new();
        let taken = session.receive(&mut came, &mut plain);
        (session, plain, taken)
    };
    let done = if waits {
        scratch.asker.run(work).await
    } else {
        scratch.signer.run(work).await
    };
    let (mut session, plain, taken) = done.map_err(|why| Fault::Setup(why.to_string()))?;
    early.extend_from_slice(&plain);
    answer(line, &mut session, taken).await?;
    Ok(session)
}

/// Sends what the session has to say.
async fn answer(
    line: &Line,
    session: &mut Session,
    taken: Result<(), rustls::Error>,
) -> Result<(), Fault> {
    // Who speaks no TLS is not answered in TLS.
    if let Err(error @ rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) = taken {
        return Err(Fault::Peer(error));
    }
    let sent = send(line, session).await;
    taken.map_err(Fault::Peer)?;
    sent.map_err(Fault::Line)
}

async fn send(line: &Line, session: &mut Session) -> io::Result<()> {
    while !session.waiting().is_empty() {
        match line.stream().try_write(session.waiting()) {
            Ok(n) => session.written(n),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                line.stream().writable().await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_pinned(facts: &TlsSession, pins: &std::collections::BTreeSet<String>) -> bool {
    let peer = facts.peer.as_ref();
    peer.is_some_and(|peer| pins.contains(&peer.subject_pk_sha256))
}

fn facts(state: &CommonState) -> TlsSession {
    let version = match state.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => "1.2",
        Some(ProtocolVersion::TLSv1_3) => "1.3",
        Some(_) | None => "unknown",
    };
    let cipher = state
        .negotiated_cipher_suite()
        .map(|suite| format!("{:?}", suite.suite()).replace("TLS13_", "TLS_"));
    let der = state.peer_certificates().and_then(<[_]>::first);
    let peer = der.and_then(|der| Some(Certificate::parse(der)?.peer(der.to_vec())));
    TlsSession {
        version: version.to_owned(),
        cipher: cipher.unwrap_or_default(),
        first: false,
        peer,
    }
}
