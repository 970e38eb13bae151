use core::time::Duration;

use frond_config::{Config, Secret};
use frond_wire::RouteConnect;

use crate::limits::PING_INTERVAL_MAX;
use crate::target::Target;

/// What the `gateway` block says, as gateways need it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of this cluster among the clusters.
    pub name: String,
    /// Where this server says that it listens for gateways.
    pub host: String,
    /// The port of that.
    pub port: u16,
    /// Other clusters by name, with where their servers are.
    pub remotes: Vec<(String, Vec<Target>)>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    /// How long a dialing server may take to say who it is.
    pub auth_timeout: Duration,
    /// Only configured clusters count.
    pub reject_unknown: bool,
    /// Further attempts to dial a cluster that was only heard of.
    pub connect_retries: u64,
    /// Attempts to dial a configured cluster get rarer.
    pub connect_backoff: bool,
    /// Between two pings.
    pub ping_interval: Duration,
    /// Unanswered pings before a gateway is closed.
    pub pings_outstanding_max: u32,
    /// Whether those who call must encrypt.
    pub tls: bool,
    /// Configured clusters that are encrypted by a block of their own.
    pub(crate) own_tls: Vec<String>,
    /// Whether messages of clients may have headers.
    pub headers: bool,
}

impl Plan {
    /// Of a configuration; `host` and `port` are what others are told.
    #[must_use]
    pub fn configured(config: &Config, host: String, port: u16) -> Self {
        let gateway = &config.gateway;
        let name = gateway.name.clone().unwrap_or_default();
        // This cluster's own entry is no other cluster: one file may serve all.
        let others = gateway.gateways.iter().filter(|one| one.name != name);
        Self {
            remotes: others
                .clone()
                .map(|one| {
                    let urls = one.urls.iter().map(Target::configured).collect();
                    (one.name.clone(), urls)
                })
                .collect(),
            own_tls: others
                .filter(|one| one.tls.is_some())
                .map(|one| one.name.clone())
                .collect(),
            name,
            host,
            port,
            user: gateway.authorization.user.clone(),
            password: gateway.authorization.password.clone(),
            auth_timeout: gateway.authorization.timeout,
            reject_unknown: gateway.reject_unknown,
            connect_retries: gateway.connect_retries,
            connect_backoff: gateway.connect_backoff,
            ping_interval: config.ping_interval.min(PING_INTERVAL_MAX),
            pings_outstanding_max: u32::try_from(config.ping_max).unwrap_or(u32::MAX),
            tls: gateway.tls.is_some(),
            headers: !config.no_header_support,
        }
    }

    pub(crate) const fn requires_user(&self) -> bool {
        self.user.is_some()
    }

    /// Whether a dialing server is who may.
    pub(crate) fn lets_in(&self, connect: &RouteConnect) -> bool {
        let Some(user) = &self.user else {
            return true;
        };
        let password = self.password.as_ref().map_or("", Secret::expose);
        *user == connect.user && is_equal(password, &connect.pass)
    }

    pub(crate) fn names(&self, cluster: &str) -> bool {
        self.remotes.iter().any(|(name, _)| name == cluster)
    }

    /// Whether a cluster is dialed with TLS.
    pub(crate) fn encrypts(&self, cluster: &str) -> bool {
        self.tls || self.own_tls.iter().any(|name| name == cluster)
    }
}

/// Takes as long whatever differs.
fn is_equal(a: &str, b: &str) -> bool {
    let pairs = a.bytes().zip(b.bytes());
    let differing = pairs.fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differing == 0
}
