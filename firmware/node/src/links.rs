use std::net::IpAddr;

use frond_broker::Link;
use frond_config::{Config, LeafNodes, Remote};

/// Makes the link of a remote, or says what is wrong with it.
pub type Soliciting = fn(&Remote, &LeafNodes) -> Result<Box<dyn Link>, String>;

/// Makes the link of an accepted leafnode connection.
pub type Accepting = fn(&LeafListener<'_>) -> Box<dyn Link>;

/// How to make the peers this binary knows. The node itself names no kind of peer.
#[derive(Clone, Copy, Debug)]
pub struct LinkMakers {
    /// A remote of the `leafnodes` block.
    pub solicit: Soliciting,
    /// The accepting end of a leafnode connection; `None`: this binary accepts none.
    pub accept: Option<Accepting>,
    /// Routes; `None`: this binary joins no cluster.
    pub cluster: Option<crate::Clustering>,
    /// Gateways; `None`: this binary meets no other cluster.
    pub gateway: Option<crate::Crossing>,
}

/// What an accepting end has to know.
#[derive(Clone, Copy, Debug)]
pub struct LeafListener<'a> {
    /// The configuration, with its `leafnodes` block.
    pub config: &'a Config,
    /// The bound port.
    pub port: u16,
    /// The address of ours that the leaf called.
    pub called: IpAddr,
    /// The number of this connection.
    pub client_id: u64,
}
