use crate::nkey;
use crate::options::compression::Compression;
use crate::options::permissions;
use crate::options::remote_proxy::RemoteProxy;
use crate::options::tls::{Side, Tls};
use crate::options::url::RemoteUrl;
use crate::position::Position;
use crate::report::{Report, set};
use crate::secret::Secret;
use crate::unsupported::Block;
use crate::value::{Entry, Kind, Map, Value};
use std::time::Duration;

/// A hub to dial: one entry of `leafnodes.remotes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Where; tried in random order unless `no_randomize`.
    pub urls: Vec<RemoteUrl>,
    /// The local account it binds to; `$G` by default.
    pub account: String,
    /// Path of a credentials file, `~` and `$NAME` expanded.
    pub credentials: Option<String>,
    /// A user seed to sign with.
    pub nkey: Option<Secret>,
    /// Subjects not taken from the hub.
    pub deny_imports: Vec<String>,
    /// Subjects not given to the hub.
    pub deny_exports: Vec<String>,
    /// This side acts as the hub.
    pub hub: bool,
    /// The urls are tried in the order written.
    pub no_randomize: bool,
    /// How long the hub may take to send INFO. 5 s by default.
    pub first_info_timeout: Duration,
    /// How long a dial may take; `None` takes that of the block.
    pub dial_timeout: Option<Duration>,
    /// Not dialled.
    pub disabled: bool,
    /// Requests from other leaves are not passed on.
    pub request_isolation: bool,
    /// Interest of other leaves is not passed on.
    pub isolate: bool,
    /// Urls that the hub announces are not tried.
    pub ignore_discovered_servers: bool,
    /// How it is compressed.
    pub compression: Compression,
    /// How it is encrypted; `None`: only if a url or the hub wants it.
    pub tls: Option<Tls>,
    /// The HTTP proxy it is dialed through.
    pub proxy: Option<RemoteProxy>,
    /// What the account's leaders do while the hub is away.
    pub migrate: Migrate,
    /// Over WebSocket: messages may be compressed, if the hub agrees.
    pub ws_compression: bool,
    /// Over WebSocket: frames are not masked, if the hub agrees.
    pub ws_no_masking: bool,
}

/// Whether leaders of streams and consumers go elsewhere in their cluster while the hub is away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Migrate {
    /// They stay.
    #[default]
    No,
    /// They go when the hub has been away for this long.
    After(Duration),
}

impl Default for Remote {
    fn default() -> Self {
        Self {
            urls: Vec::new(),
            account: "$G".to_owned(),
            credentials: None,
            nkey: None,
            deny_imports: Vec::new(),
            deny_exports: Vec::new(),
            hub: false,
            no_randomize: false,
            // nats-server waits for 1 s, which is less than a slow line takes.
            first_info_timeout: Duration::from_secs(5),
            dial_timeout: None,
            disabled: false,
            request_isolation: false,
            isolate: false,
            ignore_discovered_servers: false,
            compression: Compression::default_for_leafnodes(),
            tls: None,
            proxy: None,
            migrate: Migrate::No,
            ws_compression: false,
            ws_no_masking: false,
        }
    }
}

impl Remote {
    /// How messages name it: urls, account and credentials, secrets hidden.
    /// spec: nats-server v2.15.1 server/opts.go generateRemoteLeafOptsName
    pub fn name(&self) -> String {
        let urls: Vec<_> = self.urls.iter().map(|url| format!("\"{url}\"")).collect();
        let mut name = format!("urls=[{}], account={:?}", urls.join(" "), self.account);
        if let Some(path) = &self.credentials {
            name.push_str(&format!(", credentials={path:?}"));
        } else if self.nkey.is_some() {
            name.push_str(", nkey=\"[REDACTED]\"");
        }
        name
    }

    /// Whether a url of it asks for TLS.
    pub fn wants_tls(&self) -> bool {
        self.urls.iter().any(RemoteUrl::wants_tls)
    }

    /// Whether it is dialed as a WebSocket: all of its urls are, or none.
    pub fn is_websocket(&self) -> bool {
        self.urls.first().is_some_and(RemoteUrl::is_websocket)
    }

    /// Whether `other` is the same remote, whatever its other options: urls, account, credentials.
    pub fn is_same(&self, other: &Self) -> bool {
        self.urls == other.urls
            && self.account == other.account
            && self.credentials == other.credentials
            && self.nkey == other.nkey
    }
}

/// The list of remotes, each with its place.
pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Vec<(Remote, Position)>> {
    let values = report.array(value, "Expected remotes field to be an array")?;
    let mut remotes: Vec<(Remote, Position)> = Vec::new();
    for value in values {
        let wrong = "Expected remote leafnode entry to be a map/struct";
        let Some(map) = report.map(value, wrong) else {
            continue;
        };
        let Some(remote) = read_remote(map, &value.at, report) else {
            continue;
        };
        if remotes.iter().any(|(other, _)| other.is_same(&remote)) {
            let text = format!("duplicate remote {}", remote.name());
            report.error(&value.at, text, "remove one of them");
            continue;
        }
        remotes.push((remote, value.at.clone()));
    }
    Some(remotes)
}

fn read_remote(map: &Map, at: &Position, report: &mut Report) -> Option<Remote> {
    let mut remote = Remote::default();
    let (mut refused, mut proxy_at) = (false, None);
    for entry in map {
        let value = &entry.value;
        match entry.key.to_lowercase().as_str() {
            "url" | "urls" => match read_urls(value, report) {
                Some(urls) => remote.urls = urls,
                None => refused = true,
            },
            "account" | "local" => {
                let account = report.text(value).flatten();
                set(&mut remote.account, account);
            }
            "creds" | "credentials" => set(&mut remote.credentials, report.text(value)),
            "nkey" | "seed" => remote.nkey = read_seed(value, report),
            "hub" => set(&mut remote.hub, report.boolean(value)),
            "deny_imports" | "deny_import" => {
                set(
                    &mut remote.deny_imports,
                    permissions::subjects(value, report),
                );
            }
            "deny_exports" | "deny_export" => {
                set(
                    &mut remote.deny_exports,
                    permissions::subjects(value, report),
                );
            }
            "compression" => {
                let on = Compression::default_for_leafnodes();
                set(
                    &mut remote.compression,
                    Compression::read(entry, &on, report),
                );
            }
            "proxy" => {
                remote.proxy = RemoteProxy::read(value, report);
                proxy_at = Some(&value.at);
            }
            "jetstream_cluster_migrate" | "js_cluster_migrate" => {
                set(&mut remote.migrate, read_migrate(value, report));
            }
            "tls" => remote.tls = Tls::read(value, Side::Client, report),
            _ => read_behaviour(&mut remote, entry, report),
        }
    }
    if remote.credentials.is_some() && remote.nkey.is_some() {
        let text = "Remote leafnode can not have both creds and nkey defined";
        report.error(at, text, "remove one of them");
    }
    if remote.urls.is_empty() && !refused {
        // nats-server takes it, and there is nowhere to dial.
        let text = "Remote leafnode has no url, it is left out";
        report.warning(at, text, "add url: \"nats://host:7422\"");
        return None;
    }
    check_proxy(&remote, proxy_at.unwrap_or(at), report);
    let websockets = remote.urls.iter().filter(|url| url.is_websocket()).count();
    if websockets != 0 && websockets != remote.urls.len() {
        let urls: Vec<_> = remote.urls.iter().map(|url| format!("\"{url}\"")).collect();
        let text = format!(
            "remote leaf node configuration cannot have a mix of websocket and non-websocket \
             urls: [{}]",
            urls.join(" ")
        );
        report.error(at, text, "make them two remotes");
    }
    (!refused).then_some(remote)
}

fn read_behaviour(remote: &mut Remote, entry: &Entry, report: &mut Report) {
    let value = &entry.value;
    match entry.key.to_lowercase().as_str() {
        "no_randomize" | "dont_randomize" => set(&mut remote.no_randomize, report.boolean(value)),
        "isolate_leafnode_interest" | "isolate" => set(&mut remote.isolate, report.boolean(value)),
        "request_isolation" => set(&mut remote.request_isolation, report.boolean(value)),
        "disabled" => set(&mut remote.disabled, report.boolean(value)),
        "ignore_discovered_servers" => {
            set(&mut remote.ignore_discovered_servers, report.boolean(value));
        }
        "ws_compress" | "ws_compression" | "websocket_compress" | "websocket_compression" => {
            set(&mut remote.ws_compression, report.boolean(value));
        }
        "ws_no_masking" | "websocket_no_masking" => {
            set(&mut remote.ws_no_masking, report.boolean(value));
        }
        "first_info_timeout" => {
            let timeout = report.duration("first_info_timeout", value);
            set(
                &mut remote.first_info_timeout,
                timeout.filter(|t| !t.is_zero()),
            );
        }
        "dial_timeout" => {
            let timeout = report.duration("dial_timeout", value);
            remote.dial_timeout = timeout.filter(|t| !t.is_zero());
        }
        _ => report.other(Block::Remote, entry),
    }
}

/// spec: nats-server v2.15.1 server/leafnode.go `validateLeafNodeProxyOptions`
fn check_proxy(remote: &Remote, at: &Position, report: &mut Report) {
    let mut urls = remote.urls.iter();
    let url = urls.find(|url| url.is_websocket() && url.wants_tls());
    if let (Some(_), None, Some(url)) = (&remote.proxy, &remote.tls, url) {
        let text = format!(
            "proxy is configured but remote URL {url} requires TLS and no TLS configuration is \
             provided. When using proxy with TLS endpoints, ensure TLS is properly configured for \
             the leafnode remote"
        );
        report.error(at, text, "add a tls block to the remote");
    }
}

/// What is unknown in the block is passed over, as nats-server does.
fn read_migrate(value: &Value, report: &mut Report) -> Option<Migrate> {
    match &value.kind {
        Kind::Bool(true) => Some(Migrate::After(Duration::ZERO)),
        Kind::Bool(false) => Some(Migrate::No),
        Kind::Map(map) => {
            let delay = map.get("leader_migrate_delay");
            let delay = delay.map(|delay| report.duration("leader_migrate_delay", delay));
            Some(Migrate::After(delay.flatten().unwrap_or_default()))
        }
        Kind::Integer(_) | Kind::Float(_) | Kind::String(_) | Kind::Date(_) | Kind::Array(_) => {
            let text = format!(
                "Expected boolean or map for jetstream_cluster_migrate, got {}",
                value.kind.go_name()
            );
            report.error(
                &value.at,
                text,
                "write true or { leader_migrate_delay: \"30s\" }",
            );
            None
        }
    }
}

fn read_seed(value: &Value, report: &mut Report) -> Option<Secret> {
    let seed = report.string(value)?;
    if nkey::is_user_seed(&seed) {
        return Some(Secret::new(seed));
    }
    // nats-server shows the seed here.
    let remedy = "it has 58 characters and starts with SU";
    report.error(
        &value.at,
        "Remote leafnode nkey is not a valid seed",
        remedy,
    );
    None
}

fn read_urls(value: &Value, report: &mut Report) -> Option<Vec<RemoteUrl>> {
    let values = match &value.kind {
        Kind::String(_) => std::slice::from_ref(value),
        Kind::Array(values) => values,
        Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Map(_) => {
            let got = value.kind.go_name();
            let text = format!("Expected remote leafnode url to be an array or string, got {got}");
            report.error(&value.at, text, "write \"nats://host:7422\"");
            return None;
        }
    };
    let mut urls = Vec::new();
    let mut good = true;
    for value in values {
        let Some(text) = report.string(value) else {
            good = false;
            continue;
        };
        if RemoteUrl::leads_nowhere(&text, "leafnode", value, report) {
            continue;
        }
        match RemoteUrl::read(&text, "leafnode", value, report) {
            Some(url) if urls.contains(&url) => {
                let text =
                    format!("invalid use of field \"{url}\": Duplicate leafnode entry detected");
                report.warning(&value.at, text, "remove one of them");
            }
            Some(url) => {
                url.tell_scheme(value, report);
                urls.push(url);
            }
            None => good = false,
        }
    }
    good.then_some(urls)
}
