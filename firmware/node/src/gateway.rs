//! The other clusters: where they are met.

use std::fmt;
use std::net::IpAddr;

use frond_broker::{Arrival, Conn, Link, LinkDetail, LinkId};
use frond_clock::Now;
use frond_config::Config;

use crate::Node;

/// Makes the gateways of a server.
pub type Crossing = fn(&GatewaySeed<'_>) -> Gateways;

/// What gateways have to know to begin.
#[derive(Debug)]
pub struct GatewaySeed<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The host that other clusters are told.
    pub host: String,
    /// And the port.
    pub port: u16,
}

/// The gateways of a server.
pub struct Gateways {
    /// To the configured clusters; they dial once they are attached.
    pub dial: Vec<Box<dyn Link>>,
    /// The host that other clusters are told.
    pub host: String,
    /// And the port.
    pub port: u16,
    /// Makes the accepting end of a connection.
    pub accept: Box<dyn Fn() -> Box<dyn Link>>,
}

impl fmt::Debug for Gateways {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Gateways");
        shown.field("dial", &self.dial).finish_non_exhaustive()
    }
}

impl Node {
    /// The shell bound the port for gateways; before that for routes, which tell of it.
    pub fn set_gateway_port(&mut self, now: Now, port: u16) {
        let Some(make) = self.seed.links.gateway else {
            return;
        };
        let (host, port) = self.gateway_place(port);
        let url = match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        let name = self.config.gateway.name.clone().unwrap_or_default();
        self.broker.set_gateway(&name, &url);
        self.gateways = Some(make(&GatewaySeed {
            config: &self.config,
            host,
            port,
        }));
        self.publish_facts(now);
    }

    /// What other clusters are told: what the operator says, else where we listen; an unspecified
    /// address is no place, so the first of this machine's.
    ///
    /// spec: nats-server v2.15.1 server/gateway.go `setGatewayInfoHostPort`
    fn gateway_place(&self, port: u16) -> (String, u16) {
        let gateway = &self.config.gateway;
        if let Some(text) = &gateway.advertise {
            return match text.rsplit_once(':') {
                Some((host, digits)) if digits.parse::<u16>().is_ok() => {
                    let host = host.trim_matches(['[', ']']).to_owned();
                    (host, digits.parse().unwrap_or(port))
                }
                Some(_) | None => (text.clone(), port),
            };
        }
        let listen = gateway.listen.as_ref();
        let host = listen.map_or("", |at| at.host.trim_matches(['[', ']']));
        let anywhere = host.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified());
        let own = self.addresses.first().filter(|_| anywhere);
        (own.map_or_else(|| host.to_owned(), IpAddr::to_string), port)
    }

    pub(crate) fn accept_gateway(&mut self, now: Now, conn: Conn, arrival: Arrival) {
        if let Some(gateways) = &self.gateways {
            let link = (gateways.accept)();
            self.broker.accept(now, conn, arrival, link);
        }
    }

    pub(crate) fn dial_gateways(&mut self, now: Now) {
        let gateways = self.gateways.as_mut();
        let dial = gateways.map(|gateways| std::mem::take(&mut gateways.dial));
        for link in dial.into_iter().flatten() {
            self.broker.attach(now, link);
        }
    }

    /// The cluster that a link leads to, when it is a gateway.
    #[must_use]
    pub fn cluster_of(&self, link: LinkId) -> Option<String> {
        let mut links = self.broker.link_statuses();
        let (_, _, status) = links.find(|(id, _, _)| *id == link)?;
        match status.detail {
            LinkDetail::Gateway(detail) => Some(detail.gateway),
            LinkDetail::Leaf | LinkDetail::Route(_) => None,
        }
    }
}
