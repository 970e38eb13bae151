use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::line::{Line, Written};

/// An encrypted line as a stream of bytes, for what is no hot path: HTTP.
#[derive(Debug)]
pub(crate) struct Tunnel {
    line: Line,
    /// Received and not yet read.
    plain: Vec<u8>,
}

impl Tunnel {
    /// Over a line whose handshake is done; `early` came with it.
    pub(crate) const fn new(line: Line, early: Vec<u8>) -> Self {
        Self { line, plain: early }
    }

    /// Writes records that wait, as far as the socket takes them.
    fn push(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.line.push()? {
                Written::All => return Poll::Ready(Ok(())),
                Written::Part => ready!(self.line.stream().poll_write_ready(cx))?,
            }
        }
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.plain.is_empty() {
            ready!(self.line.stream().poll_read_ready(cx))?;
            let this = &mut *self;
            match this.line.read_secured(&mut this.plain) {
                Ok(0) => return Poll::Ready(Ok(())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let count = self.plain.len().min(to.remaining());
        to.put_slice(self.plain.get(..count).unwrap_or_default());
        self.plain.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.push(cx))?;
        Poll::Ready(self.line.encrypt(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.push(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.push(cx))?;
        self.line.say_goodbye();
        let socket = socket2::SockRef::from(self.line.stream());
        Poll::Ready(socket.shutdown(std::net::Shutdown::Write))
    }
}
