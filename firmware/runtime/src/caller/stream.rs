use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use frond_config::Tls;

use super::ANSWER_TIME;
use crate::tls::{Secured, secure};

/// What a caller speaks over.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    /// Over that, with TLS.
    Secured(Box<Secured>),
    /// Within one process.
    Unix(UnixStream),
}

impl Stream {
    /// From here on with TLS.
    pub(super) fn secure(&mut self, host: &str, rules: &Tls) -> Result<(), String> {
        let Self::Tcp(stream) = self else {
            return Err("TLS is for connections over the network".to_owned());
        };
        let named = |error: io::Error| error.to_string();
        let own = stream.try_clone().map_err(named)?;
        own.set_read_timeout(Some(ANSWER_TIME)).map_err(named)?;
        let secured = secure(own, host, rules, Arc::default())?;
        *self = Self::Secured(Box::new(secured));
        Ok(())
    }

    pub(super) fn wait_at_most(&self, time: Duration) -> Result<(), String> {
        let set = match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(time)),
            Self::Secured(session) => session.sock.set_read_timeout(Some(time)),
            Self::Unix(stream) => stream.set_read_timeout(Some(time)),
        };
        set.map_err(|error| error.to_string())
    }

    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Secured(session) => session.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Secured(session) => {
                session.write_all(bytes)?;
                session.flush()
            }
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }
}
