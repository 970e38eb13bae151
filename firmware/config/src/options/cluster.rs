mod flags;

use crate::limits::ROUTE_PING_SECONDS_MAX;
use crate::options::compression::Compression;
use crate::options::peers::{self, PeerAuthorization};
use crate::options::permissions::{self, Permissions, SubjectRules};
use crate::options::server::{Listen, WriteTimeout, write_timeout};
use crate::options::tls::{Side, Tls};
use crate::options::url::RemoteUrl;
use crate::position::Position;
use crate::report::{Port, Report, set};
use crate::unsupported::Block;
use crate::value::{Entry, Value};
use std::time::Duration;

/// The `cluster` block: the routes to the other servers of this cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The name; `None` takes that of the gateway, or one that is made up and may be given up for
    /// a peer's.
    pub name: Option<String>,
    /// Where other servers connect; `None`: there are no routes, dialled ones neither.
    pub listen: Option<Listen>,
    /// The address announced to other servers, `host` or `host:port`.
    pub advertise: Option<String>,
    /// The addresses of clients are not announced to other servers.
    pub no_advertise: bool,
    /// Servers to dial, as written.
    pub routes: Vec<RemoteUrl>,
    /// Who may connect.
    pub authorization: PeerAuthorization,
    /// What interest is exchanged; `None`: all.
    pub permissions: Option<RoutePermissions>,
    /// How routes are encrypted, those that are dialled too; `None`: not.
    pub tls: Option<Tls>,
    /// Further attempts to dial a server that was only heard of. 0 by default.
    pub connect_retries: u64,
    /// Attempts to dial a configured server get rarer.
    pub connect_backoff: bool,
    /// Connections to each server that the accounts share. 3 by default; `None`: no pool, one
    /// connection as to an old server.
    pub pool_size: Option<u32>,
    /// Accounts with a connection of their own, as written; see [`Cluster::pinned_accounts`].
    pub accounts: Vec<String>,
    /// `accept` by default.
    pub compression: Compression,
    /// Between two pings; `None` takes that of the server. See [`Cluster::ping_interval`].
    pub ping_interval: Option<Duration>,
    /// Unanswered pings before a route is closed; `None` takes that of the server.
    pub ping_max: Option<u64>,
    /// How long a write may take; `None` takes that of the server.
    pub write_deadline: Option<Duration>,
    /// What happens when it takes longer.
    pub write_timeout: WriteTimeout,
}

/// Which interest crosses a route.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutePermissions {
    /// What this server takes: it tells of no other interest.
    pub import: SubjectRules,
    /// What this server gives: it heeds no other interest.
    pub export: SubjectRules,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            name: None,
            listen: None,
            advertise: None,
            no_advertise: false,
            routes: Vec::new(),
            authorization: PeerAuthorization::default(),
            permissions: None,
            tls: None,
            connect_retries: 0,
            connect_backoff: false,
            pool_size: Some(Self::POOL_SIZE),
            accounts: Vec::new(),
            compression: Compression::Accept,
            ping_interval: None,
            ping_max: None,
            write_deadline: None,
            write_timeout: WriteTimeout::Default,
        }
    }
}

/// What is put together once the whole block is read.
#[derive(Default)]
struct Parts {
    host: String,
    port: Option<Port>,
    has_auth_timeout: bool,
    old_permissions: Option<RoutePermissions>,
}

impl Cluster {
    /// Connections of a pool when nobody says.
    pub const POOL_SIZE: u32 = 3;
    /// Where a route without a port leads.
    pub(crate) const PORT: u16 = 6222;

    /// spec: nats-server v2.15.1 server/opts.go `parseCluster`
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "Expected map to define cluster")?;
        let mut cluster = Self::default();
        let mut parts = Parts::default();
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "listen" => {
                    if let Some((host, port)) = report.listen(value) {
                        (parts.host, parts.port) = (host, Some(port));
                    }
                }
                "port" => set(&mut parts.port, report.port(value).map(Some)),
                "host" | "net" => set(&mut parts.host, report.string(value)),
                "authorization" => cluster.read_authorization(entry, &mut parts, report),
                key => {
                    if !(cluster.read_people(key, value, report)
                        || cluster.read_routes(key, entry, report)
                        || cluster.read_times(key, value, report))
                    {
                        report.other(Block::Cluster, entry);
                    }
                }
            }
        }
        cluster.put_together(parts);
        Some(cluster)
    }

    /// The accounts with a connection of their own: where there is a pool, that of the system
    /// (`None`: there is none) is one of them.
    /// spec: nats-server v2.15.1 server/opts.go `setBaselineOptions`
    #[must_use]
    pub fn pinned_accounts(&self, system: Option<&str>) -> Vec<String> {
        let mut accounts = self.accounts.clone();
        if let Some(system) = system
            && self.pool_size.is_some()
            && !accounts.iter().any(|name| name == system)
        {
            accounts.push(system.to_owned());
        }
        accounts
    }

    /// Between two pings of a route on a server that pings its clients every `server`.
    #[must_use]
    pub fn ping_interval(&self, server: Duration) -> Duration {
        let most = Duration::from_secs(ROUTE_PING_SECONDS_MAX);
        self.ping_interval.unwrap_or(server).min(most)
    }

    fn read_people(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        match key {
            "name" => set(&mut self.name, peers::read_name("cluster", value, report)),
            "permissions" => set(
                &mut self.permissions,
                read_permissions(value, report).map(Some),
            ),
            "tls" => self.tls = Tls::read(value, Side::Peer, report),
            "accounts" => set(&mut self.accounts, report.strings("accounts", value)),
            "cluster_advertise" | "advertise" => set(&mut self.advertise, report.text(value)),
            "no_advertise" => set(&mut self.no_advertise, report.boolean(value)),
            _ => return false,
        }
        true
    }

    fn read_routes(&mut self, key: &str, entry: &Entry, report: &mut Report) -> bool {
        let value = &entry.value;
        match key {
            "routes" => {
                let routes = peers::read_urls(value, "route", Self::PORT, report);
                set(&mut self.routes, routes);
            }
            "connect_retries" => {
                let retries = report.integer(value);
                set(
                    &mut self.connect_retries,
                    retries.map(|n| u64::try_from(n).unwrap_or(0)),
                );
            }
            "connect_backoff" => set(&mut self.connect_backoff, report.boolean(value)),
            "pool_size" => set(&mut self.pool_size, read_pool_size(value, report)),
            "compression" => set(
                &mut self.compression,
                Compression::read(entry, &Compression::Fast, report),
            ),
            _ => return false,
        }
        true
    }

    fn read_times(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        let positive = |d: Option<Duration>| d.filter(|d| !d.is_zero());
        match key {
            "ping_interval" => {
                let interval = report.duration(key, value);
                if interval > Some(Duration::from_secs(ROUTE_PING_SECONDS_MAX)) {
                    let text =
                        "Cluster 'ping_interval' will reset to 30s which is the max for routes";
                    report.warning(&value.at, text, "");
                }
                self.ping_interval = positive(interval);
            }
            "ping_max" => {
                let pings = report.integer(value);
                self.ping_max = pings.and_then(|n| u64::try_from(n).ok());
                self.ping_max = self.ping_max.filter(|n| *n > 0);
            }
            "write_deadline" => self.write_deadline = positive(report.duration(key, value)),
            "write_timeout" => set(&mut self.write_timeout, write_timeout(value, report)),
            _ => return false,
        }
        true
    }

    fn read_authorization(&mut self, entry: &Entry, parts: &mut Parts, report: &mut Report) {
        let value = &entry.value;
        let Some(written) = PeerAuthorization::read(value, "Cluster", report) else {
            return;
        };
        self.authorization = written.authorization;
        parts.has_auth_timeout = written.has_timeout;
        if let Some(permissions) = written.permissions
            && let Some(permissions) = of_routes(permissions, &value.at, report)
        {
            let text = format!(
                "invalid use of field {:?}: setting \"permissions\" within cluster authorization \
                 block is deprecated",
                entry.key
            );
            report.warning(&value.at, text, "move them into the cluster block");
            parts.old_permissions = Some(permissions);
        }
    }

    fn put_together(&mut self, parts: Parts) {
        let port = parts.port.and_then(Port::bind);
        self.listen = port.map(|port| Listen::new(&parts.host, "0.0.0.0", port));
        if self.permissions.is_none() {
            self.permissions = parts.old_permissions;
        }
        if let Some(tls) = self.tls.as_ref().filter(|_| !parts.has_auth_timeout) {
            self.authorization.timeout = tls.timeout + Duration::from_secs(1);
        }
    }
}

/// Zero is the default, less is no pool.
fn read_pool_size(value: &Value, report: &mut Report) -> Option<Option<u32>> {
    match report.integer(value)? {
        0 => Some(Some(Cluster::POOL_SIZE)),
        ..0 => Some(None),
        n => match u32::try_from(n) {
            Ok(size) => Some(Some(size)),
            Err(_) => {
                let text = format!("pool_size {n} is too big");
                report.error(&value.at, text, "3 is plenty");
                None
            }
        },
    }
}

fn read_permissions(value: &Value, report: &mut Report) -> Option<RoutePermissions> {
    let permissions = permissions::read(value, report)?;
    if permissions.allow_responses.is_some() {
        let text = "Cluster permissions do not support dynamic responses";
        report.error(&value.at, text, "remove allow_responses");
        return None;
    }
    of_routes(permissions, &value.at, report)
}

/// Routes know nothing of queue groups.
/// spec: nats-server v2.15.1 server/opts.go `setClusterPermissions`, `checkClusterPermissionSubjects`
fn of_routes(
    permissions: Permissions,
    at: &Position,
    report: &mut Report,
) -> Option<RoutePermissions> {
    let export = &permissions.subscribe;
    let lists = [
        ("allow", export.allow.as_deref().unwrap_or_default()),
        ("deny", export.deny.as_slice()),
    ];
    for (list, rules) in lists {
        for rule in rules {
            if let Some(queue) = &rule.queue {
                let subject = format!("{} {queue}", rule.subject);
                let text =
                    format!("cluster export {list}: subject {subject:?} is not a valid subject");
                report.error(at, text, "leave out the queue group");
                return None;
            }
        }
    }
    Some(RoutePermissions {
        import: permissions.publish,
        export: permissions.subscribe,
    })
}

#[cfg(test)]
mod tests;
