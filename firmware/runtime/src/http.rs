//! Monitoring over HTTP: one request after another on each connection, and a bounded number of
//! connections of which a slow one never keeps another from its answer.

mod entry;
mod exchange;
mod peers;

use std::io;
use std::net::IpAddr;
use std::rc::Rc;

use tokio::net::{TcpListener, TcpStream};

use crate::attend::Beside;
use crate::clock::pause;
use crate::core::Core;
use crate::limits::ACCEPT_PAUSE_MAX;
use crate::line::Line;
use crate::tls::{self, Inbound, Tunnel};
use entry::Door;
use peers::Peers;

/// Who asks, and who may answer.
#[derive(Clone, Copy, Debug)]
struct Asker<'a> {
    door: &'a Door,
    beside: &'a Beside,
    from: IpAddr,
}

/// The same over TLS.
async fn secured(
    core: &Rc<Core>,
    seat: &peers::Seat,
    asks: Asker<'_>,
    stream: TcpStream,
    context: &Inbound,
) -> io::Result<()> {
    let (line, mut early) = (Line::plain(stream), Vec::new());
    tls::accept(&line, context, core.scratch(), &mut early, &|_| {})
        .await
        .map_err(|fault| io::Error::other(fault.to_string()))?;
    exchange::converse(core, seat, asks, Tunnel::new(line, early)).await
}

/// Serves the monitoring documents until the task is aborted.
pub(crate) async fn serve(core: Rc<Core>, beside: Beside, listener: TcpListener) {
    let peers = Rc::new(Peers::default());
    let door = Rc::new(Door::default());
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let seat = Peers::seat(&peers, core.clock().now().mono);
                let number = seat.number();
                let core = Rc::clone(&core);
                let (door, beside) = (Rc::clone(&door), beside.clone());
                let task = tokio::task::spawn_local(async move {
                    let asks = Asker {
                        door: &door,
                        beside: &beside,
                        from: peer.ip(),
                    };
                    // A peer that leaves early is its own affair.
                    let _ = match core.tls().https() {
                        None => exchange::converse(&core, &seat, asks, stream).await,
                        Some(context) => secured(&core, &seat, asks, stream, &context).await,
                    };
                });
                peers.carried_by(number, task.abort_handle());
            }
            Err(_) => pause(ACCEPT_PAUSE_MAX).await,
        }
    }
}
