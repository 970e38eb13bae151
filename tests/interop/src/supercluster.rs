//! Clusters of one or more servers each, joined by gateways, of whatever kinds.

use std::time::Duration;

use serde_json::Value;

use crate::binary::Kind;
use crate::http::http_get;
use crate::server::Server;
use crate::setup::{Setup, free_port};
use crate::wait::wait_for;

const BOUND: Duration = Duration::from_secs(30);

/// Clusters called `C0`, `C1` and so on, of servers called `c0s0`, `c0s1` and so on.
#[derive(Debug)]
pub struct Supercluster {
    /// By cluster, in order.
    pub clusters: Vec<Vec<Server>>,
    /// Where each is monitored.
    pub http: Vec<Vec<String>>,
    /// Where each listens for gateways.
    pub ports: Vec<Vec<u16>>,
}

/// What a server is told beyond that.
#[derive(Debug, Default, Clone)]
pub struct Words {
    /// Into the `gateway` block.
    pub gateway: String,
    /// Which clusters it knows from the start; `None`: all, itself too.
    pub knows: Option<Vec<usize>>,
    /// Into their entries.
    pub entry: String,
    /// Before the host in their urls.
    pub user: String,
    /// Beside the blocks.
    pub more: String,
}

impl Supercluster {
    /// Servers of these kinds that know the first server of each cluster.
    ///
    /// # Panics
    /// When one of them does not start.
    #[must_use]
    pub fn new(kinds: &[&[Kind]]) -> Self {
        Self::of(kinds, |_| Words::default())
    }

    /// The same, with words for each cluster.
    ///
    /// # Panics
    /// When one of them does not start.
    #[must_use]
    pub fn of(kinds: &[&[Kind]], words: impl Fn(usize) -> Words) -> Self {
        let each = |make: &dyn Fn() -> u16| -> Vec<Vec<u16>> {
            let clusters = kinds.iter();
            clusters
                .map(|cluster| cluster.iter().map(|_| make()).collect())
                .collect()
        };
        let ports = each(&free_port);
        let routes = each(&free_port);
        let http: Vec<Vec<String>> = each(&free_port)
            .iter()
            .map(|cluster| {
                let places = cluster.iter();
                places.map(|port| format!("127.0.0.1:{port}")).collect()
            })
            .collect();
        let start = |c: usize, s: usize, kind: Kind| {
            let words = words(c);
            let known = words.knows.unwrap_or_else(|| (0..kinds.len()).collect());
            let remotes: String = known
                .iter()
                .map(|to| {
                    let (port, user, entry) = (ports[*to][0], &words.user, &words.entry);
                    format!("{{ name: C{to}, url: \"nats://{user}127.0.0.1:{port}\"\n{entry} }}\n")
                })
                .collect();
            let cluster = if kinds[c].len() > 1 {
                format!(
                    "cluster {{ name: C{c}, listen: \"127.0.0.1:{}\", routes: [ \"nats://127.0.0.1:{}\" ] }}\n",
                    routes[c][s], routes[c][0]
                )
            } else {
                String::new()
            };
            let text = format!(
                "server_name: c{c}s{s}\nlisten: \"127.0.0.1:{}\"\nhttp: \"{}\"\n{cluster}\
                 gateway {{ name: C{c}, listen: \"127.0.0.1:{}\"\n{}\ngateways: [ {remotes} ] }}\n{}\n",
                free_port(),
                http[c][s],
                ports[c][s],
                words.gateway,
                words.more,
            );
            Server::start(kind, &Setup::config(&text))
        };
        let clusters = kinds.iter().enumerate().map(|(c, cluster)| {
            let servers = cluster.iter().enumerate();
            servers.map(|(s, kind)| start(c, s, *kind)).collect()
        });
        Self {
            clusters: clusters.collect(),
            http,
            ports,
        }
    }

    /// Waits until each server has its way to each other cluster.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn joined(&self) {
        for (c, cluster) in self.clusters.iter().enumerate() {
            let all = 0..self.clusters.len();
            let wanted: Vec<String> = all
                .filter(|other| *other != c)
                .map(|other| format!("C{other}"))
                .collect();
            for s in 0..cluster.len() {
                wait_for(&format!("c{c}s{s} reaches {wanted:?}"), BOUND, || {
                    (self.reached(c, s) == wanted).then_some(())
                });
            }
        }
    }

    /// The clusters that a server has its way to.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn reached(&self, c: usize, s: usize) -> Vec<String> {
        let gatewayz = self.look(c, s, "/gatewayz");
        let outbound = gatewayz["outbound_gateways"].as_object();
        outbound.map_or_else(Vec::new, |outbound| outbound.keys().cloned().collect())
    }

    /// A document of monitoring.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn look(&self, c: usize, s: usize, path: &str) -> Value {
        let (_, body) = http_get(&self.http[c][s], path);
        serde_json::from_str(&body).expect("JSON")
    }

    /// Messages that a server sent to another cluster.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn sent(&self, (c, s): (usize, usize), to: usize) -> u64 {
        let gatewayz = self.look(c, s, "/gatewayz");
        let connection = &gatewayz["outbound_gateways"][format!("C{to}")]["connection"];
        connection["out_msgs"].as_u64().unwrap_or_default()
    }

    /// Waits until a server knows that another cluster wants `subject`, or no longer does.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn knows(&self, (c, s): (usize, usize), to: usize, subject: &str, wants: bool) {
        let what = format!("c{c}s{s} knows whether C{to} wants {subject}: {wants}");
        wait_for(&what, BOUND, || {
            let gatewayz = self.look(c, s, "/gatewayz?accs=1&subs=1");
            let remote = &gatewayz["outbound_gateways"][format!("C{to}")];
            let accounts = remote["accounts"].as_array();
            let lists = accounts.into_iter().flatten().flat_map(|account| {
                let list = account["subscriptions_list"].as_array();
                list.into_iter().flatten()
            });
            let known = lists.filter_map(Value::as_str).any(|one| one == subject);
            (known == wants).then_some(())
        });
    }
}
