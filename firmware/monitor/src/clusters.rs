//! `/routez`, `/gatewayz` and `/ipqueuesz`: there are no routes, gateways or queues between threads
//! on this server.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Routez`, `Gatewayz`

use serde::Serialize;

use crate::query::{Query, Refusal};
use crate::rows::Server;
use crate::text::When;

#[derive(Debug, Serialize)]
pub(crate) struct Routez {
    server_id: String,
    server_name: String,
    now: When,
    num_routes: usize,
    routes: [(); 0],
}

#[derive(Debug, Serialize)]
pub(crate) struct Gatewayz {
    server_id: String,
    now: When,
    outbound_gateways: Nobody,
    inbound_gateways: Nobody,
}

#[derive(Debug, Serialize)]
struct Nobody {}

/// No routes.
pub(crate) fn routez(server: &Server, query: &Query) -> Result<Routez, Refusal> {
    query.subs()?;
    Ok(Routez {
        server_id: server.id.clone(),
        server_name: server.name.clone(),
        now: When(server.now),
        num_routes: 0,
        routes: [],
    })
}

/// No gateways.
pub(crate) fn gatewayz(server: &Server, query: &Query) -> Result<Gatewayz, Refusal> {
    query.subs()?;
    query.flag("accs")?;
    Ok(Gatewayz {
        server_id: server.id.clone(),
        now: When(server.now),
        outbound_gateways: Nobody {},
        inbound_gateways: Nobody {},
    })
}

/// No queues, so none with anything in it either.
pub(crate) fn ipqueuesz(query: &Query) -> Result<impl Serialize + use<>, Refusal> {
    query.flag("all")?;
    Ok(Nobody {})
}
