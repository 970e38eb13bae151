//! A connection to a hub through an HTTP proxy: `CONNECT`, then whatever the tunnel carries.
//!
//! spec: nats-server v2.15.1 server/leafnode.go `establishHTTPProxyTunnel`

use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use data_encoding::BASE64;
use frond_broker::PeerAddr;
use frond_config::RemoteProxy;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::core::Core;
use crate::dial::{Wish, peer_of};
use crate::limits::{PROXY_HEAD_BYTES_MAX, RELAY_BYTES, RELAY_STALL};
use crate::line::Line;
use crate::options::plain;
use crate::tls::{self, Tunnel};

/// What a tunnel begins with.
pub(crate) struct Opened {
    pub(crate) stream: TcpStream,
    /// Where the proxy is.
    pub(crate) peer: PeerAddr,
    /// What the hub said already.
    pub(crate) early: Vec<u8>,
}

/// Reaches the hub of a wish through `proxy`, in its time.
///
/// # Errors
/// Why not, in nats-server's words.
pub(crate) async fn open(
    core: &Rc<Core>,
    wish: &Wish,
    proxy: &RemoteProxy,
) -> Result<Opened, String> {
    match tokio::time::timeout(wish.timeout, reach(core, wish, proxy)).await {
        Ok(opened) => opened,
        Err(_) => Err(format!(
            "failed to read proxy response: no answer within {:?}",
            wish.timeout
        )),
    }
}

async fn reach(core: &Rc<Core>, wish: &Wish, proxy: &RemoteProxy) -> Result<Opened, String> {
    let place = (proxy.host.as_str(), proxy.port);
    let stream = TcpStream::connect(place)
        .await
        .map_err(|error| format!("failed to connect to proxy: {}", plain(&error)))?;
    let (peer, request) = (peer_of(&stream), request(wish, proxy));
    if !proxy.https {
        let mut stream = stream;
        let early = ask(&mut stream, &request).await?;
        return Ok(Opened {
            stream,
            peer,
            early,
        });
    }
    let context = core.proxy(wish.link)?;
    let (line, mut early) = (Line::plain(stream), Vec::new());
    tls::connect(&line, &context, &proxy.host, core.scratch(), &mut early)
        .await
        .map_err(|fault| format!("proxy TLS handshake failed: {fault}"))?;
    let mut tunnel = Tunnel::new(line, early);
    let early = ask(&mut tunnel, &request).await?;
    let stream = relay(tunnel).await.map_err(|error| plain(&error))?;
    Ok(Opened {
        stream,
        peer,
        early,
    })
}

fn request(wish: &Wish, proxy: &RemoteProxy) -> String {
    let target = if wish.host.contains(':') {
        format!("[{}]:{}", wish.host, wish.port)
    } else {
        format!("{}:{}", wish.host, wish.port)
    };
    let login = proxy.login.as_ref().map(|(user, password)| {
        let both = BASE64.encode(format!("{user}:{}", password.expose()).as_bytes());
        format!("Proxy-Authorization: Basic {both}\r\n")
    });
    let login = login.unwrap_or_default();
    format!(
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: Go-http-client/1.1\r\n{login}\r\n"
    )
}

/// Asks for the tunnel; what came behind the answer.
async fn ask(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    request: &str,
) -> Result<Vec<u8>, String> {
    let written = async {
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await
    };
    written
        .await
        .map_err(|error| format!("failed to write CONNECT request: {}", plain(&error)))?;
    let mut head = Vec::new();
    loop {
        if let Some(length) = answered(&head)? {
            return Ok(head.split_off(length));
        }
        let read = stream.read_buf(&mut head).await;
        match read {
            Ok(0) => return Err(unreadable("unexpected EOF")),
            Ok(_) => {}
            Err(error) => return Err(unreadable(&plain(&error))),
        }
    }
}

/// How long the head of a good answer is; `None` when it isn't whole.
fn answered(head: &[u8]) -> Result<Option<usize>, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(head) {
        Ok(httparse::Status::Partial) if head.len() <= PROXY_HEAD_BYTES_MAX => Ok(None),
        Ok(httparse::Status::Partial) => Err(unreadable("too long")),
        Err(error) => Err(unreadable(&error.to_string())),
        Ok(httparse::Status::Complete(length)) => match response.code {
            Some(200) => Ok(Some(length)),
            code => Err(format!(
                "proxy CONNECT failed: {} {}",
                code.unwrap_or_default(),
                response.reason.unwrap_or_default()
            )),
        },
    }
}

fn unreadable(why: &str) -> String {
    format!("failed to read proxy response: {why}")
}

/// What the hub's own TLS goes through as well: a connection of this process to itself, whose far
/// end speaks with the proxy.
async fn relay(tunnel: Tunnel) -> io::Result<TcpStream> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let near = TcpStream::connect(listener.local_addr()?).await?;
    let own = near.local_addr()?;
    let (mut far, from) = listener.accept().await?;
    if from != own {
        // Somebody else on this machine was quicker.
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    tokio::task::spawn_local(async move {
        let (near_says, near_hears) = far.split();
        let (hub_says, hub_hears) = tokio::io::split(tunnel);
        // With one of the two ways the other one ends: servers do not close by halves.
        tokio::select! {
            _ = carry(near_says, hub_hears, RELAY_STALL) => {}
            _ = carry(hub_says, near_hears, RELAY_STALL) => {}
        }
    });
    Ok(near)
}

/// One way of a relay, until its speaker is done or its hearer takes nothing for long.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    stall: Duration,
) -> io::Result<()> {
    let mut piece = Vec::with_capacity(RELAY_BYTES);
    loop {
        piece.clear();
        if from.read_buf(&mut piece).await? == 0 {
            return to.shutdown().await;
        }
        let sent = async {
            to.write_all(&piece).await?;
            to.flush().await
        };
        let sent = tokio::time::timeout(stall, sent).await;
        sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_200_opens_the_tunnel() {
        assert_eq!(answered(b"HTTP/1.1 20"), Ok(None));
        let good = b"HTTP/1.1 200 Connection established\r\nX: y\r\n\r\nINFO {}";
        assert_eq!(answered(good), Ok(Some(good.len() - 7)));
        let refused = answered(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        let words = "proxy CONNECT failed: 407 Proxy Authentication Required";
        assert_eq!(refused, Err(words.to_owned()));
        assert!(answered(b"SSH-2.0-x\r\n\r\n").is_err());
    }

    /// What was said comes through, and the end with it.
    #[tokio::test]
    async fn a_relay_ends_with_its_speaker() {
        let (mut near, from) = tokio::io::duplex(64);
        let (to, mut hub) = tokio::io::duplex(64);
        let carried = tokio::spawn(carry(from, to, RELAY_STALL));
        near.write_all(b"who we are").await.unwrap();
        drop(near);
        let mut heard = String::new();
        hub.read_to_string(&mut heard).await.unwrap();
        assert_eq!(heard, "who we are");
        carried.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_hearer_that_takes_nothing_ends_it() {
        let (mut near, from) = tokio::io::duplex(1 << 20);
        let (to, _hub) = tokio::io::duplex(64);
        near.write_all(&[0; 1000]).await.unwrap();
        let ended = carry(from, to, Duration::from_millis(20))
            .await
            .unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
    }
}
