use crate::options::peers::{self, PeerAuthorization};
use crate::options::server::{Listen, WriteTimeout, write_timeout};
use crate::options::tls::{Side, Tls};
use crate::options::url::RemoteUrl;
use crate::report::{Port, Report, set};
use crate::unsupported::Block;
use crate::value::{Kind, Map, Value};
use std::time::Duration;

/// The `gateway` block: the way to other clusters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gateway {
    /// The name of this cluster among the clusters.
    pub name: Option<String>,
    /// Where servers of other clusters connect; `None`: there are no gateways.
    pub listen: Option<Listen>,
    /// The address announced to other clusters, `host` or `host:port`.
    pub advertise: Option<String>,
    /// Who may connect.
    pub authorization: PeerAuthorization,
    /// How gateways are encrypted, those that are dialled too; `None`: not.
    pub tls: Option<Tls>,
    /// Clusters to dial, as written; one of this cluster's own name is no other cluster.
    pub gateways: Vec<RemoteGateway>,
    /// Only clusters of that list may connect, and others are not dialled when heard of.
    pub reject_unknown: bool,
    /// Further attempts to dial a cluster that was only heard of. 0 by default.
    pub connect_retries: u64,
    /// Attempts to dial a configured cluster get rarer.
    pub connect_backoff: bool,
    /// How long a write may take; `None` takes that of the server.
    pub write_deadline: Option<Duration>,
    /// What happens when it takes longer.
    pub write_timeout: WriteTimeout,
}

/// Another cluster: one entry of `gateway.gateways`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemoteGateway {
    /// Its name; empty ones do not pass the checks.
    pub name: String,
    /// Where, as written; none do not pass the checks.
    pub urls: Vec<RemoteUrl>,
    /// How it is encrypted; `None`: as the block says.
    pub tls: Option<Tls>,
}

impl Gateway {
    /// Where a gateway without a port leads.
    pub(crate) const PORT: u16 = 7222;

    /// Whether any of it is on: a mere name without a port is a mistake, not nothing.
    pub(crate) fn is_defined(&self) -> bool {
        self.name.is_some() || self.listen.is_some()
    }

    /// spec: nats-server v2.15.1 server/opts.go `parseGateway`
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "Expected gateway to be a map")?;
        let mut gateway = Self::default();
        let (mut host, mut port) = (String::new(), Port::Unset);
        let mut has_timeout = false;
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "listen" => {
                    if let Some(listen) = report.listen(value) {
                        (host, port) = listen;
                    }
                }
                "port" => set(&mut port, report.port(value)),
                "host" | "net" => set(&mut host, report.string(value)),
                "authorization" => {
                    if let Some(written) = PeerAuthorization::read(value, "Gateway", report) {
                        gateway.authorization = written.authorization;
                        has_timeout = written.has_timeout;
                    }
                }
                key => {
                    if !gateway.read_option(key, value, report) {
                        report.other(Block::Gateway, entry);
                    }
                }
            }
        }
        gateway.listen = port.bind().map(|port| Listen::new(&host, "0.0.0.0", port));
        if let Some(tls) = gateway.tls.as_ref().filter(|_| !has_timeout) {
            gateway.authorization.timeout = tls.timeout + Duration::from_secs(1);
        }
        Some(gateway)
    }

    fn read_option(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        let positive = |d: Option<Duration>| d.filter(|d| !d.is_zero());
        match key {
            "name" => set(&mut self.name, peers::read_name("gateway", value, report)),
            "tls" => self.tls = Tls::read(value, Side::Peer, report),
            "advertise" => set(&mut self.advertise, report.text(value)),
            "connect_retries" => {
                let retries = report.integer(value);
                let retries = retries.map(|n| u64::try_from(n).unwrap_or(0));
                set(&mut self.connect_retries, retries);
            }
            "connect_backoff" => set(&mut self.connect_backoff, report.boolean(value)),
            "gateways" => set(&mut self.gateways, read_remotes(value, report)),
            "reject_unknown" | "reject_unknown_cluster" => {
                set(&mut self.reject_unknown, report.boolean(value));
            }
            "write_deadline" => self.write_deadline = positive(report.duration(key, value)),
            "write_timeout" => set(&mut self.write_timeout, write_timeout(value, report)),
            _ => return false,
        }
        true
    }
}

/// spec: nats-server v2.15.1 server/opts.go `parseGateways`
fn read_remotes(value: &Value, report: &mut Report) -> Option<Vec<RemoteGateway>> {
    let values = report.array(value, "Expected gateways field to be an array")?;
    let mut remotes = Vec::new();
    for value in values {
        if let Some(map) = value.as_map() {
            remotes.push(read_remote(map, report));
            continue;
        }
        let shown = match &value.kind {
            Kind::String(text) | Kind::Date(text) => text.clone(),
            Kind::Integer(n) => n.to_string(),
            Kind::Float(n) => n.to_string(),
            Kind::Bool(b) => b.to_string(),
            Kind::Array(_) | Kind::Map(_) => value.kind.go_name().to_owned(),
        };
        let text = format!("Expected gateway entry to be a map/struct, got {shown}");
        report.error(
            &value.at,
            text,
            "write { name: B, url: \"nats://host:7222\" }",
        );
    }
    Some(remotes)
}

fn read_remote(map: &Map, report: &mut Report) -> RemoteGateway {
    let mut remote = RemoteGateway::default();
    for entry in map {
        let value = &entry.value;
        match entry.key.to_lowercase().as_str() {
            "name" => set(&mut remote.name, report.string(value)),
            "tls" => remote.tls = Tls::read(value, Side::Peer, report),
            "url" => {
                if let Some(text) = report.string(value) {
                    let url = peers::read_url(&text, value, "gateway", Gateway::PORT, report);
                    remote.urls.extend(url);
                }
            }
            "urls" => {
                let urls = peers::read_urls(value, "gateway", Gateway::PORT, report);
                set(&mut remote.urls, urls);
            }
            _ => report.other(Block::RemoteGateway, entry),
        }
    }
    remote
}

#[cfg(test)]
mod tests;
