use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use frond_broker::{Arrival, LinkId, PeerAddr, Security};
use frond_node::Input;
use tokio::net::TcpStream;

use crate::connection;
use crate::core::Core;
use crate::line::Line;
use crate::options::plain;
use crate::tls;

/// What a link wants dialed.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) link: LinkId,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) timeout: Duration,
    pub(crate) tls_first: Option<String>,
}

impl Wish {
    pub(crate) fn new(
        link: LinkId,
        (host, port): (String, u16),
        timeout: Duration,
        tls_first: Option<String>,
    ) -> Self {
        Self {
            link,
            host,
            port,
            timeout,
            tls_first,
        }
    }
}

/// Opens a connection to another server and runs it, or tells why not.
pub(crate) async fn dial(core: Rc<Core>, wish: Wish) {
    let link = wish.link;
    match open(&core, &wish).await {
        Ok((line, security, early)) => {
            let conn = core.number();
            let arrival = Arrival {
                security,
                ..Arrival::plain(peer_of(line.stream()))
            };
            connection::start(&core, conn, line, None, early);
            core.handle(Input::Dialed {
                link,
                result: Ok((conn, arrival)),
            });
        }
        Err(words) => core.handle(Input::Dialed {
            link,
            result: Err(words),
        }),
    }
}

async fn open(core: &Rc<Core>, wish: &Wish) -> Result<(Line, Security, Vec<u8>), String> {
    let (host, port) = (wish.host.as_str(), wish.port);
    let connect = TcpStream::connect((host, port));
    let stream = match tokio::time::timeout(wish.timeout, connect).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(format!("dial {host}:{port}: {}", plain(&error))),
        Err(_) => {
            return Err(format!(
                "dial {host}:{port}: no answer within {:?}",
                wish.timeout
            ));
        }
    };
    let (line, mut early) = (Line::plain(stream), Vec::new());
    let Some(name) = &wish.tls_first else {
        return Ok((line, Security::Plain, early));
    };
    let context = core.outbound(wish.link)?;
    let session = tls::connect(&line, &context, name, core.scratch(), &mut early)
        .await
        .map_err(|fault| format!("{host}:{port}: {fault}"))?;
    let session = tls::first(session);
    Ok((line, Security::Secured(Arc::new(session)), early))
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
