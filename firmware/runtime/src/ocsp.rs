//! Whether certificates are still good: asked of who made them, off the thread that carries
//! messages.
//!
//! Two things: our own certificates are shown with an answer about them ([`Staple`]), and those of
//! peers are asked about while they shake hands ([`PeerCheck`]).

mod ask;
mod cache;
mod desk;
mod peers;
mod proof;
mod responders;
mod staple;
mod words;

use std::rc::Rc;

use frond_config::{Config, OcspCache};
use frond_node::{Input, OcspNews};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel};

use crate::core::Core;
use crate::limits::OCSP_NEWS_MAX;
use crate::signals::Order;

pub(crate) use cache::Cache;
pub(crate) use desk::Desk;
pub(crate) use peers::{End, Extra, PeerCheck, Refusal};
pub(crate) use responders::Responders;
pub(crate) use staple::{Keeper, Staple, wanted};

/// What the core is to hear.
#[derive(Debug)]
pub(crate) enum News {
    /// Of a peer.
    Peer(Box<OcspNews>),
    /// A certificate of ours was taken back, and the server is to end for it.
    End,
}

/// Where that is told; what nobody takes in time is lost.
#[derive(Clone, Debug)]
pub(crate) struct Teller(Sender<News>);

impl Teller {
    /// With the end at which it is heard.
    pub(crate) fn new() -> (Self, Receiver<News>) {
        let (sender, receiver) = channel(OCSP_NEWS_MAX);
        (Self(sender), receiver)
    }

    pub(crate) fn tell_of(&self, peer: OcspNews) {
        self.tell(News::Peer(Box::new(peer)));
    }

    pub(crate) fn tell(&self, news: News) {
        let _ = self.0.try_send(news);
    }
}

/// The cache that a configuration wants: none unless peers are asked about.
pub(crate) fn cache_rules(config: &Config) -> Option<OcspCache> {
    asks(config).then(|| config.ocsp_cache.clone().unwrap_or_default())
}

/// Whether any peers are asked about.
pub(crate) fn asks(config: &Config) -> bool {
    let remotes = config.leafnodes.remotes.iter();
    let blocks = remotes.filter_map(|remote| remote.tls.as_ref());
    let blocks = blocks
        .chain(&config.tls)
        .chain(&config.leafnodes.tls)
        .chain(&config.websocket.tls);
    let mut peers = blocks.filter_map(|tls| tls.ocsp_peer.as_ref());
    peers.any(|peer| peer.verify)
}

/// Hears what is found out about certificates.
pub(crate) async fn attend(
    core: Rc<Core>,
    mut news: Receiver<News>,
    orders: UnboundedSender<Order>,
) {
    while let Some(one) = news.recv().await {
        match one {
            News::Peer(peer) => core.handle(Input::Ocsp(*peer)),
            News::End => drop(orders.send(Order::End)),
        }
    }
}
