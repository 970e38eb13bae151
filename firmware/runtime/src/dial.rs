use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use frond_broker::{Arrival, LinkId, PeerAddr};
use frond_node::Input;
use tokio::net::TcpStream;

use crate::connection;
use crate::core::Core;
use crate::line::Line;
use crate::options::plain;

/// Opens a connection to another server and runs it, or tells why not.
pub(crate) async fn dial(core: Rc<Core>, link: LinkId, host: String, port: u16, timeout: Duration) {
    let result =
        match tokio::time::timeout(timeout, TcpStream::connect((host.as_str(), port))).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(format!("dial {host}:{port}: {}", plain(&error))),
            Err(_) => Err(format!("dial {host}:{port}: no answer within {timeout:?}")),
        };
    match result {
        Ok(stream) => {
            let conn = core.number();
            let peer = peer_of(&stream);
            connection::start(&core, conn, Line::plain(stream), None);
            core.handle(Input::Dialed {
                link,
                result: Ok((conn, Arrival::plain(peer))),
            });
        }
        Err(words) => core.handle(Input::Dialed {
            link,
            result: Err(words),
        }),
    }
}

/// The far end of a stream; unspecified when it is gone already.
pub(crate) fn peer_of(stream: &TcpStream) -> PeerAddr {
    let gone = PeerAddr {
        ip: Ipv4Addr::UNSPECIFIED.into(),
        port: 0,
    };
    stream.peer_addr().map_or(gone, |at| PeerAddr {
        ip: at.ip().to_canonical(),
        port: at.port(),
    })
}
