use core::fmt;
use core::time::Duration;

use frond_broker::Compression;

use crate::limits::{
    DIAL_TIMEOUT, FIRST_INFO_TIMEOUT, PING_INTERVAL, PINGS_OUTSTANDING_MAX, RECONNECT_INTERVAL,
};

/// One hub to attach one account to: an entry of `leafnodes { remotes }`.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Where the hub listens; at least one.
    pub urls: Vec<RemoteUrl>,
    /// The local account that is attached.
    pub account: String,
    /// From a credentials file, when one is named, or why it gives none.
    pub credentials: Option<Result<RemoteCredentials, String>>,
    /// Seed of a user nkey.
    pub nkey_seed: Option<Secret>,
    /// Subjects that the hub must not send us and that we don't ask for.
    pub deny_imports: Vec<String>,
    /// Subjects that are never sent to the hub.
    pub deny_exports: Vec<String>,
    /// Whether this side is the hub of the two.
    pub hub: bool,
    /// Take the urls in order, instead of shuffled once.
    pub no_randomize: bool,
    /// Dial only configured urls.
    pub ignore_discovered_servers: bool,
    /// Ask the hub not to tell us what other leafs want.
    pub request_isolation: bool,
    /// Don't tell the hub what other leafs want.
    pub isolate: bool,
    /// From the connection to the hub's first word.
    pub first_info_timeout: Duration,
    /// From the dial to the connection.
    pub dial_timeout: Duration,
    /// Least pause before a dial; as much again is added at random.
    pub reconnect_interval: Duration,
    /// Between pings.
    pub ping_interval: Duration,
    /// Unanswered pings that the line survives.
    pub pings_outstanding_max: u32,
    /// Configured, but not dialed.
    pub disabled: bool,
    /// Nothing is said without TLS, whatever the hub says.
    pub tls: bool,
    /// TLS comes before the hub's first word.
    pub tls_first: bool,
    /// It is dialed as a WebSocket.
    pub websocket: bool,
    /// How connections are compressed, if the hub wants it too.
    pub compression: Compression,
}

impl Remote {
    /// Attach `account` to a hub at `urls`, with the defaults for all else.
    #[must_use]
    pub fn new(account: impl Into<String>, urls: Vec<RemoteUrl>) -> Self {
        Self {
            urls,
            account: account.into(),
            credentials: None,
            nkey_seed: None,
            deny_imports: Vec::new(),
            deny_exports: Vec::new(),
            hub: false,
            no_randomize: false,
            ignore_discovered_servers: false,
            request_isolation: false,
            isolate: false,
            first_info_timeout: FIRST_INFO_TIMEOUT,
            dial_timeout: DIAL_TIMEOUT,
            reconnect_interval: RECONNECT_INTERVAL,
            ping_interval: PING_INTERVAL,
            pings_outstanding_max: PINGS_OUTSTANDING_MAX,
            disabled: false,
            tls: false,
            tls_first: false,
            websocket: false,
            compression: Compression::Off,
        }
    }
}

/// Where a hub listens, and who we are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteUrl {
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// User name; alone, without a password, it is also sent as token.
    pub user: Option<String>,
    /// Password.
    pub pass: Option<Secret>,
    /// Nothing is said there without TLS.
    pub tls: bool,
}

impl RemoteUrl {
    /// A url without user information.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            user: None,
            pass: None,
            tls: false,
        }
    }
}

/// `host:port`, as in logs and monitoring: no secrets.
impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// What a credentials file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteCredentials {
    /// The user's JWT.
    pub jwt: String,
    /// Its nkey seed.
    pub seed: Secret,
}

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_printed() {
        let mut url = RemoteUrl::new("::1", 7422);
        url.pass = Some(Secret("hunter2".into()));
        let mut remote = Remote::new("A", vec![url.clone()]);
        remote.nkey_seed = Some(Secret("SUAhunter2".into()));
        assert!(!format!("{remote:?} {url}").contains("hunter2"));
        assert_eq!(url.to_string(), "[::1]:7422");
    }
}
