//! From the configuration's words to what the account, broker and streams crates are built from.

use frond_account as account;
use frond_broker::{FastProducers, Limits};
use frond_config::{self as config, Config, ConfigErrors};
use frond_jetstream::AccountLimits;

use crate::{Authority, NodeSeed, sharing};

/// Who may connect, as the configuration says.
pub(crate) fn plan(config: &Config, authority: &Authority) -> account::Plan {
    let mut accounts = Vec::new();
    let mut users = global_users(&config.authorization);
    for one in &config.accounts {
        accounts.push(account::AccountPlan {
            name: one.name.clone(),
            limits: connection_limits(&one.limits),
            jetstream: one.jetstream.is_some(),
            exports: sharing::exports(&one.exports),
            imports: sharing::imports(&one.imports),
            mappings: sharing::mappings(&one.mappings),
            default_permissions: one.default_permissions.as_ref().map(permissions),
            msg_trace: one.msg_trace.as_ref().map(sharing::msg_trace),
        });
        users.extend(
            one.users
                .iter()
                .map(|user| user_plan(user, Some(&one.name))),
        );
    }
    accounts.push(account::AccountPlan {
        name: account::DEFAULT_ACCOUNT.to_owned(),
        jetstream: config.jetstream.enabled && only_global(config),
        mappings: sharing::mappings(&config.mappings),
        ..account::AccountPlan::default()
    });
    account::Plan {
        accounts,
        users,
        no_auth_user: config.no_auth_user.clone(),
        global_is_open: names_system_users_only(config, authority),
        system_account: authority.system_account.clone(),
        trust: authority.trust.clone(),
        leaf_users: leaf_users(&config.leafnodes.authorization),
        leaf_account: config.leafnodes.authorization.account.clone(),
        websockets: websocket_door(config),
        cert_maps: account::CertMaps {
            clients: config.tls.as_ref().is_some_and(|tls| tls.map),
            websockets: config.websocket.tls.as_ref().is_some_and(|tls| tls.map),
            leafs: config.leafnodes.tls.as_ref().is_some_and(|tls| tls.map),
        },
        callout: config.authorization.callout.as_ref().map(callout),
        proxies: config
            .proxies
            .as_ref()
            .map(|proxies| proxies.trusted.clone())
            .unwrap_or_default(),
        default_domains: config.default_js_domain.clone(),
    }
}

/// Whether the one account of the file is the system account, so that nothing in it is about who
/// may use this server.
///
/// spec: nats-server v2.15.1 server/server.go `configureAccounts`
fn names_system_users_only(config: &Config, authority: &Authority) -> bool {
    let names = |name: &str| config.accounts.iter().any(|one| one.name == name);
    let system = match config.system_account.as_deref() {
        Some(system) => system,
        None if names(account::DEFAULT_SYSTEM_ACCOUNT) => account::DEFAULT_SYSTEM_ACCOUNT,
        None => return false,
    };
    let is_known = |name: &str| name == system || name == account::DEFAULT_ACCOUNT;
    authority.trust.is_none()
        && system != account::DEFAULT_ACCOUNT
        && config.no_auth_user.is_none()
        && config.authorization == config::Authorization::default()
        && config.accounts.iter().all(|one| is_known(&one.name))
}

fn callout(given: &config::AuthCallout) -> account::CalloutPlan {
    account::CalloutPlan {
        issuer: given.issuer.clone(),
        account: given.account.clone(),
        auth_users: given.auth_users.clone(),
        xkey: given.xkey.clone(),
        allowed_accounts: given.allowed_accounts.clone(),
    }
}

/// Who may connect by WebSocket, when its block says anything about it: those that are listed
/// anywhere, and its own single user instead of the server's.
fn websocket_door(config: &Config) -> Option<account::DoorPlan> {
    let socket = &config.websocket;
    if socket.listen.is_none() || !socket.overrides_authorization() {
        return None;
    }
    let auth = &socket.authorization;
    let single = match (&auth.user, &auth.token) {
        (Some(user), _) => Some(account::Login::Password {
            user: user.clone(),
            secret: secret(auth.password.as_ref()),
        }),
        (None, Some(token)) => Some(account::Login::Token(account::Secret::new(token.expose()))),
        (None, None) => None,
    };
    let single = single.map(|login| account::UserPlan {
        only: None,
        proxy_required: false,
        login,
        account: None,
        permissions: None,
    });
    let global = config.authorization.users.iter();
    let global = global.map(|user| user_plan(user, None));
    let named = config.accounts.iter().flat_map(|account| {
        let users = account.users.iter();
        users.map(|user| user_plan(user, Some(&account.name)))
    });
    Some(account::DoorPlan {
        users: single.into_iter().chain(global).chain(named).collect(),
        no_auth_user: socket.no_auth_user.clone(),
    })
}

/// Whether the accounts' exports and imports fit each other.
///
/// # Errors
/// Each misfit, at its place in the file.
pub fn check_accounts(config: &Config) -> Result<(), ConfigErrors> {
    match account::Directory::build(&plan(config, &Authority::default()), None) {
        Err(account::DirectoryError::Sharing(texts)) => Err(config.at_accounts(texts)),
        // What else may be wrong with users is told when the node is built.
        Ok(_) | Err(_) => Ok(()),
    }
}

fn global_users(authorization: &config::Authorization) -> Vec<account::UserPlan> {
    let single = match (&authorization.user, &authorization.token) {
        (Some(user), _) => Some(account::Login::Password {
            user: user.clone(),
            secret: secret(authorization.password.as_ref()),
        }),
        (None, Some(token)) => Some(account::Login::Token(account::Secret::new(token.expose()))),
        (None, None) => None,
    };
    let single = single.map(|login| account::UserPlan {
        only: None,
        proxy_required: authorization.proxy_required,
        login,
        account: None,
        permissions: authorization.default_permissions.as_ref().map(permissions),
    });
    let listed = authorization.users.iter().map(|user| user_plan(user, None));
    single.into_iter().chain(listed).collect()
}

fn secret(password: Option<&config::Secret>) -> account::Secret {
    account::Secret::new(password.map_or("", config::Secret::expose))
}

fn user_plan(user: &config::User, account: Option<&str>) -> account::UserPlan {
    let login = match &user.identity {
        config::Identity::Password { user, password } => account::Login::Password {
            user: user.clone(),
            secret: account::Secret::new(password.expose()),
        },
        config::Identity::Nkey(key) => account::Login::Nkey(key.clone()),
    };
    account::UserPlan {
        only: connection_types(&user.connection_types),
        login,
        account: account.map(str::to_owned),
        permissions: user.permissions.as_ref().map(permissions),
        proxy_required: user.proxy_required,
    }
}

fn connection_types(types: &[config::ConnectionType]) -> Option<Vec<account::ConnectionType>> {
    use account::ConnectionType as Out;
    use config::ConnectionType as In;
    let one = |kind: &In| match kind {
        In::Standard => Out::Standard,
        In::Websocket => Out::WebSocket,
        In::Leafnode => Out::Leafnode,
        In::LeafnodeWs => Out::LeafnodeWs,
        In::Mqtt => Out::Mqtt,
        In::MqttWs => Out::MqttWs,
        In::InProcess => Out::InProcess,
    };
    (!types.is_empty()).then(|| types.iter().map(one).collect())
}

fn leaf_users(authorization: &config::LeafAuthorization) -> Vec<account::UserPlan> {
    let plan = |login, account: &Option<String>, proxy_required| account::UserPlan {
        only: None,
        proxy_required: proxy_required || authorization.proxy_required,
        login,
        account: account.clone(),
        permissions: None,
    };
    let single = authorization
        .user
        .as_ref()
        .map(|user| account::Login::Password {
            user: user.clone(),
            secret: secret(authorization.password.as_ref()),
        });
    let key = authorization.nkey.clone().map(account::Login::Nkey);
    let own = single
        .or(key)
        .map(|login| plan(login, &authorization.account, false));
    let listed = authorization.users.iter().map(|user| {
        let login = account::Login::Password {
            user: user.user.clone(),
            secret: account::Secret::new(user.password.expose()),
        };
        plan(login, &user.account, user.proxy_required)
    });
    own.into_iter().chain(listed).collect()
}

fn permissions(given: &config::Permissions) -> account::Permissions {
    account::Permissions {
        publish: rules(&given.publish),
        subscribe: rules(&given.subscribe),
        allow_responses: given
            .allow_responses
            .map(|responses| account::AllowResponses {
                max_msgs: responses
                    .max_msgs
                    .map(|max| u32::try_from(max).unwrap_or(u32::MAX)),
                expires: responses.expires,
            }),
    }
}

fn rules(given: &config::SubjectRules) -> account::SubjectRules {
    account::SubjectRules {
        allow: given.allow.iter().flatten().map(rule).collect(),
        deny: given.deny.iter().map(rule).collect(),
    }
}

fn rule(rule: &config::SubjectRule) -> Box<str> {
    match &rule.queue {
        Some(queue) => format!("{} {queue}", rule.subject).into(),
        None => rule.subject.as_str().into(),
    }
}

fn connection_limits(limits: &config::AccountLimits) -> account::AccountLimits {
    let number = |value: Option<u64>| value.map(|value| u32::try_from(value).unwrap_or(u32::MAX));
    account::AccountLimits {
        connections_max: number(limits.max_connections),
        subscriptions_max: number(limits.max_subscriptions),
        payload_bytes_max: number(limits.max_payload),
        leafnodes_max: number(limits.max_leafnodes),
    }
}

/// Bytes that may be kept for all connections, and for those on their way in.
fn memory_bytes_max(config: &Config, seed: &NodeSeed) -> usize {
    let given = config.limits.max_connections_memory;
    given.map_or(seed.memory_bytes_max, |bytes| {
        usize::try_from(bytes).unwrap_or(usize::MAX)
    })
}

/// Of those, the part of peers that are not connections of the broker yet.
pub(crate) fn lobby_bytes_max(config: &Config, seed: &NodeSeed) -> usize {
    memory_bytes_max(config, seed) / 8
}

/// What connections may use.
pub(crate) fn limits(config: &Config, seed: &NodeSeed) -> Limits {
    let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let own = Limits::default();
    let ceiling = memory_bytes_max(config, seed);
    Limits {
        connections_max: size(config.limits.max_connections),
        subscriptions_max: config.limits.max_subscriptions.map(size),
        subscription_tokens_max: config.limits.max_subscription_tokens.map(usize::from),
        control_line_bytes_max: size(config.limits.max_control_line),
        payload_bytes_max: Some(size(config.limits.max_payload)),
        outbox_bytes_max: size(config.limits.max_pending),
        outboxes_bytes_max: Some(seed.outboxes_bytes_max.min(ceiling / 2)),
        memory_bytes_max: Some(ceiling - lobby_bytes_max(config, seed)),
        strangers_max: seed.strangers_max,
        fast_producers: if config.no_fast_producer_stall {
            FastProducers::Go
        } else {
            FastProducers::Wait
        },
        auth_time_max: config.authorization.timeout,
        ping_interval: config.ping_interval,
        pings_out_max: u32::try_from(config.ping_max).unwrap_or(u32::MAX),
        closed_clients_max: size(config.limits.max_closed_clients).min(own.closed_clients_max),
    }
}

/// What each account may use of JetStream, by name; `$G` has it all when no account is named.
pub(crate) fn jetstream_accounts(config: &Config) -> Vec<(String, AccountLimits)> {
    let named: Vec<_> = config
        .accounts
        .iter()
        .filter_map(|one| Some((one.name.clone(), stream_limits(one.jetstream.as_ref()?))))
        .collect();
    if named.is_empty() && only_global(config) {
        vec![(
            account::DEFAULT_ACCOUNT.to_owned(),
            AccountLimits::default(),
        )]
    } else {
        named
    }
}

/// Whether no account but `$G` and the system's is configured; only then `$G` has JetStream unasked.
///
/// spec: nats-server v2.15.1 server/accounts.go `globalAccountOnly`
fn only_global(config: &Config) -> bool {
    if config.operator_mode.is_on() {
        return false;
    }
    let system = config.system_account.as_deref();
    let mut names = config.accounts.iter().map(|one| one.name.as_str());
    names.all(|name| Some(name) == system || name == account::DEFAULT_SYSTEM_ACCOUNT)
}

fn stream_limits(given: &config::AccountJetStream) -> AccountLimits {
    let number =
        |value: Option<u64>| value.map_or(-1, |value| i64::try_from(value).unwrap_or(i64::MAX));
    AccountLimits {
        max_memory: number(given.max_memory),
        max_storage: number(given.max_store),
        max_streams: number(given.max_streams),
        max_consumers: number(given.max_consumers),
        max_ack_pending: number(given.max_ack_pending),
        memory_max_stream_bytes: number(given.memory_max_stream_bytes),
        storage_max_stream_bytes: number(given.store_max_stream_bytes),
        max_bytes_required: given.max_bytes_required,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each beside nats-server 2.15.1, which takes a client that says nothing where this is true.
    #[test]
    fn a_file_about_the_system_account_alone_is_about_nobody_else() {
        let users = "{ users: [ { user: a, password: a } ] }";
        for (text, wanted) in [
            (format!("accounts {{ $SYS {users} }}"), true),
            (format!("accounts {{ S {users} }}\nsystem_account: S"), true),
            (format!("accounts {{ S {users} }}"), false),
            (format!("accounts {{ $SYS {users}, A {{}} }}"), false),
            (
                format!("accounts {{ $SYS {users} }}\nauthorization {{ timeout: 1 }}"),
                false,
            ),
            (
                format!("accounts {{ $SYS {users}, S {{}} }}\nsystem_account: S"),
                false,
            ),
        ] {
            let loaded = frond_config::load_text(&text, "x.conf", &frond_config::Nothing);
            let plan = plan(&loaded.unwrap().config, &Authority::default());
            assert_eq!(plan.global_is_open, wanted, "{text}");
        }
    }
}
