//! What carries the bytes of the protocol: TCP as it is, TLS, or WebSocket.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::ws::WebSocket;

/// How a client comes.
#[derive(Clone, Debug)]
pub enum Carrier {
    /// TCP as it is.
    Plain,
    /// TLS after the server's first line; the client trusts this.
    Tls(Arc<ClientConfig>),
    /// WebSocket on this port.
    WebSocket(u16),
}

impl Carrier {
    /// TLS to a server that shows this certificate.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn tls(certificate: CertificateDer<'static>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(certificate).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self::Tls(Arc::new(config))
    }
}

/// An open connection over one of them.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    WebSocket(Box<WebSocket>),
}

impl Stream {
    /// Over a connected socket. With TLS the server's first line is read here.
    pub(crate) fn over(socket: TcpStream, carrier: &Carrier) -> io::Result<(Self, Vec<u8>)> {
        match carrier {
            Carrier::Plain => Ok((Self::Plain(socket), Vec::new())),
            Carrier::WebSocket(_) => {
                let socket = WebSocket::open(socket)?;
                Ok((Self::WebSocket(Box::new(socket)), Vec::new()))
            }
            Carrier::Tls(config) => {
                let info = one_line(&socket)?;
                let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into());
                let client =
                    ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
                Ok((Self::Tls(Box::new(StreamOwned::new(client, socket))), info))
            }
        }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => &tls.sock,
            Self::WebSocket(socket) => socket.socket(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
            Self::WebSocket(socket) => socket.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
            Self::WebSocket(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(tls) => tls.flush(),
            Self::WebSocket(_) => Ok(()),
        }
    }
}

/// Not a byte more than the line: what follows is the handshake's.
fn one_line(mut socket: &TcpStream) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while byte != *b"\n" {
        socket.read_exact(&mut byte)?;
        line.extend_from_slice(&byte);
    }
    Ok(line)
}
