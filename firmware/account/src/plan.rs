use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{
    CalloutPlan, ConnectionType, Credentials, Delegated, Export, Import, JwtUser, Mapping,
    Permissions, Secret, TracePlan, Trust,
};

/// What a [`crate::Directory`] is built from: plain values, whatever file they came from.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Accounts besides the default `$G`; one of the same name sets its limits.
    pub accounts: Vec<AccountPlan>,
    /// Who may connect. Empty: everyone may, as `$G`.
    pub users: Vec<UserPlan>,
    /// The user of those who give no credentials.
    pub no_auth_user: Option<String>,
    /// Who gives no credentials is in `$G`, though there are users: those of the system account.
    pub global_is_open: bool,
    /// The account of this server's own events; `None` is an unused `$SYS`.
    pub system_account: Option<String>,
    /// Who may connect as a leafnode; empty: the same as clients.
    pub leaf_users: Vec<UserPlan>,
    /// The account of leafnodes when nobody needs credentials; `None` is `$G`.
    pub leaf_account: Option<String>,
    /// Who may connect by WebSocket; `None`: the same as otherwise.
    pub websockets: Option<DoorPlan>,
    /// Who vouches for accounts and their users; `None`: nobody does.
    pub trust: Option<Trust>,
    /// Where certificates say who somebody is.
    pub cert_maps: CertMaps,
    /// Who is asked who peers are.
    pub callout: Option<CalloutPlan>,
    /// Public keys of the proxies that are trusted.
    pub proxies: Vec<String>,
    /// Accounts whose JetStream is another domain's unless they name one; an empty domain is that
    /// of whoever answers.
    pub default_domains: BTreeMap<String, String>,
}

/// Who may come in by one way, instead of those who may otherwise.
#[derive(Clone, Debug, Default)]
pub struct DoorPlan {
    /// Who may connect.
    pub users: Vec<UserPlan>,
    /// The user, one of those, of those who give no credentials.
    pub no_auth_user: Option<String>,
}

/// Where certificates say which user somebody is (`verify_and_map`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CertMaps {
    /// On the client port.
    pub clients: bool,
    /// On the WebSocket port.
    pub websockets: bool,
    /// On the leafnode port.
    pub leafs: bool,
}

/// One account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountPlan {
    /// Its name.
    pub name: String,
    /// What all its users together may do.
    pub limits: AccountLimits,
    /// Whether it has JetStream.
    pub jetstream: bool,
    /// What others may import.
    pub exports: Vec<Export>,
    /// What it takes from others.
    pub imports: Vec<Import>,
    /// What it renames; of several that fit the first counts.
    pub mappings: Vec<Mapping>,
    /// For users without permissions of their own.
    pub default_permissions: Option<Permissions>,
    /// Where messages with a `traceparent` are traced to.
    pub msg_trace: Option<TracePlan>,
}

/// What an account may use; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountLimits {
    /// Client and leafnode connections.
    pub connections_max: Option<u32>,
    /// Subscriptions of all connections.
    pub subscriptions_max: Option<u32>,
    /// Header and payload of one message.
    pub payload_bytes_max: Option<u32>,
    /// Leafnode connections.
    pub leafnodes_max: Option<u32>,
}

/// One user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPlan {
    /// How it proves itself.
    pub login: Login,
    /// Its account; `None` is `$G`.
    pub account: Option<String>,
    /// What it may do; `None` is everything.
    pub permissions: Option<Permissions>,
    /// How it may connect (`allowed_connection_types`); `None` is any way.
    pub only: Option<Vec<ConnectionType>>,
    /// Whether it may come only through a trusted proxy.
    pub proxy_required: bool,
}

/// How a user proves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// `user` and `pass`.
    Password {
        /// The user's name.
        user: String,
        /// Its password.
        secret: Secret,
    },
    /// `auth_token`.
    Token(Secret),
    /// `nkey` and a signature of the nonce.
    Nkey(String),
    /// `jwt` and, unless it is a bearer's, a signature of the nonce.
    Jwt(Arc<JwtUser>),
    /// Whatever the authorization service was content with.
    Delegated(Arc<Delegated>),
}

impl Login {
    /// Until when its holder may stay, unix nanoseconds; `None` is for ever.
    #[must_use]
    pub fn until_ns(&self) -> Option<i64> {
        match self {
            Self::Jwt(user) => user.until_ns,
            Self::Delegated(user) => user.until_ns,
            Self::Password { .. } | Self::Token(_) | Self::Nkey(_) => None,
        }
    }

    /// What its holder must have said to prove it, if that follows from what is known here.
    #[must_use]
    pub fn given(&self) -> Option<Credentials> {
        match self {
            Self::Password { user, secret } => Some(Credentials {
                user: Some(user.clone()),
                pass: Some(secret.plain()?.to_owned()),
                ..Credentials::default()
            }),
            Self::Token(secret) => Some(Credentials {
                auth_token: Some(secret.plain()?.to_owned()),
                ..Credentials::default()
            }),
            Self::Nkey(_) | Self::Jwt(_) | Self::Delegated(_) => None,
        }
    }

    /// The name shown in logs and monitoring; a token isn't shown.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Password { user, .. } => user,
            Self::Token(_) => "[REDACTED]",
            Self::Nkey(key) => key,
            Self::Jwt(user) => &user.subject,
            Self::Delegated(user) => &user.name,
        }
    }
}
