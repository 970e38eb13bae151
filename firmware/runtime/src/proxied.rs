//! Peers behind a proxy that says first for whom it speaks.
//!
//! spec: nats-server v2.15.1 server/client_proxyproto.go, server/server.go `createClientEx`

use std::io;
use std::net::SocketAddr;

use frond_broker::PeerAddr;
use frond_wire::{PROXY_START_BYTES, ProxyHeader};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::limits::PROXY_HEADER_WAIT;
use crate::options::plain;

/// What came before the peer's own words.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Whom the proxy relays.
    pub(crate) from: Option<PeerAddr>,
    /// Bytes that looked like a header at first and are the peer's own.
    pub(crate) early: Vec<u8>,
}

/// Reads the header of a proxy, if there is one, and not one byte more.
///
/// # Errors
/// What is wrong with it, in nats-server's words.
pub(crate) async fn hear(stream: &TcpStream) -> Result<Heard, String> {
    let mut head = Vec::new();
    let mut until = Instant::now() + PROXY_HEADER_WAIT;
    let mut is_late = false;
    loop {
        let heard = timeout_at(until, listen(stream, &mut head)).await;
        match heard {
            Ok(heard) => return heard,
            // nats-server looks for the start twice.
            Err(_) if !is_late && head.len() < PROXY_START_BYTES => {
                is_late = true;
                until += PROXY_HEADER_WAIT;
            }
            Err(_) => return Err(format!("{}: i/o timeout", missing(&head))),
        }
    }
}

async fn listen(stream: &TcpStream, head: &mut Vec<u8>) -> Result<Heard, String> {
    loop {
        let more = match ProxyHeader::parse(head)? {
            ProxyHeader::More(more) => more,
            ProxyHeader::Absent => {
                let early = std::mem::take(head);
                return Ok(Heard { from: None, early });
            }
            ProxyHeader::Whole { from, skip } => {
                drop_bytes(stream, skip)
                    .await
                    .map_err(|why| lost(head, &why))?;
                return Ok(Heard {
                    from: from.map(peer),
                    early: Vec::new(),
                });
            }
        };
        let before = head.len();
        take(stream, more, head)
            .await
            .map_err(|why| lost(head, &why))?;
        if head.len() == before {
            return Ok(Heard {
                from: None,
                early: std::mem::take(head),
            });
        }
    }
}

/// Takes what is there as far as it may be the header's: nothing when it cannot be.
async fn take(stream: &TcpStream, more: usize, head: &mut Vec<u8>) -> io::Result<()> {
    let mut room = [0; 128];
    let end = more.min(room.len());
    let room = room.get_mut(..end).unwrap_or_default();
    let there = stream.peek(room).await?;
    if there == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let seen = room.get(..there).unwrap_or_default();
    let end = seen.iter().position(|byte| *byte == b'\n');
    let is_line = head.first().or_else(|| seen.first()) == Some(&b'P');
    let mine = end.filter(|_| is_line).map_or(there, |at| at + 1);
    let seen = seen.get(..mine).unwrap_or_default();
    if head.len() < PROXY_START_BYTES {
        let all = [head.as_slice(), seen].concat();
        if ProxyHeader::parse(&all) == Ok(ProxyHeader::Absent) {
            return Ok(());
        }
    }
    head.extend_from_slice(seen);
    drop_bytes(stream, mine).await
}

async fn drop_bytes(stream: &TcpStream, mut count: usize) -> io::Result<()> {
    let mut room = [0; 128];
    while count > 0 {
        stream.readable().await?;
        let end = count.min(room.len());
        match stream.try_read(room.get_mut(..end).unwrap_or_default()) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => count -= read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn peer(from: SocketAddr) -> PeerAddr {
    PeerAddr {
        ip: from.ip(),
        port: from.port(),
    }
}

fn lost(head: &[u8], why: &io::Error) -> String {
    let missing = missing(head);
    if why.kind() != io::ErrorKind::UnexpectedEof {
        return format!("{missing}: {}", plain(why));
    }
    let how = if head.is_empty() { "" } else { "unexpected " };
    format!("{missing}: {how}EOF")
}

fn missing(head: &[u8]) -> &'static str {
    match (head.first(), head.len()) {
        (_, ..PROXY_START_BYTES) => "failed to read protocol version",
        (Some(b'P'), _) => "failed to read v1 line",
        (_, ..12) => "failed to read v2 signature",
        (_, ..16) => "failed to read v2 header",
        (_, _) => "failed to read address data",
    }
}
