use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use frond_broker::Arrival;
use frond_node::{Input, Listener};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::pause;
use crate::connection;
use crate::core::Core;
use crate::dial::peer_of;
use crate::limits::{ACCEPT_PAUSE_MAX, ACCEPT_PAUSE_MIN};
use crate::line::Line;
use crate::options::plain;

/// Connections the kernel may hold before they are accepted.
const BACKLOG: i32 = 1024;

/// Binds a listener; port 0 means any free port.
///
/// # Errors
/// The system's words with the address.
pub(crate) async fn bind(host: &str, port: u16) -> io::Result<TcpListener> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut found = tokio::net::lookup_host((bare, port))
        .await
        .map_err(|e| named(host, port, e))?;
    let at = found
        .next()
        .ok_or_else(|| named(host, port, "no such host"))?;
    listen(at).map_err(|e| named(host, port, format!("bind: {}", plain(&e))))
}

fn named(host: &str, port: u16, why: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("listen tcp {host}:{port}: {why}"))
}

fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Accepts until the task is aborted.
///
/// Without file descriptors left every attempt fails at once: it pauses longer and longer, and
/// says so once until it can accept again.
pub(crate) async fn accept(core: Rc<Core>, listener: TcpListener, kind: Listener) {
    let mut wait = None;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if wait.take().is_some() {
                    tracing::info!("connections are accepted again");
                }
                welcome(&core, stream, kind);
            }
            Err(error) if is_about_the_peer(&error) => {}
            Err(error) => {
                let next = match wait {
                    None => {
                        tracing::error!(
                            "cannot accept connections: {error}; raise the limit of open files"
                        );
                        ACCEPT_PAUSE_MIN
                    }
                    Some(last) => ACCEPT_PAUSE_MAX.min(last * 2),
                };
                wait = Some(next);
                pause(next).await;
            }
        }
    }
}

fn welcome(core: &Rc<Core>, stream: TcpStream, kind: Listener) {
    let peer = peer_of(&stream);
    let called = stream
        .local_addr()
        .map_or(peer.ip, |at| at.ip().to_canonical());
    let conn = core.number();
    let write_deadline = core.with_node(|node| node.write_deadline(kind));
    connection::start(core, conn, Line::plain(stream), write_deadline);
    core.handle(Input::Opened {
        conn,
        listener: kind,
        arrival: Arrival::plain(peer),
        called,
    });
}

fn is_about_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}
