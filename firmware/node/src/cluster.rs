//! The servers of this cluster: where they are met, and where clients find them and us.

use std::fmt;
use std::net::IpAddr;

use frond_broker::{Arrival, Conn, Level, Link, LinkKind, ServerUrls};
use frond_clock::{Now, Rng};
use frond_config::{Cluster, Config};

use crate::node::{advertised, fold};
use crate::{Node, Output};

/// Makes the routes of a server.
pub type Clustering = fn(&ClusterSeed<'_>) -> Routes;

/// What routes have to know to begin.
#[derive(Debug)]
pub struct ClusterSeed<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The name of the system account, if there is one.
    pub system: Option<&'a str>,
    /// The bound port.
    pub port: u16,
    /// What the cluster is called when nobody says.
    pub made_up: String,
}

/// The routes of a server.
pub struct Routes {
    /// To the configured servers; they dial once they are attached.
    pub dial: Vec<Box<dyn Link>>,
    /// Makes the accepting end of a connection.
    pub accept: Box<dyn Fn() -> Box<dyn Link>>,
    /// Goes by another configuration from here on.
    pub change: Box<dyn Fn(&ClusterSeed<'_>) -> RouteChange>,
    /// What the cluster is called.
    pub name: String,
    /// Whether that was made up.
    pub is_dynamic: bool,
}

/// What another configuration means for the servers that are dialed.
#[derive(Debug)]
pub struct RouteChange {
    /// Servers that are not to be dialed any more, as the links to them name them.
    pub gone: Vec<String>,
    /// To those that are to be.
    pub dial: Vec<Box<dyn Link>>,
    /// What the cluster is called from here on.
    pub name: String,
    /// Whether that was made up.
    pub is_dynamic: bool,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Routes");
        shown.field("dial", &self.dial).field("name", &self.name);
        shown.finish_non_exhaustive()
    }
}

impl Node {
    /// The shell bound the port for routes.
    pub fn set_route_port(&mut self, now: Now, port: u16) {
        let Some(make) = self.seed.links.cluster else {
            return;
        };
        let routes = make(&self.cluster_seed(port));
        self.ports.route = port;
        self.broker.rename_cluster(&routes.name, routes.is_dynamic);
        self.routes = Some(routes);
        self.publish_facts(now);
    }

    fn cluster_seed(&self, port: u16) -> ClusterSeed<'_> {
        let directory = self.broker.directory();
        let system = directory.account(directory.system_account());
        let system = system.filter(|_| !self.config.no_system_account);
        ClusterSeed {
            config: &self.config,
            system: system.map(|account| &*account.name),
            port,
            made_up: Rng::seeded(fold(&self.seed.random) ^ CLUSTER_SALT).nuid(),
        }
    }

    /// The `cluster` block is another. Routes that are up take over what is different, unless it
    /// is their number or whether they are encrypted: then all end, and those that are wanted now begin.
    ///
    /// spec: nats-server v2.15.1 server/reload.go `clusterOption.Apply`, `reloadClusterPoolAndAccounts`
    pub(crate) fn reload_routes(&mut self, now: Now, former: &Cluster) {
        let is_like = {
            let new = &self.config.cluster;
            former.pool_size == new.pool_size && former.tls.is_some() == new.tls.is_some()
        };
        if is_like {
            self.change_routes(now);
            return self.broker.reconfigured(now, LinkKind::Route);
        }
        self.broker.detach_all(now, LinkKind::Route);
        self.set_route_port(now, self.ports.route);
        self.dial_routes(now);
    }

    /// spec: nats-server v2.15.1 server/reload.go `routesOption.Apply`
    fn change_routes(&mut self, now: Now) {
        let Some(routes) = &self.routes else {
            return;
        };
        let changed = (routes.change)(&self.cluster_seed(self.ports.route));
        let is_renamed = self.broker.facts().cluster != changed.name;
        self.broker
            .rename_cluster(&changed.name, changed.is_dynamic);
        if is_renamed {
            self.outputs.push_back(Output::Log {
                level: Level::Info,
                text: format!("Cluster name updated to {}", changed.name),
            });
        }
        let is_gone = |urls: &[String]| urls.iter().any(|url| changed.gone.contains(url));
        let links = self.broker.link_statuses();
        let links = links.filter(|(_, _, status)| status.kind == "route" && is_gone(&status.urls));
        for link in links.map(|(id, _, _)| id).collect::<Vec<_>>() {
            self.broker.detach(now, link);
        }
        for link in changed.dial {
            self.broker.attach(now, link);
        }
    }

    /// The addresses of this machine that others may know it by.
    pub fn set_addresses(&mut self, addresses: Vec<IpAddr>) {
        self.addresses = addresses;
    }

    pub(crate) fn accept_route(&mut self, now: Now, conn: Conn, arrival: Arrival) {
        if let Some(routes) = &self.routes {
            let link = (routes.accept)();
            self.broker.accept(now, conn, arrival, link);
        }
    }

    pub(crate) fn dial_routes(&mut self, now: Now) {
        let dial = self
            .routes
            .as_mut()
            .map(|routes| std::mem::take(&mut routes.dial));
        for link in dial.into_iter().flatten() {
            self.broker.attach(now, link);
        }
    }

    /// Tells the broker where others find this server.
    ///
    /// spec: nats-server v2.15.1 server/server.go `getConnectURLs`
    pub(crate) fn publish_urls(&mut self) {
        let (host, port) = advertised(&self.config, self.ports.client);
        let socket = &self.config.websocket;
        let websocket = socket.listen.as_ref().map(|at| {
            let advertised = socket.advertise.as_deref();
            shown_at(advertised, &at.host, self.ports.websocket)
        });
        let leafs = &self.config.leafnodes;
        let shown = leafs.listen.as_ref().filter(|_| !leafs.no_advertise);
        let leafnode =
            shown.map(|at| shown_at(leafs.advertise.as_deref(), &at.host, self.ports.leaf));
        let urls = ServerUrls {
            tcp: self.urls_of(&host, port),
            websocket: websocket
                .map(|(host, port)| self.urls_of(&host, port))
                .unwrap_or_default(),
            leafnode: leafnode
                .and_then(|(host, port)| self.urls_of(&host, port).into_iter().next())
                .into_iter()
                .collect(),
        };
        self.broker.set_own_urls(urls);
    }

    /// `host:port`, for an unspecified host each address of this machine: that itself leads whoever
    /// is told of it to itself.
    fn urls_of(&self, host: &str, port: u16) -> Vec<String> {
        let host = host.trim_matches(['[', ']']);
        let anywhere = host.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified());
        let url = |host: &str| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        if anywhere {
            let hosts = self.addresses.iter().map(ToString::to_string);
            return hosts.map(|host| url(&host)).collect();
        }
        vec![url(host)]
    }
}

/// The host and port that an operator says, or those of the listener.
fn shown_at(advertised: Option<&str>, host: &str, port: u16) -> (String, u16) {
    let Some(text) = advertised else {
        return (host.to_owned(), port);
    };
    let split = text.rsplit_once(':');
    let parsed = split.and_then(|(host, digits)| Some((host.to_owned(), digits.parse().ok()?)));
    parsed.unwrap_or_else(|| (text.to_owned(), port))
}

/// Makes the name another than what else is drawn from the same randomness.
const CLUSTER_SALT: u64 = 0x636c_7573_7465_7231;
