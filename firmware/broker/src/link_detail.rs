//! What monitoring shows of links of one kind only.

/// What a link has beyond [`LinkStatus`](crate::LinkStatus), by its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LinkDetail {
    /// A leafnode, or our hub: nothing more.
    #[default]
    Leaf,
    /// A connection to a server of our cluster.
    Route(RouteDetail),
    /// A connection to a server of another cluster.
    Gateway(GatewayDetail),
}

/// A connection to a server of our cluster, as `/routez` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteDetail {
    /// Whether this server dialled it.
    pub is_solicited: bool,
    /// Whether a configured URL led there, on either side.
    pub is_configured: bool,
    /// What the peer takes, when it said so.
    pub import: Option<Subjects>,
    /// What the peer gives, when it said so.
    pub export: Option<Subjects>,
    /// The account that has this connection for itself; empty: it is one of the pool.
    pub account: String,
}

/// Subjects that may cross a route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subjects {
    /// Only these; empty: any.
    pub allow: Vec<String>,
    /// Not these.
    pub deny: Vec<String>,
}

/// A connection to a server of another cluster, as `/gatewayz` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayDetail {
    /// The name of the other cluster.
    pub gateway: String,
    /// Which way messages go on it.
    pub way: GatewayWay,
    /// Whether the configuration names it; of those that are dialled.
    pub is_configured: bool,
    /// What each account is to the other end; the subscriptions are the broker's.
    pub accounts: Vec<GatewayAccount>,
}

/// Which way messages go on a gateway connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GatewayWay {
    /// To the other cluster: this server dialled.
    #[default]
    Outbound,
    /// From the other cluster.
    Inbound,
}

/// One account on a gateway connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayAccount {
    /// Its name.
    pub name: String,
    /// How it is decided what is sent.
    pub mode: InterestMode,
    /// Subjects that are known to interest nobody, while others are sent.
    pub no_interest: usize,
}

/// How it is decided what is sent to another cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterestMode {
    /// All that isn't known to interest nobody.
    #[default]
    Optimistic,
    /// As before, while the interest is being told.
    Transitioning,
    /// What somebody there wants.
    InterestOnly,
}

impl InterestMode {
    /// As monitoring names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Optimistic => "Optimistic",
            Self::Transitioning => "Transitioning",
            Self::InterestOnly => "Interest-Only",
        }
    }
}
