//! What the servers of a cluster and the clusters of a supercluster configure alike.

use crate::options::auth::{Authorization, Names};
use crate::options::permissions::Permissions;
use crate::options::url::RemoteUrl;
use crate::report::Report;
use crate::secret::Secret;
use crate::value::{Kind, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// The `authorization` of `cluster` and `gateway`: who may connect, and who this server is to the
/// others when a URL names nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAuthorization {
    /// The single user; `None`: any server may connect.
    pub user: Option<String>,
    /// Its password, plain or bcrypt.
    pub password: Option<Secret>,
    /// How long a server may take to authenticate. 2 s by default, a second more than the
    /// handshake with TLS.
    pub timeout: Duration,
}

impl Default for PeerAuthorization {
    fn default() -> Self {
        Self {
            user: None,
            password: None,
            timeout: Duration::from_secs(2),
        }
    }
}

/// An `authorization` as it was written.
pub(crate) struct Written {
    pub(crate) authorization: PeerAuthorization,
    /// Whether it says how long a server may take.
    pub(crate) has_timeout: bool,
    pub(crate) permissions: Option<Permissions>,
}

impl PeerAuthorization {
    /// `block` is "Cluster" or "Gateway".
    pub(crate) fn read(value: &Value, block: &str, report: &mut Report) -> Option<Written> {
        let has = |key: &str| {
            let mut entries = value.as_map().into_iter().flat_map(|map| map.iter());
            entries.any(|entry| entry.key.eq_ignore_ascii_case(key))
        };
        let refused = [
            ("users", "does not allow multiple users"),
            ("token", "does not support tokens"),
            ("auth_callout", "does not support callouts"),
            ("auth_hook", "does not support callouts"),
        ];
        if let Some((_, why)) = refused.iter().find(|(key, _)| has(key)) {
            let text = format!("{block} authorization {why}");
            report.error(&value.at, text, "write user and password");
            return None;
        }
        let auth = Authorization::read(value, &mut Names::default(), report)?;
        Some(Written {
            authorization: Self {
                user: auth.user,
                password: auth.password,
                timeout: auth.timeout,
            },
            has_timeout: has("timeout"),
            permissions: auth.default_permissions,
        })
    }
}

/// The name of a cluster or of its gateway, which `of` says.
pub(crate) fn read_name(of: &str, value: &Value, report: &mut Report) -> Option<Option<String>> {
    let name = report.text(value)?;
    match name.as_deref().and_then(|name| wrong_name(of, name)) {
        Some(why) => {
            report.error(&value.at, why, "choose another");
            None
        }
        None => Some(name),
    }
}

/// Why a cluster cannot be called so.
pub(crate) fn wrong_name(of: &str, name: &str) -> Option<String> {
    if name.contains(' ') {
        Some(format!("{of} name cannot contain spaces"))
    } else if name == RESERVED_NAME {
        Some("cluster name is reserved".to_owned())
    } else {
        None
    }
}

/// Stands on the wire for leaves without a cluster.
const RESERVED_NAME: &str = "_";

/// A list of URLs; `port` is what one without a port means.
/// spec: nats-server v2.15.1 server/opts.go `parseURLs`
pub(crate) fn read_urls(
    value: &Value,
    kind: &str,
    port: u16,
    report: &mut Report,
) -> Option<Vec<RemoteUrl>> {
    let Kind::Array(values) = &value.kind else {
        return report.list_of_strings(value).map(|_| Vec::new());
    };
    let mut urls = Vec::new();
    let mut seen = BTreeSet::new();
    let mut good = true;
    for value in values {
        let Some(text) = report.string(value) else {
            good = false;
            continue;
        };
        if RemoteUrl::leads_nowhere(&text, kind, value, report) {
            continue;
        }
        let url = read_url(&text, value, kind, port, report);
        if !seen.insert(text) {
            if let Some(url) = url {
                let text =
                    format!("invalid use of field \"{url}\": Duplicate {kind} entry detected");
                report.warning(&value.at, text, "remove one of them");
            }
            continue;
        }
        match url {
            Some(url) => urls.push(url),
            None => good = false,
        }
    }
    good.then_some(urls)
}

/// One URL of such a list.
pub(crate) fn read_url(
    text: &str,
    value: &Value,
    kind: &str,
    port: u16,
    report: &mut Report,
) -> Option<RemoteUrl> {
    let mut url = RemoteUrl::read(text, kind, value, report)?;
    if !url.has_port() {
        report.note(
            &value.at,
            format!("{kind} {url} has no port, {port} is used"),
        );
        url.port = port;
    }
    Some(url)
}
