use core::time::Duration;

use frond_account::{self as account, PeerNames, ServerLogin};
use frond_config::{Config, Gateway, Secret};

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
    /// What a dialing server has to show.
    pub(crate) login: ServerLogin,
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
        let password = gateway.authorization.password.as_ref();
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
            password: password.cloned(),
            login: ServerLogin {
                user: gateway.authorization.user.clone(),
                secret: password.map(|password| account::Secret::new(password.expose())),
                by_certificate: by_certificate(gateway),
            },
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

    pub(crate) fn names(&self, cluster: &str) -> bool {
        self.remotes.iter().any(|(name, _)| name == cluster)
    }

    /// Whether a cluster is dialed with TLS.
    pub(crate) fn encrypts(&self, cluster: &str) -> bool {
        self.tls || self.own_tls.iter().any(|name| name == cluster)
    }
}

fn by_certificate(gateway: &Gateway) -> Option<PeerNames> {
    let tls = gateway.tls.as_ref();
    let tls = tls.filter(|tls| tls.map || tls.check_known_urls)?;
    let user = gateway.authorization.user.clone();
    let hosts = || {
        gateway
            .gateways
            .iter()
            .flat_map(|one| &one.urls)
            .map(|url| url.host.clone())
            .collect()
    };
    Some(PeerNames {
        user: user.filter(|_| tls.map),
        hosts: if tls.check_known_urls {
            hosts()
        } else {
            Vec::new()
        },
    })
}
