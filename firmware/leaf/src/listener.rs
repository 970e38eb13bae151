use core::time::Duration;

use frond_broker::Compression;

use crate::Reserved;
use crate::limits::{AUTH_TIMEOUT, PING_INTERVAL, PINGS_OUTSTANDING_MAX};

/// How this server listens for leafs: the `leafnodes` block itself.
#[derive(Clone, Debug)]
pub struct Listener {
    /// Host of the listener, shown in `INFO`.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// `host:port` under which leafs reach it (`advertise`, else the listener's own).
    pub advertise: String,
    /// Where leafs reach this server, if they are told: with those of the rest of the cluster.
    pub leafnode_urls: Vec<String>,
    /// From the connection to a valid `CONNECT`.
    pub auth_timeout: Duration,
    /// Least version of a leaf, `2.10.0`.
    pub min_version: Option<String>,
    /// Don't tell leafs what other leafs want.
    pub isolate: bool,
    /// Between pings.
    pub ping_interval: Duration,
    /// Unanswered pings that the line survives.
    pub pings_outstanding_max: u32,
    /// Leafs have to speak TLS.
    pub tls_required: bool,
    /// And to show a certificate.
    pub tls_verify: bool,
    /// How connections are compressed, if the leaf wants it too.
    pub compression: Compression,
    /// What leafs of an account do not get.
    pub reserved: Option<Reserved>,
}

impl Listener {
    /// A listener with the defaults for all but its address.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        let host = host.into();
        let advertise = format!("{host}:{port}");
        Self {
            host,
            port,
            leafnode_urls: vec![advertise.clone()],
            advertise,
            auth_timeout: AUTH_TIMEOUT,
            min_version: None,
            isolate: false,
            ping_interval: PING_INTERVAL,
            pings_outstanding_max: PINGS_OUTSTANDING_MAX,
            tls_required: false,
            tls_verify: false,
            compression: Compression::Off,
            reserved: None,
        }
    }

    /// Whether a leaf of this version is welcome.
    pub(crate) fn takes_version(&self, version: &str) -> bool {
        self.min_version
            .as_deref()
            .is_none_or(|least| components(version) >= components(least))
    }
}

/// `2.15.1-beta` as three numbers; nothing readable counts as 0.
fn components(version: &str) -> [u64; 3] {
    let mut numbers = version
        .trim_start_matches('v')
        .split(['.', '-', '+'])
        .map(|part| part.parse().unwrap_or(0));
    core::array::from_fn(|_| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        let mut listener = Listener::new("h", 1);
        assert!(listener.takes_version(""));
        listener.min_version = Some("2.10.0".into());
        for (version, taken) in [
            ("2.9.9", false),
            ("2.10.0-x", true),
            ("2.15.1", true),
            ("", false),
        ] {
            assert_eq!(listener.takes_version(version), taken, "{version}");
        }
    }
}
