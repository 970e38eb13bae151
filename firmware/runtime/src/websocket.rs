//! From an accepted connection to a WebSocket: TLS, then one HTTP request.
//! spec: nats-server v2.15.1 server/websocket.go `startWebsocketServer`, `wsUpgrade`

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use frond_account::{Credentials, Transport};
use frond_broker::{Arrival, Security, Upgrade};
use frond_config::{Config, WebSocket};
use frond_node::{Input, Listener};
use frond_websocket::{
    Accepted, CookieNames, Cookies, Endpoint, Head, HeadError, Origin, Refusal, Rules,
};

use crate::connection;
use crate::core::Core;
use crate::dial::peer_of;
use crate::frames::{Frames, Tools};
use crate::limits::{LINK_INFLATED_BYTES_MAX, READ_BYTES};
use crate::line::Line;
use crate::tls::{self, Inbound};
use crate::waiting::{Seat, Steps, Waiting};

/// What the WebSocket port needs to let somebody in.
#[derive(Debug)]
pub(crate) struct Door {
    rules: Rules,
    payload_bytes_max: u64,
    leafs: bool,
    tools: Rc<Tools>,
    waiting: Waiting,
}

impl Door {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            rules: rules(&config.websocket),
            payload_bytes_max: config.limits.max_payload,
            leafs: config.leafnodes.listen.is_some(),
            tools: Rc::default(),
            waiting: Waiting::default(),
        }
    }

    /// Those who are not through yet.
    pub(crate) const fn lobby(&self) -> &Waiting {
        &self.waiting
    }
}

fn rules(socket: &WebSocket) -> Rules {
    let origins = socket.allowed_origins.iter();
    Rules {
        same_origin: socket.same_origin,
        allowed_origins: origins
            .filter_map(|origin| Origin::allowed(origin).ok())
            .collect(),
        compression: socket.compression,
        mqtt: false,
        headers: socket.headers.clone().into_iter().collect(),
        cookies: CookieNames {
            jwt: socket.cookies.jwt.clone(),
            user: socket.cookies.user.clone(),
            password: socket.cookies.password.clone(),
            token: socket.cookies.token.clone(),
        },
    }
}

/// Lets somebody in who called the WebSocket port.
pub(crate) fn welcome(core: &Rc<Core>, line: Line, context: Option<Rc<Inbound>>) {
    let Some(door) = core.door() else {
        return;
    };
    let seat = Rc::new(door.waiting.seat());
    let work = let_in(
        Rc::clone(core),
        Rc::clone(&door),
        line,
        context,
        Rc::clone(&seat),
    );
    let task = tokio::task::spawn_local(work);
    door.waiting.add(&seat, task.abort_handle());
    core.relieve_lobbies();
}

async fn let_in(
    core: Rc<Core>,
    door: Rc<Door>,
    line: Line,
    context: Option<Rc<Inbound>>,
    seat: Rc<Seat>,
) {
    let patience = core.with_node(|node| node.websocket().handshake_timeout);
    let holding = |bytes| {
        seat.hold(bytes);
        core.relieve_lobbies();
    };
    let work = Box::pin(upgrade(&core, &door, &line, context, &holding));
    let done = match patience {
        Some(patience) => tokio::time::timeout(patience, work).await.unwrap_or(None),
        None => work.await,
    };
    if let Some((accepted, security)) = done {
        begin(&core, &door, line, accepted, security);
    }
}

/// TLS where there is any, then the request. `None`: there is nobody to let in.
async fn upgrade(
    core: &Core,
    door: &Door,
    line: &Line,
    context: Option<Rc<Inbound>>,
    holding: &dyn Fn(usize),
) -> Option<(Accepted, Security)> {
    let peer = peer_of(line.stream()).to_string();
    let (mut bytes, mut security) = (Vec::new(), Security::Plain);
    if let Some(context) = context {
        match tls::accept(line, &context, core.scratch(), &mut bytes, holding).await {
            Ok(session) => security = Security::Secured(Arc::new(session)),
            Err(fault) => {
                tracing::error!("websocket: http: {peer} - {fault}");
                return None;
            }
        }
    }
    let secured = matches!(security, Security::Secured(_));
    let head = read_head(line, &mut bytes, holding, door.waiting.steps()).await?;
    let verdict = head.and_then(|(head, length)| {
        let accepted = door.rules.judge(&head, secured)?;
        Ok((accepted, length))
    });
    match verdict {
        Ok((accepted, length)) if length == bytes.len() => Some((accepted, security)),
        Ok(_) => {
            let why = "client sent data before handshake is complete";
            tracing::error!("{peer} - websocket handshake error: {why}");
            None
        }
        Err(refusal) => {
            if let Some(text) = refusal.line(&peer) {
                tracing::error!("{text}");
            }
            let _ = line.write_all(&refusal.answer()).await;
            None
        }
    }
}

/// Reads until the head is whole, or never will be. `None`: the peer left.
async fn read_head(
    line: &Line,
    bytes: &mut Vec<u8>,
    holding: &dyn Fn(usize),
    steps: &Steps,
) -> Option<Result<(Head, usize), Refusal>> {
    loop {
        match Head::parse(bytes) {
            Ok(found) => return Some(Ok(found)),
            Err(HeadError::Refused(refusal)) => return Some(Err(refusal)),
            Err(HeadError::Partial) => {}
        }
        holding(bytes.capacity() + line.held_bytes());
        line.stream().readable().await.ok()?;
        let read = || {
            bytes.reserve(READ_BYTES / 16);
            line.read_raw(bytes)
        };
        match steps.take(read).await {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

fn begin(core: &Rc<Core>, door: &Rc<Door>, line: Line, accepted: Accepted, security: Security) {
    let listener = match accepted.endpoint {
        Endpoint::Client | Endpoint::Mqtt => Listener::WebSocket,
        Endpoint::Leaf if door.leafs => Listener::Leaf,
        Endpoint::Leaf => {
            tracing::error!("Not configured to accept leaf node connections");
            let _ = line.stream().try_write(&accepted.answer);
            return;
        }
    };
    let peer = peer_of(line.stream());
    let called = line.stream().local_addr();
    let called = called.map_or(peer.ip, |at| at.ip().to_canonical());
    let tools = Rc::clone(&door.tools);
    let frames = if listener == Listener::Leaf {
        Frames::accepted(&accepted, LINK_INFLATED_BYTES_MAX, tools).for_link()
    } else {
        Frames::accepted(&accepted, door.payload_bytes_max, tools)
    };
    let conn = core.number();
    let rule = core.with_node(|node| node.write_rule(listener));
    connection::start(core, conn, line.framed(frames), rule, Vec::new());
    core.handle(Input::Opened {
        conn,
        listener,
        arrival: Arrival {
            transport: Transport::WebSocket,
            deflates: accepted.compression,
            security,
            upgrade: Some(Box::new(Upgrade {
                forwarded_for: accepted.forwarded_for,
                credentials: credentials(accepted.cookies),
            })),
            ..Arrival::plain(peer)
        },
        called,
    });
}

fn credentials(cookies: Cookies) -> Credentials {
    Credentials {
        user: cookies.user,
        pass: cookies.password,
        auth_token: cookies.token,
        jwt: cookies.jwt,
        ..Credentials::default()
    }
}
