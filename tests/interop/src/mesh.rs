//! Servers of one cluster, of whatever kinds.

use std::time::Duration;

use serde_json::Value;

use crate::binary::Kind;
use crate::http::http_get;
use crate::server::Server;
use crate::setup::{Setup, free_port};
use crate::wait::wait_for;

const BOUND: Duration = Duration::from_secs(20);

/// Servers that know only the first one of them.
#[derive(Debug)]
pub struct Mesh {
    /// In order.
    pub servers: Vec<Server>,
    /// Where each is monitored.
    pub http: Vec<String>,
    /// Where each listens for routes.
    pub ports: Vec<u16>,
}

impl Mesh {
    /// A server of each kind, called `s0`, `s1` and so on; `cluster` goes into each `cluster` block, `more` beside it.
    ///
    /// # Panics
    /// When one of them does not start.
    #[must_use]
    pub fn new(kinds: &[Kind], cluster: &str, more: &str) -> Self {
        Self::of(kinds, |_| (cluster.to_owned(), more.to_owned()))
    }

    /// The same, with other words for each.
    ///
    /// # Panics
    /// When one of them does not start.
    #[must_use]
    pub fn of(kinds: &[Kind], words: impl Fn(usize) -> (String, String)) -> Self {
        let ports: Vec<u16> = kinds.iter().map(|_| free_port()).collect();
        let http: Vec<String> = kinds
            .iter()
            .map(|_| format!("127.0.0.1:{}", free_port()))
            .collect();
        let start = |(at, kind): (usize, &Kind)| {
            let (cluster, more) = words(at);
            let cluster = cluster.replace("$SEED", &ports[0].to_string());
            let routes = if cluster.contains("routes") {
                String::new()
            } else {
                format!("routes: [ \"nats://127.0.0.1:{}\" ]", ports[0])
            };
            let name = if cluster.contains("name:") {
                ""
            } else {
                "name: C1"
            };
            let text = format!(
                "server_name: s{at}\nlisten: \"127.0.0.1:{}\"\nhttp: \"{}\"\n\
                 cluster {{ {name}\nlisten: \"127.0.0.1:{}\"\n{routes}\n{cluster}\n}}\n{more}\n",
                free_port(),
                http[at],
                ports[at],
            );
            Server::start(*kind, &Setup::config(&text))
        };
        let servers = kinds.iter().enumerate().map(start).collect();
        Self {
            servers,
            http,
            ports,
        }
    }

    /// Waits until each has a route to each other one that runs.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn meshed(&self) {
        let all: Vec<usize> = (0..self.servers.len()).collect();
        self.meshed_among(&all);
    }

    /// Waits until each of these has routes to exactly the others of these.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn meshed_among(&self, members: &[usize]) {
        for at in members {
            let mut wanted: Vec<String> = members
                .iter()
                .filter(|other| *other != at)
                .map(|other| format!("s{other}"))
                .collect();
            wanted.sort();
            wait_for(&format!("s{at} knows {wanted:?}"), BOUND, || {
                (self.known(*at) == wanted).then_some(())
            });
        }
    }

    /// The names of the servers that this one has routes to.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn known(&self, at: usize) -> Vec<String> {
        let mut names: Vec<String> = self
            .routes(at)
            .iter()
            .filter_map(|route| Some(route["remote_name"].as_str()?.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The rows of `/routez`.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn routes(&self, at: usize) -> Vec<Value> {
        let (_, body) = http_get(&self.http[at], "/routez?subs=1");
        let routez: Value = serde_json::from_str(&body).expect("JSON");
        routez["routes"].as_array().cloned().unwrap_or_default()
    }

    /// A document of monitoring.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn look(&self, at: usize, path: &str) -> Value {
        let (_, body) = http_get(&self.http[at], path);
        serde_json::from_str(&body).expect("JSON")
    }

    /// Gives one of them another configuration, and waits until it goes by that.
    ///
    /// # Panics
    /// When it does not in time.
    pub fn reload(&self, at: usize, config: &str) {
        let former = self.look(at, "/varz")["config_load_time"].clone();
        self.servers[at].reload(config);
        wait_for("the reload", BOUND, || {
            (self.look(at, "/varz")["config_load_time"] != former).then_some(())
        });
    }

    /// Waits until this one knows interest in `subject` from the others.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn hears_of(&self, at: usize, subject: &str) {
        self.hears_from(at, 1, subject);
    }

    /// Waits until it knows of it from so many connections.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn hears_from(&self, at: usize, count: usize, subject: &str) {
        wait_for(&format!("s{at} hears of {subject}"), BOUND, || {
            let telling = self.routes(at).into_iter().filter(|route| {
                let list = route["subscriptions_list"].as_array();
                list.is_some_and(|list| list.iter().any(|one| one == subject))
            });
            (telling.count() >= count).then_some(())
        });
    }
}
