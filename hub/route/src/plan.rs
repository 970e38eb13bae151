use core::time::Duration;

use frond_account::{self as account, PeerNames, Permissions, ServerLogin, SubjectRules};
use frond_broker::{Compression, Packing};
use frond_config::{Cluster, Config, Secret};
use frond_wire::SubjectPermission;

use crate::target::Target;

/// What the `cluster` block says, as routes need it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The configured name; `None`: one is made up.
    pub name: Option<String>,
    /// Where this server says that it listens for routes.
    pub host: String,
    /// The port of that.
    pub port: u16,
    /// Whether the operator said where others find it.
    pub advertises: bool,
    /// Servers to dial.
    pub targets: Vec<Target>,
    /// Connections to each server that the accounts share; `None`: no pool, one connection.
    pub pool_size: Option<u32>,
    /// Accounts with a connection of their own.
    pub pinned: Vec<String>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    /// What a dialing server has to show.
    pub(crate) login: ServerLogin,
    /// How long a dialing server may take to say who it is.
    pub auth_timeout: Duration,
    pub(crate) permissions: Option<Permissions>,
    /// Clients are not told of other servers, nor others of where clients find this one.
    pub no_advertise: bool,
    /// Further attempts to dial a server that was only heard of; 0: for as long as is sensible.
    pub connect_retries: u64,
    /// Attempts to dial a configured server get rarer.
    pub connect_backoff: bool,
    /// Between two pings.
    pub ping_interval: Duration,
    /// Unanswered pings before a route is closed.
    pub pings_outstanding_max: u32,
    /// How much routes are compressed.
    pub compression: Compression,
    /// Whether routes are encrypted.
    pub tls: bool,
    /// Whether messages of clients may have headers.
    pub headers: bool,
}

impl Plan {
    /// Of a configuration; `system` is the name of the system account, if there is one, and
    /// `port` the bound port.
    #[must_use]
    pub fn configured(config: &Config, system: Option<&str>, port: u16) -> Self {
        let cluster = &config.cluster;
        let password = cluster.authorization.password.as_ref();
        let listen = cluster.listen.as_ref();
        let (host, port) = advertised(cluster, port);
        let ping_max = cluster.ping_max.unwrap_or(config.ping_max);
        Self {
            name: config.cluster_name().map(str::to_owned),
            host: host.unwrap_or_else(|| listen.map(|at| at.host.clone()).unwrap_or_default()),
            port,
            advertises: cluster.advertise.is_some(),
            targets: cluster.routes.iter().map(Target::configured).collect(),
            pool_size: cluster.pool_size,
            pinned: cluster.pinned_accounts(system),
            user: cluster.authorization.user.clone(),
            password: password.cloned(),
            login: ServerLogin {
                user: cluster.authorization.user.clone(),
                secret: password.map(|password| account::Secret::new(password.expose())),
                by_certificate: by_certificate(cluster),
            },
            auth_timeout: cluster.authorization.timeout,
            permissions: cluster.permissions.as_ref().map(|given| Permissions {
                publish: rules(&given.import),
                subscribe: rules(&given.export),
                allow_responses: None,
            }),
            no_advertise: cluster.no_advertise,
            connect_retries: cluster.connect_retries,
            connect_backoff: cluster.connect_backoff,
            ping_interval: cluster.ping_interval(config.ping_interval),
            pings_outstanding_max: u32::try_from(ping_max).unwrap_or(u32::MAX),
            compression: compression(&cluster.compression),
            tls: cluster.tls.is_some(),
            headers: !config.no_header_support,
        }
    }

    /// Whether callers have to show the same as by another plan.
    pub(crate) fn asks_as(&self, other: &Self) -> bool {
        (&self.user, &self.password) == (&other.user, &other.password)
            && self.login.by_certificate == other.login.by_certificate
    }

    /// Who this server is to another of the cluster, when nobody says.
    pub(crate) fn introduce(&self, target: &mut Target) {
        target.user = self.user.clone().unwrap_or_default();
        target.password.clone_from(&self.password);
    }

    /// Whether this server tells others of interest in `subject`.
    pub(crate) fn may_import(&self, subject: &str) -> bool {
        let rules = self.permissions.as_ref();
        rules.is_none_or(|rules| rules.may_publish(subject))
    }

    /// Whether others may be interested in `subject`.
    pub(crate) fn may_export(&self, subject: &str) -> bool {
        let rules = self.permissions.as_ref();
        rules.is_none_or(|rules| rules.may_subscribe(subject, None))
    }

    /// What of that is said in `INFO`: what we take, and what we give.
    pub(crate) fn told(&self) -> (Option<SubjectPermission>, Option<SubjectPermission>) {
        let told = |rules: &SubjectRules| {
            let strings = |list: &[Box<str>]| list.iter().map(|s| String::from(&**s)).collect();
            SubjectPermission {
                allow: strings(&rules.allow),
                deny: strings(&rules.deny),
            }
        };
        let rules = self.permissions.as_ref();
        (
            rules.map(|rules| told(&rules.publish)),
            rules.map(|rules| told(&rules.subscribe)),
        )
    }
}

fn by_certificate(cluster: &Cluster) -> Option<PeerNames> {
    let tls = cluster.tls.as_ref();
    let tls = tls.filter(|tls| tls.map || tls.check_known_urls)?;
    let user = cluster.authorization.user.clone();
    let hosts = || cluster.routes.iter().map(|url| url.host.clone()).collect();
    Some(PeerNames {
        user: user.filter(|_| tls.map),
        hosts: if tls.check_known_urls {
            hosts()
        } else {
            Vec::new()
        },
    })
}

fn compression(given: &frond_config::Compression) -> Compression {
    use frond_config::Compression as Given;
    match given {
        Given::NotSupported => Compression::NotSupported,
        Given::Off => Compression::Off,
        Given::Accept => Compression::Accept,
        Given::Fast => Compression::Fixed(Packing::Fast),
        Given::Better => Compression::Fixed(Packing::Better),
        Given::Best => Compression::Fixed(Packing::Best),
        Given::Auto(steps) => Compression::Auto(steps.clone()),
    }
}

/// An allow list that is given and empty allows nothing.
fn rules(given: &frond_config::SubjectRules) -> SubjectRules {
    let strings = |rules: &[frond_config::SubjectRule]| -> Vec<Box<str>> {
        rules
            .iter()
            .map(|rule| rule.subject.as_str().into())
            .collect()
    };
    let mut deny = strings(&given.deny);
    let allow = given.allow.as_deref().map(strings);
    if allow.as_ref().is_some_and(Vec::is_empty) {
        deny.push(">".into());
    }
    SubjectRules {
        allow: allow.unwrap_or_default(),
        deny,
    }
}

/// The host and port that others are told, when the operator says one.
fn advertised(cluster: &Cluster, port: u16) -> (Option<String>, u16) {
    let Some(text) = &cluster.advertise else {
        return (None, port);
    };
    match text.rsplit_once(':') {
        Some((host, digits)) if digits.parse::<u16>().is_ok() => {
            let host = host.trim_matches(['[', ']']).to_owned();
            (Some(host), digits.parse().unwrap_or(port))
        }
        Some(_) | None => (Some(text.clone()), port),
    }
}
