//! Two servers and what is between them.

use interop::{Kind, Server, Setup, free_port};

use crate::carrier::Carrier;
use crate::core_load::{Flow, flow_between};
use crate::measure::Sample;

/// The way of a message from one server to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From a leafnode up.
    LeafToHub,
    /// From the hub down.
    HubToLeaf,
    /// Within a cluster.
    Route,
    /// From one cluster to another.
    Gateway,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::LeafToHub, Self::HubToLeaf, Self::Route, Self::Gateway];

    /// What the report calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeafToHub => "leaf to hub",
            Self::HubToLeaf => "hub to leaf",
            Self::Route => "route A to B",
            Self::Gateway => "gateway A to B",
        }
    }
}

/// A publisher at one end of this way, subscribers at the other; both servers' time counts.
///
/// # Panics
/// When a server loses a connection.
#[must_use]
pub fn across(way: Way, is_real: bool, flow: Flow, messages: u64) -> Sample {
    let (leaf, hub) = match is_real {
        true => (Kind::Real, Kind::Real),
        false => (Kind::Leaf, Kind::Hub),
    };
    let start = |kind, config: String| {
        let config = format!("listen: \"127.0.0.1:-1\"\n{config}");
        Server::start(kind, &Setup::config(&config))
    };
    let (one, other) = (free_port(), free_port());
    let at = |port: u16| format!("\"127.0.0.1:{port}\"");
    let (near, far) = match way {
        Way::LeafToHub | Way::HubToLeaf => {
            let far = start(hub, format!("leafnodes {{ listen: {} }}", at(one)));
            let url = format!("nats-leaf://127.0.0.1:{one}");
            let near = start(
                leaf,
                format!("leafnodes {{ remotes: [ {{ url: \"{url}\" }} ] }}"),
            );
            (near, far)
        }
        Way::Route => {
            let block = |own: u16| {
                format!(
                    "cluster {{ name: c, listen: {}, routes: [ \"nats://127.0.0.1:{one}\" ] }}",
                    at(own)
                )
            };
            let far = start(hub, format!("server_name: b\n{}", block(one)));
            let near = start(hub, format!("server_name: a\n{}", block(other)));
            (near, far)
        }
        Way::Gateway => {
            let remotes = format!(
                "[ {{ name: A, url: \"nats://127.0.0.1:{other}\" }}, \
                 {{ name: B, url: \"nats://127.0.0.1:{one}\" }} ]"
            );
            let block = |name: &str, own: u16| {
                let at = at(own);
                format!(
                    "server_name: {name}\ngateway {{ name: {name}, listen: {at}, gateways: {remotes} }}"
                )
            };
            let far = start(hub, block("B", one));
            let near = start(hub, block("A", other));
            (near, far)
        }
    };
    let servers = match way {
        Way::HubToLeaf => [&far, &near],
        Way::LeafToHub | Way::Route | Way::Gateway => [&near, &far],
    };
    flow_between(&servers, &Carrier::Plain, flow, messages)
}
