use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use frond_account::Transport;
use frond_broker::{Arrival, LinkId, LinkKind, PeerAddr, Security};
use frond_config::{Remote, RemoteProxy, Source as _};
use frond_node::Input;
use frond_websocket::{Dialer, Masking};
use tokio::net::TcpStream;

use crate::connection;
use crate::core::Core;
use crate::frames::Frames;
use crate::limits::{LINK_INFLATED_BYTES_MAX, READ_BYTES};
use crate::line::Line;
use crate::options::{System, plain};
use crate::proxied_dial::{self, Opened};
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
    let opened = open(&core, &wish).await;
    if opened.is_ok() {
        read_credentials(&core, link).await;
    }
    match opened {
        Ok(Open {
            line,
            peer,
            security,
            early,
        }) => {
            let conn = core.number();
            let (transport, deflates) = match line.frames() {
                Some(frames) => (Transport::WebSocket, frames.borrow().deflates()),
                None => (Transport::Tcp, false),
            };
            let arrival = Arrival {
                security,
                transport,
                deflates,
                ..Arrival::plain(peer)
            };
            let rule = core.with_node(|node| match node.link_kind(link) {
                LinkKind::Leaf => node.link_write_rule(),
                LinkKind::Route => node.route_write_rule(),
                LinkKind::Gateway => node.gateway_write_rule(),
            });
            connection::start(&core, conn, line, rule, early);
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

/// The file may have become another one since the last dial.
async fn read_credentials(core: &Core, link: LinkId) {
    let path = core.with_node(|node| node.remote(link)?.credentials.clone());
    let Some(path) = path else {
        return;
    };
    let read = tokio::task::spawn_blocking(move || System.read(&path)).await;
    let read = read.unwrap_or_else(|gone| Err(gone.to_string()));
    let told = read.as_deref().map_err(String::as_str);
    core.with_node(|node| node.credentials_read(link, told));
}

/// A connection whose hub may speak.
struct Open {
    line: Line,
    peer: PeerAddr,
    security: Security,
    early: Vec<u8>,
}

/// To the hub, or to its proxy, which then was asked for a tunnel.
async fn reach(
    core: &Rc<Core>,
    wish: &Wish,
    proxy: Option<&RemoteProxy>,
) -> Result<Opened, String> {
    let (host, port) = (wish.host.as_str(), wish.port);
    if let Some(proxy) = proxy {
        let opened = proxied_dial::open(core, wish, proxy).await;
        return opened.map_err(|why| format!("dial {host}:{port}: {why}"));
    }
    let connect = connect(core, wish);
    match tokio::time::timeout(wish.timeout, connect).await {
        Ok(Ok(stream)) => Ok(Opened {
            peer: peer_of(&stream),
            stream,
            early: Vec::new(),
        }),
        Ok(Err(error)) => Err(format!("dial {host}:{port}: {}", plain(&error))),
        Err(_) => Err(format!(
            "dial {host}:{port}: no answer within {:?}",
            wish.timeout
        )),
    }
}

async fn open(core: &Rc<Core>, wish: &Wish) -> Result<Open, String> {
    let (host, port) = (wish.host.as_str(), wish.port);
    let remote = core.with_node(|node| node.remote(wish.link).cloned());
    let proxy = remote.as_ref().and_then(|remote| remote.proxy.as_ref());
    let Opened {
        stream,
        peer,
        mut early,
    } = reach(core, wish, proxy).await?;
    let line = match core.with_node(|node| node.link_kind(wish.link)) {
        LinkKind::Leaf => Line::plain(stream).with_short_queue(),
        LinkKind::Route | LinkKind::Gateway => Line::plain(stream),
    };
    let mut security = Security::Plain;
    if let Some(name) = &wish.tls_first {
        let context = core.outbound(wish.link)?;
        let session = tls::connect(&line, &context, name, core.scratch(), &mut early)
            .await
            .map_err(|fault| format!("{host}:{port}: {fault}"))?;
        security = Security::Secured(Arc::new(tls::first(session)));
    }
    let (line, early) = match remote.filter(Remote::is_websocket) {
        Some(remote) => {
            let line = ask(core, wish, &remote, line, early).await?;
            (line, Vec::new())
        }
        None => (line, early),
    };
    Ok(Open {
        line,
        peer,
        security,
        early,
    })
}

/// Connects to one of the addresses of a host. For a server of our cluster they begin anywhere:
/// behind one name may be several of them, and this one.
///
/// spec: nats-server v2.15.1 server/route.go `connectToRoute`, `getRandomIP`
async fn connect(core: &Core, wish: &Wish) -> io::Result<TcpStream> {
    let place = (wish.host.as_str(), wish.port);
    match core.with_node(|node| node.link_kind(wish.link)) {
        LinkKind::Leaf => return TcpStream::connect(place).await,
        LinkKind::Route | LinkKind::Gateway => {}
    }
    let mut found: Vec<_> = tokio::net::lookup_host(place).await?.collect();
    let mut random = [0; 8];
    if found.len() > 1 && getrandom::fill(&mut random).is_ok() {
        let first = u64::from_le_bytes(random) % found.len() as u64;
        found.rotate_left(usize::try_from(first).unwrap_or(0));
    }
    TcpStream::connect(&found[..]).await
}

/// Asks for a WebSocket, as long as the hub may take to greet.
/// spec: nats-server v2.15.1 server/leafnode.go `leafNodeSolicitWSConnection`
async fn ask(
    core: &Core,
    wish: &Wish,
    remote: &Remote,
    line: Line,
    mut early: Vec<u8>,
) -> Result<Line, String> {
    let place = format!("{}:{}", wish.host, wish.port);
    let failed = |why: &str| format!("{place}: {why}");
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| failed(&error.to_string()))?;
    let dialer = Dialer {
        host: match wish.host.contains(':') {
            true => format!("[{}]:{}", wish.host, wish.port),
            false => place.clone(),
        },
        path: path_of(remote, wish),
        key: Dialer::key(random),
        compression: remote.ws_compression,
        masking: match remote.ws_no_masking {
            true => Masking::Bare,
            false => Masking::Masked,
        },
        headers: Vec::new(),
    };
    let asking = async {
        let sent = line.write_all(&dialer.request()).await;
        sent.map_err(|error| plain(&error))?;
        loop {
            if let Some(agreed) = dialer.answered(&early)? {
                return Ok::<_, String>(agreed);
            }
            let readable = line.stream().readable().await;
            readable.map_err(|error| plain(&error))?;
            early.reserve(READ_BYTES / 16);
            match line.read_raw(&mut early) {
                Ok(0) => return Err("the hub left".to_owned()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(plain(&error)),
            }
        }
    };
    let agreed = tokio::time::timeout(remote.first_info_timeout, asking).await;
    let agreed = agreed
        .map_err(|_| failed("no answer to the WebSocket request"))?
        .map_err(|why| failed(&why))?;
    let behind = early.split_off(agreed.length.min(early.len()));
    let tools = Rc::clone(core.tools());
    let frames = Frames::dialed(agreed, behind, LINK_INFLATED_BYTES_MAX, tools);
    Ok(line.framed(frames.for_link()))
}

/// Behind the path that the URL has, if any.
///
/// spec: nats-server v2.15.1 server/leafnode.go `leafNodeSolicitWSConnection`, Go path.Join
fn path_of(remote: &Remote, wish: &Wish) -> String {
    let mut urls = remote.urls.iter();
    let url = urls.find(|url| url.host == wish.host && url.port == wish.port);
    let mut parts: Vec<&str> = Vec::new();
    for part in url.map_or("", |url| &url.path).split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.push("leafnode");
    format!("/{}", parts.join("/"))
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
