/// Why a JWT does not let its holder in, in nats-server's words.
///
/// spec: nats-server v2.15.1 server/auth.go `processClientOrLeafAuthentication`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JwtRefusal {
    /// For who looks for a fault.
    Debug(String),
    /// For every log.
    Error(String),
    /// Its account is none of those that the operator pinned; for who looks for a fault.
    Unpinned(String),
    /// It should have come through a proxy.
    ProxyRequired,
}

impl JwtRefusal {
    pub(crate) fn debug(why: impl Into<String>) -> Self {
        Self::Debug(why.into())
    }

    pub(crate) fn error(why: impl Into<String>) -> Self {
        Self::Error(why.into())
    }
}
