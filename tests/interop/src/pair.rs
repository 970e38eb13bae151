//! A leaf in the domain `shop` and its hub in the domain `hub`, both with streams.

use std::time::Duration;

use async_nats::{Client, connect};
use serde_json::{Value, json};

use crate::binary::Kind;
use crate::server::Server;
use crate::setup::{Setup, free_port};
use crate::streams::with;
use crate::wait::wait_for_async;

const LINK_BOUND: Duration = Duration::from_secs(60);

/// The two servers.
#[derive(Debug)]
pub struct Pair {
    /// Dials the hub.
    pub leaf: Server,
    /// Listens for the leaf.
    pub hub: Server,
}

impl Pair {
    /// Starts a leaf and a hub of these kinds.
    ///
    /// # Panics
    /// When one of them does not start.
    #[must_use]
    pub fn new(kinds: (Kind, Kind)) -> Self {
        let link = free_port();
        Self::through(kinds, link, link)
    }

    /// The leaf dials another port than the hub listens on: that of a proxy, and the one it is told of, so that it
    /// never dials past it.
    ///
    /// # Panics
    /// When one of them does not start.
    #[must_use]
    pub fn through((leaf, hub): (Kind, Kind), dialled: u16, link: u16) -> Self {
        let accepts = format!(
            "leafnodes {{ listen: \"127.0.0.1:{link}\", advertise: \"127.0.0.1:{dialled}\" }}"
        );
        let dials = format!(
            "leafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://127.0.0.1:{dialled}\" }} ] }}"
        );
        let hub = Server::start(hub, &Self::setup("hub", &accepts));
        let leaf = Server::start(leaf, &Self::setup("shop", &dials));
        Self { leaf, hub }
    }

    /// A server of this domain that keeps its port when it starts again.
    #[must_use]
    pub fn setup(domain: &str, more: &str) -> Setup {
        let client = free_port();
        Setup::config(&format!(
            "server_name: {domain}\nlisten: \"127.0.0.1:{client}\"\n\
             jetstream {{ store_dir: \"$DIR/js\", domain: {domain} }}\n{more}\n"
        ))
    }

    /// Clients of the leaf and of the hub.
    ///
    /// # Panics
    /// When one of them is not there.
    pub async fn clients(&self) -> (Client, Client) {
        let leaf = connect(self.leaf.url()).await.expect("the leaf");
        let hub = connect(self.hub.url()).await.expect("the hub");
        (leaf, hub)
    }
}

/// A stream of another domain as an origin, with `more` in its description.
///
/// # Panics
/// When `more` has no members.
#[must_use]
pub fn from(domain: &str, name: &str, more: &Value) -> Value {
    let external = json!({"api": format!("$JS.{domain}.API")});
    with(json!({"name": name, "external": external}), more)
}

/// Waits until the leaf's domain answers a client of the hub.
///
/// # Panics
/// When it does not in time.
pub async fn linked(hub: &Client) {
    wait_for_async("the link", LINK_BOUND, async || {
        hub.request("$JS.shop.API.INFO", "".into()).await.ok()
    })
    .await;
}
