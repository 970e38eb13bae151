//! Proxies that sign the nonces of the connections they relay.
//! spec: nats-server v2.15.1 server/auth.go `proxyCheck`, `getAuthErrClosedState`

use crate::{Credentials, Directory, PeerKind, nkey};

/// Whether a connection came through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxied {
    /// It did not, as far as anybody here can tell.
    No,
    /// Through one that is trusted.
    Trusted,
    /// Through one that isn't.
    Untrusted,
}

/// Why a peer is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not who it says to be, or may not come this way.
    Credentials,
    /// It came through a proxy nobody trusts.
    ProxyNotTrusted,
    /// It should have come through a proxy.
    ProxyRequired,
}

impl Refusal {
    /// The reason monitoring shows for the closed connection.
    #[must_use]
    pub const fn cause(self) -> &'static str {
        match self {
            Self::Credentials => "Authentication Failure",
            Self::ProxyNotTrusted => "Proxy Not Trusted",
            Self::ProxyRequired => "Proxy Required",
        }
    }

    /// What the debug log says, if anything.
    #[must_use]
    pub const fn detail(self) -> &'static str {
        match self {
            Self::Credentials => "",
            Self::ProxyNotTrusted => "proxy is not trusted",
            Self::ProxyRequired => "proxy connection required",
        }
    }
}

impl Directory {
    /// The key of the trusted proxy that signed `nonce`.
    #[must_use]
    pub fn trusted_proxy(&self, signature: &str, nonce: &str) -> Option<&str> {
        let mut keys = self.proxies.iter();
        keys.find(|key| nkey::verify_any(key, nonce.as_bytes(), signature))
            .map(String::as_str)
    }

    /// Whether connections through the proxy with this key are still welcome.
    #[must_use]
    pub fn trusts_proxy(&self, key: &str) -> bool {
        self.proxies.iter().any(|trusted| trusted == key)
    }

    /// Why these credentials were refused.
    #[must_use]
    pub fn why_refused(&self, given: &Credentials, nonce: &str, kind: PeerKind) -> Refusal {
        match self.proxied(given, nonce) {
            Proxied::Untrusted => Refusal::ProxyNotTrusted,
            Proxied::No if self.needs_proxy(given, kind) => Refusal::ProxyRequired,
            Proxied::No | Proxied::Trusted => Refusal::Credentials,
        }
    }

    pub(crate) fn proxied(&self, given: &Credentials, nonce: &str) -> Proxied {
        let signature = given.proxy_sig.as_deref().unwrap_or_default();
        if signature.is_empty() || self.proxies.is_empty() {
            Proxied::No
        } else if self.trusted_proxy(signature, nonce).is_some() {
            Proxied::Trusted
        } else {
            Proxied::Untrusted
        }
    }

    /// Whether the user these credentials name may come only through a proxy.
    pub(crate) fn needs_proxy(&self, given: &Credentials, kind: PeerKind) -> bool {
        let logins = self.logins_of(kind);
        let by_key = given.nkey.as_deref().and_then(|key| logins.nkeys.get(key));
        let by_name = || {
            given
                .user
                .as_deref()
                .and_then(|name| logins.names.get(name))
        };
        let by_token = || {
            given
                .auth_token
                .as_ref()
                .and_then(|_| logins.tokens.first())
        };
        by_key
            .or_else(by_name)
            .or_else(by_token)
            .is_some_and(|user| user.proxy_required)
    }
}
