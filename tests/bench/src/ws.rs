//! As much of a WebSocket client as the load needs: whole binary frames, nothing compressed.

use std::io::{self, Read, Write};
use std::net::TcpStream;

const HANDSHAKE: &[u8] =
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const MASK: [u8; 4] = [0x17, 0x2b, 0x63, 0xd9];
const BUFFER_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct WebSocket {
    socket: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Payload bytes of the present frame that are still to come.
    left: usize,
    out: Vec<u8>,
}

impl WebSocket {
    /// Greets as a browser does.
    pub(crate) fn open(mut socket: TcpStream) -> io::Result<Self> {
        socket.write_all(HANDSHAKE)?;
        let mut this = Self {
            socket,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            left: 0,
            out: Vec::new(),
        };
        loop {
            let held = &this.buffer[..this.end];
            if let Some(at) = held.windows(4).position(|four| four == b"\r\n\r\n") {
                assert!(held.starts_with(b"HTTP/1.1 101"), "the server refuses");
                this.start = at + 4;
                return Ok(this);
            }
            this.fill()?;
        }
    }

    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Reads more; an error at the end.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let read = self.socket.read(&mut self.buffer[self.end..])?;
        self.end += read;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Takes the head of the next frame; false when the server closes.
    fn next_frame(&mut self) -> io::Result<bool> {
        while self.end - self.start < 2 {
            self.fill()?;
        }
        let (first, second) = (self.buffer[self.start], self.buffer[self.start + 1]);
        let extra = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        while self.end - self.start < 2 + extra {
            self.fill()?;
        }
        let size = &self.buffer[self.start + 2..self.start + 2 + extra];
        self.left = match extra {
            0 => usize::from(second & 0x7f),
            _ => size
                .iter()
                .fold(0, |size, byte| size << 8 | usize::from(*byte)),
        };
        self.start += 2 + extra;
        assert!(
            first & 0x0f <= 2 || first & 0x0f == 8,
            "a frame of another kind"
        );
        Ok(first & 0x0f != 8)
    }
}

impl Read for WebSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 {
            match self.next_frame() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(error),
            }
        }
        if self.start == self.end {
            self.fill()?;
        }
        let take = self.left.min(self.end - self.start).min(buffer.len());
        buffer[..take].copy_from_slice(&self.buffer[self.start..self.start + take]);
        self.start += take;
        self.left -= take;
        Ok(take)
    }
}

impl Write for WebSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.clear();
        self.out.push(0x82);
        match bytes.len() {
            size @ ..=125 => self.out.push(0x80 | u8::try_from(size).unwrap_or(0)),
            size => {
                self.out.push(0x80 | 127);
                self.out.extend_from_slice(&(size as u64).to_be_bytes());
            }
        }
        self.out.extend_from_slice(&MASK);
        let masked = bytes
            .iter()
            .zip(MASK.iter().cycle())
            .map(|(byte, mask)| byte ^ mask);
        self.out.extend(masked);
        self.socket.write_all(&self.out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
