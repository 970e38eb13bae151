//! A leaf and its hub, of whatever kinds.

use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;

use crate::binary::Kind;
use crate::server::Server;
use crate::setup::{Setup, free_port};
use crate::wait::wait_for_async;

const BOUND: Duration = Duration::from_secs(20);

/// Which servers are at the ends. Each scenario runs with Frond as leaf, and the last one of these with `frond-hub`.
pub const PAIRS: &[(Kind, Kind)] = &[
    (Kind::Leaf, Kind::Real),
    (Kind::Real, Kind::Hub),
    (Kind::Leaf, Kind::Hub),
];

/// A leaf and its hub.
#[derive(Debug)]
pub struct Link {
    /// Dials the hub.
    pub leaf: Server,
    /// Listens for the leaf.
    pub hub: Server,
    /// Where the leaf and the hub are monitored.
    pub http: [String; 2],
}

impl Link {
    /// A hub and a leaf of these kinds.
    /// `hub_config` and `leaf_config` may hold `$LINK` for the port between them.
    ///
    /// # Panics
    /// When one of them does not start.
    #[must_use]
    pub fn new((leaf, hub): (Kind, Kind), hub_config: &str, leaf_config: &str) -> Self {
        let port = free_port().to_string();
        let http = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
        let config = |name: &str, http: &str, text: &str| {
            let client = free_port();
            Setup::config(&format!(
                "server_name: {name}\nlisten: \"127.0.0.1:{client}\"\nhttp: \"{http}\"\n{}",
                text.replace("$LINK", &port)
            ))
        };
        let hub = Server::start(hub, &config("centre", &http[1], hub_config));
        let leaf = Server::start(leaf, &config("shop", &http[0], leaf_config));
        Self { leaf, hub, http }
    }

    /// With nothing but the link.
    ///
    /// # Panics
    /// When one of them does not start.
    #[must_use]
    pub fn plain(pair: (Kind, Kind)) -> Self {
        Self::new(
            pair,
            "leafnodes { listen: \"127.0.0.1:$LINK\" }\n",
            "leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://127.0.0.1:$LINK\" } ] }\n",
        )
    }
}

/// A client.
///
/// # Panics
/// When it is not let in.
pub async fn connect(server: &Server) -> Client {
    async_nats::connect(server.url()).await.unwrap()
}

/// A client with this user, whose password is the same.
///
/// # Panics
/// When it is not let in.
pub async fn connect_as(server: &Server, user: &str) -> Client {
    let options = ConnectOptions::with_user_and_password(user.into(), user.into());
    options.connect(server.url()).await.unwrap()
}

/// A subscriber that answers each request with its payload; ends with the connection.
///
/// # Panics
/// When the client is gone.
pub async fn echo(client: &Client, subject: &str) {
    let mut requests = client.subscribe(subject.to_owned()).await.unwrap();
    client.flush().await.unwrap();
    let client = client.clone();
    tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            if let Some(reply) = request.reply {
                client.publish(reply, request.payload).await.unwrap();
            }
        }
    });
}

/// A request gets through, sooner or later.
///
/// # Panics
/// When it does not in time.
pub async fn reaches(client: &Client, subject: &'static str) {
    wait_for_async(&format!("an answer to {subject}"), BOUND, async || {
        let request = client.request(subject, "x".into());
        tokio::time::timeout(Duration::from_secs(1), request)
            .await
            .ok()?
            .ok()
            .map(|_| ())
    })
    .await;
}
