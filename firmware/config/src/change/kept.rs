//! The options that a running server keeps.

use super::{ReloadRefused, number, optional, plain};
use crate::config::Config;
use crate::duration::Go;
use crate::options::features::FeatureFlags;
use crate::options::jetstream::{JetStream, Sync};
use crate::options::leafnodes::LeafNodes;
use crate::options::operator::OperatorMode;
use crate::options::server::Listen;
use crate::options::websocket::WebSocket;
use std::collections::BTreeMap;

/// Refuses a change of any of them.
pub(super) fn check(old: &Config, new: &Config) -> Result<(), ReloadRefused> {
    server_is_kept(old, new)?;
    accounts_are_kept(old, new)?;
    callout_is_kept(old, new)?;
    operators_are_kept(&old.operator_mode, &new.operator_mode)?;
    jetstream_is_kept(&old.jetstream, &new.jetstream)?;
    leafnodes_are_kept(&old.leafnodes, &new.leafnodes)?;
    websocket_is_kept(&old.websocket, &new.websocket)?;
    if old.ota != new.ota {
        return Err(ReloadRefused::because("ota"));
    }
    super::peers::check(old, new)
}

/// Refuses a change of an option, showing it as nats-server does.
pub(super) fn kept<T: PartialEq>(
    name: &str,
    old: &T,
    new: &T,
    show: impl Fn(&T) -> String,
) -> Result<(), ReloadRefused> {
    if old == new {
        return Ok(());
    }
    Err(ReloadRefused::because(&format!(
        "{name}: old={}, new={}",
        show(old),
        show(new)
    )))
}

fn server_is_kept(old: &Config, new: &Config) -> Result<(), ReloadRefused> {
    kept("Host", &old.host, &new.host, plain)?;
    // Any free port keeps the one that is bound.
    if new.port != 0 {
        kept("Port", &old.port, &new.port, plain)?;
    }
    kept("ServerName", &old.server_name, &new.server_name, optional)?;
    let host = |listen: &Option<Listen>| listen.as_ref().map(|l| l.host.clone());
    let port = |listen: &Option<Listen>| listen.as_ref().map(|l| l.port);
    if old.monitor.is_some() && new.monitor.is_some() {
        kept(
            "HTTPHost",
            &host(&old.monitor),
            &host(&new.monitor),
            optional,
        )?;
    }
    if port(&new.monitor) != Some(0) || old.monitor.is_none() {
        let (a, b) = (&port(&old.monitor), &port(&new.monitor));
        kept("HTTPPort", a, b, |port| match port {
            Some(0) => "-1".to_owned(),
            port => number(port),
        })?;
    }
    kept(
        "HTTPBasePath",
        &old.monitor_base_path,
        &new.monitor_base_path,
        plain,
    )?;
    limits_are_kept(old, new)
}

fn limits_are_kept(old: &Config, new: &Config) -> Result<(), ReloadRefused> {
    kept(
        "LogSizeLimit",
        &old.log.size_limit,
        &new.log.size_limit,
        number,
    )?;
    kept("LogMaxFiles", &old.log.max_num, &new.log.max_num, number)?;
    let (a, b) = (&old.limits, &new.limits);
    kept(
        "MaxSubs",
        &a.max_subscriptions,
        &b.max_subscriptions,
        number,
    )?;
    kept(
        "MaxSubTokens",
        &a.max_subscription_tokens,
        &b.max_subscription_tokens,
        number,
    )?;
    kept("MaxPending", &a.max_pending, &b.max_pending, plain)?;
    kept(
        "MaxClosedClients",
        &a.max_closed_clients,
        &b.max_closed_clients,
        plain,
    )?;
    let (a, b) = (&old.write_timeout, &new.write_timeout);
    kept("WriteTimeout", a, b, |policy| policy.name().to_owned())?;
    let duration = |d: &std::time::Duration| Go(*d).to_string();
    kept(
        "LameDuckDuration",
        &old.lame_duck_duration,
        &new.lame_duck_duration,
        duration,
    )?;
    let (a, b) = (&old.lame_duck_grace_period, &new.lame_duck_grace_period);
    kept("LameDuckGracePeriod", a, b, duration)?;
    kept(
        "NoHeaderSupport",
        &old.no_header_support,
        &new.no_header_support,
        plain,
    )?;
    kept(
        "NoSublistCache",
        &old.no_sublist_cache,
        &new.no_sublist_cache,
        plain,
    )?;
    kept("AllowNonTLS", &old.allow_non_tls, &new.allow_non_tls, plain)
}

fn accounts_are_kept(old: &Config, new: &Config) -> Result<(), ReloadRefused> {
    let still_there = || {
        let name = old.no_auth_user.as_deref().unwrap_or_default();
        let account_users = new.accounts.iter().flat_map(|account| &account.users);
        let mut users = new.authorization.users.iter().chain(account_users);
        users.any(|user| user.identity.name() == name)
    };
    if new.no_auth_user.is_some() || still_there() {
        kept("NoAuthUser", &old.no_auth_user, &new.no_auth_user, optional)?;
    }
    let system = |config: &Config| {
        config
            .system_account
            .clone()
            .unwrap_or_else(|| "$SYS".to_owned())
    };
    if system(old) != system(new) {
        kept(
            "SystemAccount",
            &old.system_account,
            &new.system_account,
            optional,
        )?;
    }
    kept(
        "NoSystemAccount",
        &old.no_system_account,
        &new.no_system_account,
        plain,
    )?;
    kept(
        "JsAccDefaultDomain",
        &old.default_js_domain,
        &new.default_js_domain,
        go_map,
    )?;
    let (a, b) = (&old.proxy_protocol, &new.proxy_protocol);
    kept("ProxyProtocol", a, b, plain)?;
    kept("ProfPort", &old.profile_port, &new.profile_port, plain)?;
    let (a, b) = (&old.feature_flags, &new.feature_flags);
    kept("FeatureFlags", a, b, FeatureFlags::shown)
}

fn callout_is_kept(old: &Config, new: &Config) -> Result<(), ReloadRefused> {
    let (a, b) = (&old.authorization, &new.authorization);
    kept("AuthCallout", &a.callout, &b.callout, |callout| {
        callout.as_ref().map_or_else(
            || "<nil>".to_owned(),
            |callout| {
                format!(
                    "&{{{} {} [{}] {} [{}]}}",
                    callout.issuer,
                    callout.account,
                    callout.auth_users.join(" "),
                    callout.xkey.as_deref().unwrap_or_default(),
                    callout.allowed_accounts.join(" ")
                )
            },
        )
    })?;
    kept("ProxyRequired", &a.proxy_required, &b.proxy_required, plain)
}

fn operators_are_kept(old: &OperatorMode, new: &OperatorMode) -> Result<(), ReloadRefused> {
    if old.operators != new.operators {
        return Err(ReloadRefused::because("TrustedOperators"));
    }
    let keys = |keys: &Vec<String>| format!("[{}]", keys.join(" "));
    kept("TrustedKeys", &old.trusted_keys, &new.trusted_keys, keys)?;
    if old.resolver.is_some() != new.resolver.is_some() {
        let text = "config reload does not support moving to or from an account resolver";
        return Err(ReloadRefused(text.to_owned()));
    }
    Ok(())
}

fn go_map(map: &BTreeMap<String, String>) -> String {
    let entries: Vec<_> = map.iter().map(|(k, v)| format!("{k}:{v}")).collect();
    format!("map[{}]", entries.join(" "))
}

fn jetstream_is_kept(old: &JetStream, new: &JetStream) -> Result<(), ReloadRefused> {
    store_dir_is_kept(old, new)?;
    // The keys are not shown.
    for (name, old, new) in [
        ("JetStreamKey", &old.encryption.key, &new.encryption.key),
        (
            "JetStreamOldKey",
            &old.encryption.previous,
            &new.encryption.previous,
        ),
    ] {
        if old != new {
            return Err(ReloadRefused::because(name));
        }
    }
    let (a, b) = (&old.encryption.cipher, &new.encryption.cipher);
    kept("JetStreamCipher", a, b, plain)?;
    let (a, b) = (&old.max_index_memory, &new.max_index_memory);
    kept("JetStreamMaxIndexMemory", a, b, number_of)?;
    kept("JetStreamDomain", &old.domain, &new.domain, optional)?;
    kept(
        "JetStreamUniqueTag",
        &old.unique_tag,
        &new.unique_tag,
        optional,
    )?;
    kept("NoJetStreamStrict", &!old.strict, &!new.strict, plain)?;
    let always = |sync: Sync| sync == Sync::Always;
    kept("SyncAlways", &always(old.sync), &always(new.sync), plain)?;
    kept("SyncInterval", &old.sync, &new.sync, |sync| match sync {
        Sync::Always => "2m0s".to_owned(),
        Sync::Every(interval) => Go(*interval).to_string(),
    })?;
    kept(
        "StreamMaxBufferedSize",
        &old.max_buffered_size,
        &new.max_buffered_size,
        plain,
    )?;
    kept(
        "StreamMaxBufferedMsgs",
        &old.max_buffered_msgs,
        &new.max_buffered_msgs,
        plain,
    )?;
    let (a, b) = (&old.request_queue_limit, &new.request_queue_limit);
    kept("JetStreamRequestQueueLimit", a, b, plain)?;
    kept(
        "JetStreamInfoQueueLimit",
        &old.info_queue_limit,
        &new.info_queue_limit,
        plain,
    )
}

/// Of a JetStream that runs. One that ends with this may be named no more, but nowhere else.
fn store_dir_is_kept(old: &JetStream, new: &JetStream) -> Result<(), ReloadRefused> {
    if !old.enabled || old.store_dir == new.store_dir {
        return Ok(());
    }
    match (&new.store_dir, new.enabled) {
        (Some(_), _) => Err(ReloadRefused::because("jetstream storage directory")),
        (None, true) => Err(ReloadRefused::because("jetstream storage dir")),
        (None, false) => Ok(()),
    }
}

fn number_of(bytes: &Option<u64>) -> String {
    bytes.map_or_else(|| "none".to_owned(), |bytes| bytes.to_string())
}

/// Only its TLS may change; the values may hold secrets and are not shown.
fn websocket_is_kept(old: &WebSocket, new: &WebSocket) -> Result<(), ReloadRefused> {
    let mut new = new.clone();
    new.tls.clone_from(&old.tls);
    // Any free port keeps the one that is bound.
    if let (Some(old), Some(new)) = (&old.listen, &mut new.listen)
        && new.port == 0
    {
        new.port = old.port;
    }
    if *old == new {
        Ok(())
    } else {
        Err(ReloadRefused::because("Websocket"))
    }
}

fn leafnodes_are_kept(old: &LeafNodes, new: &LeafNodes) -> Result<(), ReloadRefused> {
    fn field<T: PartialEq>(
        name: &str,
        old: &T,
        new: &T,
        show: impl Fn(&T) -> String,
    ) -> Result<(), ReloadRefused> {
        kept(&format!("LeafNode: field \"{name}\""), old, new, show)
    }
    let host = |leaf: &LeafNodes| leaf.listen.as_ref().map(|l| l.host.clone());
    let port = |leaf: &LeafNodes| leaf.listen.as_ref().map(|l| l.port);
    field("Host", &host(old), &host(new), optional)?;
    if port(new) != Some(0) {
        field("Port", &port(old), &port(new), number)?;
    }
    let (a, b) = (&old.authorization, &new.authorization);
    field("Username", &a.user, &b.user, optional)?;
    field("Password", &a.password, &b.password, optional)?;
    field("Nkey", &a.nkey, &b.nkey, optional)?;
    field("Account", &a.account, &b.account, optional)?;
    field("Users", &a.users, &b.users, |users| {
        let names: Vec<_> = users.iter().map(|user| user.user.as_str()).collect();
        format!("[{}]", names.join(" "))
    })?;
    let duration = |d: &std::time::Duration| Go(*d).to_string();
    let (proxy, new_proxy) = (&a.proxy_required, &b.proxy_required);
    field("ProxyRequired", proxy, new_proxy, plain)?;
    field("AuthTimeout", &a.timeout, &b.timeout, |t| {
        t.as_secs_f64().to_string()
    })?;
    field("Advertise", &old.advertise, &new.advertise, optional)?;
    field("NoAdvertise", &old.no_advertise, &new.no_advertise, plain)?;
    field(
        "ReconnectInterval",
        &old.reconnect_interval,
        &new.reconnect_interval,
        duration,
    )?;
    field(
        "DialTimeout",
        &old.dial_timeout,
        &new.dial_timeout,
        duration,
    )?;
    field(
        "WriteDeadline",
        &old.write_deadline,
        &new.write_deadline,
        |d| Go(d.unwrap_or_default()).to_string(),
    )?;
    let (a, b) = (&old.write_timeout, &new.write_timeout);
    field("WriteTimeout", a, b, |policy| policy.name().to_owned())?;
    field("MinVersion", &old.min_version, &new.min_version, optional)?;
    field(
        "IsolateLeafnodeInterest",
        &old.isolate_interest,
        &new.isolate_interest,
        plain,
    )
}
