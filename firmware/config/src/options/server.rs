use crate::config::Config;
use crate::limits::LAME_DUCK_SECONDS_MIN;
use crate::options::accounts;
use crate::options::appliance::Appliance;
use crate::options::auth::{Authorization, Names};
use crate::options::cluster::Cluster;
use crate::options::fleet::Fleet;
use crate::options::forward;
use crate::options::gateway::Gateway;
use crate::options::leafnodes::LeafNodes;
use crate::options::mappings;
use crate::options::ocsp::{Ocsp, OcspCache};
use crate::options::ota::Ota;
use crate::options::proxies::Proxies;
use crate::options::sizes::{
    below_zero, is_below_zero, set_payload, set_pending, set_size, settle_payload,
};
use crate::options::tls::{Side, Tls};
use crate::options::websocket::WebSocket;
use crate::report::{Port, Report, set};
use crate::unsupported::Block;
use crate::value::{Entry, Kind, Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// A place to listen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listen {
    /// Name or address, without brackets.
    pub host: String,
    /// The port; 0 is any free one.
    pub port: u16,
}

impl Listen {
    /// An empty `host` takes the `default`.
    pub(crate) fn new(host: &str, default: &str, port: u16) -> Self {
        let host = if host.is_empty() { default } else { host };
        Self {
            host: host.to_owned(),
            port,
        }
    }
}

/// What one connection and the whole server may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Client connections; 0 accepts none. 65536 by default.
    pub max_connections: u64,
    /// Subscriptions of one connection; `None` any number.
    pub max_subscriptions: Option<u64>,
    /// Tokens in a subject that is subscribed to; `None` any number.
    pub max_subscription_tokens: Option<u8>,
    /// Bytes of a protocol line. 4096 by default.
    pub max_control_line: u64,
    /// Bytes of a message with its headers. 1 MiB by default.
    pub max_payload: u64,
    /// Bytes waiting for one connection. 64 MiB by default.
    pub max_pending: u64,
    /// Closed connections that are remembered for `/connz`. 10,000 by default.
    pub max_closed_clients: u64,
    /// Ours: bytes kept for all connections together, whatever for (`max_connections_memory`);
    /// `None` half of the machine's memory.
    pub max_connections_memory: Option<u64>,
}

/// What happens when a write takes longer than its deadline (`write_timeout`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteTimeout {
    /// Clients are closed, other servers are given time.
    #[default]
    Default,
    /// The connection is closed.
    Close,
    /// It goes on, unless nothing at all was written.
    Retry,
}

impl WriteTimeout {
    /// As monitoring shows it; empty for the default.
    ///
    /// spec: nats-server v2.15.1 server/client.go `WriteTimeoutPolicy.String`
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "",
            Self::Close => "close",
            Self::Retry => "retry",
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 65_536,
            max_subscriptions: None,
            max_subscription_tokens: None,
            max_control_line: 4_096,
            max_payload: 1_048_576,
            max_pending: 67_108_864,
            max_closed_clients: 10_000,
            max_connections_memory: None,
        }
    }
}

/// Hosts and ports while they are read, their defaults depending on each other.
#[derive(Default)]
struct Addresses {
    host: String,
    port: Option<Port>,
    monitor_host: String,
    monitor_port: Option<Port>,
    secure_host: String,
    secure_port: Option<Port>,
}

/// Reads the whole file into `config`.
pub(crate) fn read(map: &Map, config: &mut Config, report: &mut Report) {
    let mut addresses = Addresses::default();
    let mut names = Names::default();
    for entry in map {
        let value = &entry.value;
        let key = entry.key.to_lowercase();
        let key = key.as_str();
        config.places.note(key, &value.at);
        let read = addresses.read(key, value, report)
            || config.log.read(key, value, report)
            || read_identity(key, value, config, report)
            || read_limits(key, entry, &mut config.limits, report)
            || read_times(key, value, config, report)
            || read_switches(key, value, config, report)
            || config.operator_mode.read(key, value, report)
            || read_blocks(key, value, config, &mut names, report);
        if !read {
            report.other(Block::Top, entry);
        } else if let Some(why) = without_effect(key) {
            report.note(&value.at, format!("{key:?} has no effect here: {why}"));
        }
    }
    addresses.apply(config);
    settle_payload(&mut config.limits);
    wait_for_tls(map, config);
}

/// Who has to shake hands gets a second more to say who it is, when nobody said how long.
/// spec: nats-server v2.15.1 server/auth.go `getDefaultAuthTimeout`
fn wait_for_tls(map: &Map, config: &mut Config) {
    let said = |blocks: &[&str]| {
        let mut map = Some(map);
        for name in blocks {
            let entry = map.and_then(|map| {
                map.iter()
                    .find(|entry| name.split('|').any(|n| entry.key.eq_ignore_ascii_case(n)))
            });
            map = entry.and_then(|entry| entry.value.as_map());
        }
        map.is_some_and(|map| map.iter().any(|e| e.key.eq_ignore_ascii_case("timeout")))
    };
    let second = Duration::from_secs(1);
    if let Some(tls) = config.tls.as_ref().filter(|_| !said(&["authorization"])) {
        config.authorization.timeout = tls.timeout + second;
    }
    let leaf = &mut config.leafnodes;
    if let Some(tls) = leaf
        .tls
        .as_ref()
        .filter(|_| !said(&["leafnodes|leaf", "authorization"]))
    {
        leaf.authorization.timeout = tls.timeout + second;
    }
}

/// Options that are taken so that a file of nats-server's starts, and change nothing: they are said.
fn without_effect(key: &str) -> Option<&'static str> {
    match key {
        "prof_port" | "prof_block_rate" => Some("there are no profiles of Go's runtime"),
        _ => None,
    }
}

impl Addresses {
    fn read(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        match key {
            "listen" => {
                if let Some((host, port)) = report.listen(value) {
                    (self.host, self.port) = (host, Some(port));
                }
            }
            "host" | "net" => set(&mut self.host, report.string(value)),
            "port" => set(&mut self.port, report.port(value).map(Some)),
            "http" => {
                if let Some((host, port)) = report.listen(value) {
                    (self.monitor_host, self.monitor_port) = (host, Some(port));
                }
            }
            "https" => {
                if let Some((host, port)) = report.listen(value) {
                    (self.secure_host, self.secure_port) = (host, Some(port));
                }
            }
            "https_port" => set(&mut self.secure_port, report.port(value).map(Some)),
            "http_port" | "monitor_port" => {
                set(&mut self.monitor_port, report.port(value).map(Some))
            }
            _ => return false,
        }
        true
    }

    fn apply(self, config: &mut Config) {
        config.host = Listen::new(&self.host, "0.0.0.0", 0).host;
        set(&mut config.port, self.port.and_then(Port::bind));
        let port = self.monitor_port.and_then(Port::bind);
        let secure = self.secure_port.and_then(Port::bind);
        config.monitor_both = port.zip(secure);
        config.monitor_tls = secure.is_some();
        let (host, port) = match secure {
            Some(_) => (&self.secure_host, secure),
            None => (&self.monitor_host, port),
        };
        config.monitor = port.map(|port| Listen::new(host, &config.host, port));
    }
}

fn read_identity(key: &str, value: &Value, config: &mut Config, report: &mut Report) -> bool {
    match key {
        "server_name" => {
            let name = report.text(value);
            if name.iter().flatten().any(|name| name.contains(' ')) {
                report.error(&value.at, "server name cannot contain spaces", "");
            } else {
                set(&mut config.server_name, name);
            }
        }
        "server_tags" => set(&mut config.server_tags, report.strings("tags", value)),
        "server_metadata" => {
            let wrong = "error parsing metadata";
            set(
                &mut config.server_metadata,
                read_strings(wrong, value, report),
            );
        }
        "client_advertise" => set(&mut config.client_advertise, report.text(value)),
        "http_base_path" => set(&mut config.monitor_base_path, report.string(value)),
        "pidfile" | "pid_file" => set(&mut config.pid_file, report.text(value)),
        "ports_file_dir" => set(&mut config.ports_file_dir, report.text(value)),
        "no_auth_user" => set(&mut config.no_auth_user, report.text(value)),
        "system_account" | "system" => match value.as_str() {
            Some(_) => set(&mut config.system_account, report.text(value)),
            None => report.error(&value.at, "system account name must be a string", ""),
        },
        "feature_flags" => config.feature_flags.read(value, report),
        "prof_port" => set(&mut config.profile_port, report.integer(value)),
        "prof_block_rate" => set(&mut config.profile_block_rate, report.integer(value)),
        "default_js_domain" => {
            let wrong = "error default_js_domain config";
            set(
                &mut config.default_js_domain,
                read_strings(wrong, value, report),
            );
        }
        _ => return false,
    }
    true
}

fn read_strings(
    wrong: &str,
    value: &Value,
    report: &mut Report,
) -> Option<BTreeMap<String, String>> {
    let Kind::Map(map) = &value.kind else {
        let text = format!("{wrong}: unsupported type {}", value.kind.go_name());
        report.error(&value.at, text, "write { name: \"value\" }");
        return None;
    };
    let mut strings = BTreeMap::new();
    for entry in map {
        if let Some(text) = report.string(&entry.value) {
            strings.insert(entry.key.clone(), text);
        }
    }
    Some(strings)
}

fn read_limits(key: &str, entry: &Entry, limits: &mut Limits, report: &mut Report) -> bool {
    let value = &entry.value;
    match key {
        // There is no "unlimited": zero and less let nobody in.
        "max_connections" | "max_conn" => {
            let n = report.integer(value);
            set(
                &mut limits.max_connections,
                n.map(|n| u64::try_from(n).unwrap_or(0)),
            );
        }
        "max_subscriptions" | "max_subs" => {
            set(&mut limits.max_subscriptions, report.limit(value));
        }
        "max_sub_tokens" | "max_subscription_tokens" => match report.integer(value) {
            Some(..=0) => {
                let text = format!("{} value can not be negative", entry.key);
                report.error(&value.at, text, "write 1 to 255");
            }
            Some(n) => match u8::try_from(n) {
                Ok(n) => limits.max_subscription_tokens = Some(n),
                Err(_) => {
                    let text = format!("{} value is too big", entry.key);
                    report.error(&value.at, text, "write 1 to 255");
                }
            },
            None => {}
        },
        "max_control_line" => set_size(&mut limits.max_control_line, entry, report),
        "max_payload" => set_payload(&mut limits.max_payload, entry, report),
        "max_pending" => set_pending(limits, value, report),
        "max_connections_memory" => {
            set(&mut limits.max_connections_memory, report.limit(value));
        }
        "max_closed_clients" => {
            set(
                &mut limits.max_closed_clients,
                report.count(value).filter(|n| *n > 0),
            );
        }
        _ => return false,
    }
    true
}

fn read_times(key: &str, value: &Value, config: &mut Config, report: &mut Report) -> bool {
    let positive = |d: Option<Duration>| d.filter(|d| !d.is_zero());
    match key {
        "ping_interval" if is_below_zero(value) => report.note(&value.at, below_zero(key)),
        "ping_interval" => {
            set(
                &mut config.ping_interval,
                positive(report.duration(key, value)),
            );
        }
        "ping_max" if is_below_zero(value) => report.note(&value.at, below_zero(key)),
        "ping_max" => {
            set(&mut config.ping_max, report.count(value).filter(|n| *n > 0));
        }
        "write_deadline" => {
            set(
                &mut config.write_deadline,
                positive(report.duration(key, value)),
            );
        }
        "write_timeout" => set(&mut config.write_timeout, write_timeout(value, report)),
        "lame_duck_duration" => {
            let duration = report.strict_duration(key, value);
            let least = Duration::from_secs(LAME_DUCK_SECONDS_MIN);
            match duration {
                Some(duration) if duration < least => {
                    let text = format!(
                        "invalid lame_duck_duration of {}, minimum is 30 seconds",
                        crate::duration::Go(duration)
                    );
                    report.error(&value.at, text, "");
                }
                duration => set(&mut config.lame_duck_duration, duration),
            }
        }
        "lame_duck_grace_period" => {
            let period = report.strict_duration(key, value);
            set(&mut config.lame_duck_grace_period, positive(period));
        }
        "connect_error_reports" => {
            set(
                &mut config.connect_error_reports,
                report.count(value).filter(|n| *n > 0),
            );
        }
        "reconnect_error_reports" => {
            set(
                &mut config.reconnect_error_reports,
                report.count(value).filter(|n| *n > 0),
            );
        }
        _ => return false,
    }
    true
}

/// spec: nats-server v2.15.1 server/opts.go `parseWriteDeadlinePolicy`
pub(crate) fn write_timeout(value: &Value, report: &mut Report) -> Option<WriteTimeout> {
    match report.string(value)?.as_str() {
        "default" => Some(WriteTimeout::Default),
        "close" => Some(WriteTimeout::Close),
        "retry" => Some(WriteTimeout::Retry),
        _ => {
            let text = "write_timeout must be 'default', 'close' or 'retry'";
            report.error(&value.at, text, "");
            None
        }
    }
}

fn read_switches(key: &str, value: &Value, config: &mut Config, report: &mut Report) -> bool {
    let target = match key {
        "no_header_support" => &mut config.no_header_support,
        "no_fast_producer_stall" => &mut config.no_fast_producer_stall,
        "disable_sublist_cache" | "no_sublist_cache" => &mut config.no_sublist_cache,
        "allow_non_tls" => &mut config.allow_non_tls,
        "proxy_protocol" => &mut config.proxy_protocol,
        "no_system_account" | "no_system" | "no_sys_acc" => &mut config.no_system_account,
        _ => return false,
    };
    set(target, report.boolean(value));
    true
}

fn read_blocks(
    key: &str,
    value: &Value,
    config: &mut Config,
    names: &mut Names,
    report: &mut Report,
) -> bool {
    match key {
        "authorization" => {
            set(
                &mut config.authorization,
                Authorization::read(value, names, report),
            );
        }
        "mappings" | "maps" => set(&mut config.mappings, mappings::read(value, report)),
        "ocsp" => config.ocsp = Ocsp::read(value, report),
        "ocsp_cache" => config.ocsp_cache = OcspCache::read(value, report),
        "tls" => config.tls = Tls::read(value, Side::Server, report),
        "accounts" => set(&mut config.accounts, accounts::read(value, names, report)),
        "appliance" => config.appliance = Appliance::read(value, report),
        "fleet" => config.fleet = Fleet::read(value, report),
        "forward" => set(&mut config.forwards, forward::read(value, report)),
        "ota" => config.ota = Ota::read(value, report),
        "proxies" => config.proxies = Proxies::read(value, report),
        "jetstream" => config.jetstream.read(value, report),
        "store_dir" | "storedir" => config.jetstream.read_store_dir(value, report),
        "leaf" | "leafnodes" => {
            if let Some((leafnodes, places)) = LeafNodes::read(value, report) {
                config.leafnodes = leafnodes;
                config.places.note_remotes(places);
            }
        }
        "cluster" => set(&mut config.cluster, Cluster::read(value, report)),
        "gateway" => set(&mut config.gateway, Gateway::read(value, report)),
        "websocket" | "ws" => set(&mut config.websocket, WebSocket::read(value, report)),
        _ => return false,
    }
    true
}
