use frond_broker::{Broker, Conn, LinkKind};
use frond_clock::Now;
use frond_config::Config;
use frond_jetstream::JetStream;

use crate::lame_duck::LameDuck;
use crate::node::Ports;
use crate::{Node, StorageLimits};

/// The node as it is now, read-only: what monitoring is made of.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The moment it is looked at.
    pub now: Now,
    /// When the node was built.
    pub started: Now,
    /// The configuration in force.
    pub config: &'a Config,
    /// Connections, subscriptions, links.
    pub broker: &'a Broker,
    /// Streams, when JetStream is on.
    pub streams: Option<StreamsView<'a>>,
    /// Port clients connect to.
    pub client_port: u16,
    /// Port leafnodes connect to; 0: none.
    pub leaf_port: u16,
    /// Port of monitoring; 0: none.
    pub monitor_port: u16,
    /// Port `WebSocket` clients connect to; 0: none.
    pub websocket_port: u16,
    /// The bound port for routes; 0 is none.
    pub route_port: u16,
    /// Where other clusters find this server; `None`: there are no gateways.
    pub gateway: Option<(&'a str, u16)>,
    /// Servers that tell of themselves, besides this one; `None`: it does not listen.
    pub servers_heard: Option<usize>,
    /// Whether clients are led away and nobody new is let in.
    pub is_lame_duck: bool,
}

/// JetStream as it is now.
#[derive(Clone, Copy, Debug)]
pub struct StreamsView<'a> {
    /// The machine.
    pub machine: &'a JetStream,
    /// What it may use, and where.
    pub limits: &'a StorageLimits,
}

impl Node {
    /// How log lines about a connection begin, and what kind of link it carries.
    #[must_use]
    pub fn mark(&self, conn: Conn) -> (String, Option<LinkKind>) {
        self.broker.mark(conn)
    }

    /// What monitoring sees.
    #[must_use]
    pub fn view(&self, now: Now) -> View<'_> {
        let Ports {
            client,
            leaf,
            monitor,
            websocket,
            route,
        } = self.ports;
        View {
            now,
            started: self.started,
            config: &self.config,
            broker: &self.broker,
            streams: self.serving().map(|s| StreamsView {
                machine: &s.machine,
                limits: &s.limits,
            }),
            client_port: client,
            leaf_port: leaf,
            monitor_port: monitor,
            websocket_port: websocket,
            route_port: route,
            gateway: self.gateways.as_ref().map(|it| (&*it.host, it.port)),
            servers_heard: self.servers_heard(now),
            is_lame_duck: !matches!(self.lame_duck, LameDuck::Off),
        }
    }
}
