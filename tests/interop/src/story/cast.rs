//! The servers of the story and the ways to them.

use std::time::Duration;

use async_nats::jetstream::{self, Context, consumer, stream};
use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;

use crate::binary::Kind;
use crate::server::Server;
use crate::setup::{Setup, free_port};

const BOUND: Duration = Duration::from_secs(20);

/// A leaf and a hub; either may not have been started yet.
#[derive(Debug)]
pub struct Cast {
    kinds: (Kind, Kind),
    setups: (Setup, Setup),
    leaf: Option<Server>,
    hub: Option<Server>,
}

impl Cast {
    /// Both servers with their configurations, not started.
    #[must_use]
    pub fn new(leaf: Kind, hub: Kind) -> Self {
        let link = free_port();
        let server = |name: &str, domain: &str| {
            format!(
                "server_name: {name}\nlisten: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"$DIR/js\", domain: {domain} }}\n",
                free_port()
            )
        };
        let remote = format!(
            "leafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://127.0.0.1:{link}\" }} ] }}\n"
        );
        let listener = format!("leafnodes {{ listen: \"127.0.0.1:{link}\" }}\n");
        let setups = (
            Setup::config(&(server("shop", "shop-1") + &remote)),
            Setup::config(&(server("centre", "hub") + &listener)),
        );
        Self {
            kinds: (leaf, hub),
            setups,
            leaf: None,
            hub: None,
        }
    }

    pub(crate) fn start_leaf(&mut self) {
        self.leaf = Some(Server::start(self.kinds.0, &self.setups.0));
    }

    pub(crate) fn start_hub(&mut self) {
        self.hub = Some(Server::start(self.kinds.1, &self.setups.1));
    }

    pub(crate) fn restart_leaf(&mut self) {
        self.leaf().restart();
    }

    pub(crate) fn restart_hub(&mut self) {
        self.hub().restart();
    }

    pub(crate) fn leaf(&mut self) -> &mut Server {
        self.leaf.as_mut().expect("the leaf has been started")
    }

    pub(crate) fn hub(&mut self) -> &mut Server {
        self.hub.as_mut().expect("the hub has been started")
    }

    pub(crate) fn leaf_url(&self) -> String {
        self.leaf.as_ref().expect("the leaf has been started").url()
    }

    pub(crate) fn hub_url(&self) -> String {
        self.hub.as_ref().expect("the hub has been started").url()
    }

    pub(crate) async fn leaf_orders(&self) -> Orders {
        Orders {
            context: context(&self.leaf_url()).await,
            stream: "ORDERS",
        }
    }

    pub(crate) async fn hub_orders(&self) -> Orders {
        Orders {
            context: context(&self.hub_url()).await,
            stream: "ALL_ORDERS",
        }
    }
}

/// A client that keeps trying.
pub(crate) async fn client(url: &str) -> Client {
    let options = ConnectOptions::new()
        .retry_on_initial_connect()
        .reconnect_delay_callback(|_| Duration::from_millis(50))
        .request_timeout(Some(Duration::from_secs(2)));
    tokio::time::timeout(BOUND, options.connect(url))
        .await
        .expect("connected in time")
        .expect("connected")
}

pub(crate) async fn context(url: &str) -> Context {
    let mut context = jetstream::new(client(url).await);
    context.set_timeout(Duration::from_secs(2));
    context
}

/// A stream of orders, at the leaf or at the hub.
#[derive(Debug)]
pub struct Orders {
    context: Context,
    stream: &'static str,
}

impl Orders {
    /// Creates the leaf's stream, or the hub's that sources it.
    pub(crate) async fn create(&self, source: Option<&str>) {
        let mut config = stream::Config {
            name: self.stream.to_owned(),
            ..stream::Config::default()
        };
        match source {
            None => config.subjects = vec!["orders.*".to_owned()],
            Some(api) => {
                let external = stream::External {
                    api_prefix: api.to_owned(),
                    delivery_prefix: None,
                };
                let source = stream::Source {
                    name: "ORDERS".to_owned(),
                    external: Some(external),
                    ..stream::Source::default()
                };
                config.sources = Some(vec![source]);
            }
        }
        self.context
            .create_stream(config)
            .await
            .expect("the stream is created");
    }

    /// How many messages the stream holds; nothing while it can't say.
    pub(crate) async fn count(&self) -> Option<u64> {
        let mut stream = self.context.get_stream(self.stream).await.ok()?;
        Some(stream.info().await.ok()?.state.messages)
    }

    /// Every order in the stream's own order.
    pub(crate) async fn read(&self) -> Vec<(u32, u64)> {
        let stream = self
            .context
            .get_stream(self.stream)
            .await
            .expect("the stream is there");
        let config = consumer::pull::Config {
            ack_policy: consumer::AckPolicy::None,
            ..Default::default()
        };
        let consumer = stream.create_consumer(config).await.expect("a consumer");
        let mut left = usize::try_from(self.count().await.expect("a count")).expect("a count");
        let mut orders = Vec::new();
        while left > 0 {
            let mut batch = consumer
                .fetch()
                .max_messages(left.min(1000))
                .expires(BOUND)
                .messages()
                .await
                .expect("a pull");
            let before = left;
            while let Some(message) = batch.next().await {
                orders.push(order(&message.expect("a message").payload));
                left -= 1;
            }
            assert!(
                left < before,
                "the stream gave nothing more with {left} orders still to come"
            );
        }
        orders
    }
}

/// `till number` is all an order says.
fn order(payload: &[u8]) -> (u32, u64) {
    let text = std::str::from_utf8(payload).expect("an order is text");
    let (till, number) = text.split_once(' ').expect("an order has two words");
    (
        till.parse().expect("a till"),
        number.parse().expect("a number"),
    )
}
