use crate::duration;
use crate::limits::AUTH_TIMEOUT_SECONDS_ADVISED;
use crate::nkey;
use crate::options::callout::AuthCallout;
use crate::options::permissions::{self, Permissions};
use crate::options::sizes::{below_zero, is_below_zero};
use crate::position::Position;
use crate::report::{Report, set};
use crate::secret::Secret;
use crate::unsupported::Block;
use crate::value::{Kind, Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// The `authorization` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// The name of the single user.
    pub user: Option<String>,
    /// The password of the single user.
    pub password: Option<Secret>,
    /// The token that every client must show.
    pub token: Option<Secret>,
    /// How long a client may take to authenticate. 2 s by default.
    pub timeout: Duration,
    /// Users of the global account.
    pub users: Vec<User>,
    /// Given to users without permissions of their own; already applied to `users`.
    pub default_permissions: Option<Permissions>,
    /// Who is asked who clients are.
    pub callout: Option<AuthCallout>,
    /// The single user may come only through a trusted proxy.
    pub proxy_required: bool,
}

impl Default for Authorization {
    fn default() -> Self {
        Self {
            user: None,
            password: None,
            token: None,
            timeout: Duration::from_secs(2),
            users: Vec::new(),
            default_permissions: None,
            callout: None,
            proxy_required: false,
        }
    }
}

/// One user of `authorization` or of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Who.
    pub identity: Identity,
    /// What is allowed; `None` everything.
    pub permissions: Option<Permissions>,
    /// How the user may connect; empty is any way.
    pub connection_types: Vec<ConnectionType>,
    /// It may come only through a trusted proxy.
    pub proxy_required: bool,
}

/// How a user proves who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A name and a password, plain or bcrypt.
    Password {
        /// The name.
        user: String,
        /// The password; may be empty.
        password: Secret,
    },
    /// A public user nkey, `U...`.
    Nkey(String),
}

impl Identity {
    /// The name or the key.
    pub fn name(&self) -> &str {
        match self {
            Self::Password { user, .. } => user,
            Self::Nkey(key) => key,
        }
    }
}

/// A way to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionType {
    /// `STANDARD`
    Standard,
    /// `WEBSOCKET`
    Websocket,
    /// `LEAFNODE`
    Leafnode,
    /// `LEAFNODE_WS`
    LeafnodeWs,
    /// `MQTT`
    Mqtt,
    /// `MQTT_WS`
    MqttWs,
    /// `IN_PROCESS`
    InProcess,
}

impl ConnectionType {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_uppercase().as_str() {
            "STANDARD" => Self::Standard,
            "WEBSOCKET" => Self::Websocket,
            "LEAFNODE" => Self::Leafnode,
            "LEAFNODE_WS" => Self::LeafnodeWs,
            "MQTT" => Self::Mqtt,
            "MQTT_WS" => Self::MqttWs,
            "IN_PROCESS" => Self::InProcess,
            _ => return None,
        })
    }
}

/// The users that were read so far, to find duplicates across blocks.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// Reports users that were seen before.
    pub(crate) fn add(&mut self, users: &[(User, Position)], report: &mut Report) {
        for (user, at) in users {
            let name = user.identity.name();
            if !self.0.insert(name.to_owned()) {
                let kind = match user.identity {
                    Identity::Password { .. } => "user",
                    Identity::Nkey(_) => "nkey",
                };
                let text = format!("Duplicate {kind} {name:?} detected");
                report.error(at, text, "user names are unique across all accounts");
            }
        }
    }
}

impl Authorization {
    pub(crate) fn read(value: &Value, names: &mut Names, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "Expected authorization to be a map/struct")?;
        let mut auth = Self::default();
        let mut users = None;
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "user" | "username" => set(&mut auth.user, report.text(value)),
                "pass" | "password" => set(&mut auth.password, report.secret(value)),
                "token" => set(&mut auth.token, report.secret(value)),
                "timeout" => set(&mut auth.timeout, timeout(&entry.key, value, "", report)),
                "users" => users = read_users(value, report),
                "default_permission" | "default_permissions" | "permissions" => {
                    auth.default_permissions = permissions::read(value, report);
                }
                "auth_callout" | "auth_hook" => auth.callout = AuthCallout::read(value, report),
                "proxy_required" => set(&mut auth.proxy_required, report.boolean(value)),
                _ => report.other(Block::Authorization, entry),
            }
        }
        let single = auth.user.is_some() || auth.password.is_some();
        if single && auth.token.is_some() {
            report.error(
                &value.at,
                "Cannot have a user/pass and token",
                "remove one of them",
            );
        }
        if users.is_some() && auth.user.is_some() {
            let text = "Can not have a single user/pass and a users array";
            report.error(&value.at, text, "move the single user into the array");
        }
        if users.is_some() && auth.token.is_some() {
            report.error(&value.at, "Can not have a token and a users array", "");
        }
        let users = users.unwrap_or_default();
        names.add(&users, report);
        auth.users = with_defaults(users, auth.default_permissions.as_ref());
        Some(auth)
    }
}

/// Users without permissions of their own take the defaults.
pub(crate) fn with_defaults(
    users: Vec<(User, Position)>,
    defaults: Option<&Permissions>,
) -> Vec<User> {
    let apply = |(mut user, _): (User, Position)| {
        if user.permissions.is_none() {
            user.permissions = defaults.cloned();
        }
        user
    };
    users.into_iter().map(apply).collect()
}

/// An authorization timeout: seconds, or a duration. `block` names it in errors.
pub(crate) fn timeout(
    key: &str,
    value: &Value,
    block: &str,
    report: &mut Report,
) -> Option<Duration> {
    if is_below_zero(value) {
        report.note(&value.at, below_zero(key));
        return None;
    }
    let seconds = match &value.kind {
        Kind::Integer(n) => u64::try_from(*n).ok().map(Duration::from_secs),
        Kind::Float(f) => Duration::try_from_secs_f64(*f).ok(),
        Kind::String(_) => {
            let text = value.as_str().unwrap_or_default();
            let nanos = match duration::parse(text) {
                Ok(nanos) => nanos,
                Err(why) => {
                    let text =
                        format!("error parsing {block}authorization config, 'timeout' {why}");
                    report.error(&value.at, text, "write a number of seconds or \"2s\"");
                    return None;
                }
            };
            u64::try_from(nanos).ok().map(Duration::from_nanos)
        }
        Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = format!("error parsing {block}authorization config, 'timeout' wrong type");
            report.error(&value.at, text, "write a number of seconds or \"2s\"");
            return None;
        }
    };
    let Some(timeout) = seconds else {
        report.error(&value.at, "invalid timeout, needs to be positive", "");
        return None;
    };
    if timeout > Duration::from_secs(AUTH_TIMEOUT_SECONDS_ADVISED) {
        let text = format!(
            "invalid use of field {key:?}: timeout of {0} ({0:.6} seconds) is high, consider \
             keeping it under 60 seconds. possibly caused by unquoted duration; use '1m' instead \
             of 1m, for example",
            timeout.as_secs_f64()
        );
        report.warning(&value.at, text, "");
    }
    Some(timeout).filter(|t| !t.is_zero())
}

/// A list of users, each with its place.
pub(crate) fn read_users(value: &Value, report: &mut Report) -> Option<Vec<(User, Position)>> {
    let values = report.array(value, "Expected users field to be an array")?;
    let mut users = Vec::new();
    for value in values {
        let wrong = "Expected user entry to be a map/struct";
        if let Some(map) = report.map(value, wrong)
            && let Some(user) = read_user(map, &value.at, report)
        {
            users.push((user, value.at.clone()));
        }
    }
    Some(users)
}

fn read_user(map: &Map, at: &Position, report: &mut Report) -> Option<User> {
    let (mut name, mut password, mut key) = (None, None, None);
    let mut permissions = None;
    let mut connection_types = Vec::new();
    let mut proxy_required = false;
    for entry in map {
        let value = &entry.value;
        match entry.key.to_lowercase().as_str() {
            "nkey" => set(&mut key, report.text(value)),
            "user" | "username" => set(&mut name, report.text(value)),
            "pass" | "password" => set(&mut password, report.secret(value)),
            "permission" | "permissions" | "authorization" => {
                permissions = permissions::read(value, report);
            }
            "allowed_connection_types" | "connection_types" | "clients" => {
                set(&mut connection_types, read_connection_types(value, report));
            }
            "proxy_required" => set(&mut proxy_required, report.boolean(value)),
            _ => report.other(Block::User, entry),
        }
    }
    let identity = match (key, name, password) {
        (None, None, _) => {
            report.error(at, "User entry requires a user", "add user: \"name\"");
            return None;
        }
        (None, Some(user), password) => Identity::Password {
            user,
            password: password.unwrap_or_default(),
        },
        (Some(key), None, None) if nkey::is_public_user(&key) => Identity::Nkey(key),
        (Some(_), None, None) => {
            let remedy = "it has 56 characters and starts with U";
            report.error(at, "Not a valid public nkey for a user", remedy);
            return None;
        }
        (Some(_), _, _) => {
            report.error(
                at,
                "Nkey users do not take usernames or passwords",
                "remove them",
            );
            return None;
        }
    };
    Some(User {
        identity,
        permissions,
        connection_types,
        proxy_required,
    })
}

fn read_connection_types(value: &Value, report: &mut Report) -> Option<Vec<ConnectionType>> {
    let texts = report.strings("allowed connection types", value)?;
    let (good, bad): (Vec<_>, Vec<_>) = texts
        .iter()
        .map(|t| (t, ConnectionType::parse(t)))
        .partition(|(_, kind)| kind.is_some());
    if !bad.is_empty() {
        let bad: Vec<_> = bad
            .iter()
            .map(|(t, _)| format!("{:?}", t.to_uppercase()))
            .collect();
        let text = format!("invalid connection types [{}]", bad.join(" "));
        let remedy = "STANDARD, WEBSOCKET, LEAFNODE, LEAFNODE_WS, MQTT, MQTT_WS or IN_PROCESS";
        report.error(&value.at, text, remedy);
    }
    Some(good.into_iter().filter_map(|(_, kind)| kind).collect())
}
