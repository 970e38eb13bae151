//! Routes and gateways.
//! spec: nats-server v2.15.1 server/reload.go `validateClusterOpts`, `diffRoutes`

use super::{Change, Changes, ReloadRefused, Reloadable, plain};
use crate::config::Config;
use crate::options::cluster::Cluster;
use crate::options::gateway::Gateway;
use crate::options::server::Listen;
use crate::options::tls::Tls;
use crate::options::url::RemoteUrl;

/// What a reload does to the routes; the new options say the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterChange {
    /// Servers to dial.
    pub routes_added: Vec<RemoteUrl>,
    /// Servers to leave and not to dial again.
    pub routes_removed: Vec<RemoteUrl>,
    /// Interest is told and taken anew.
    pub permissions: bool,
    /// Another number of connections: all that accounts share are made anew.
    pub pool_size: bool,
    /// Accounts that get a connection of their own.
    pub accounts_added: Vec<String>,
    /// Accounts that share connections from now on.
    pub accounts_removed: Vec<String>,
    /// Another compression: see [`Compression`](crate::Compression).
    pub compression: bool,
    /// Accepted routes have to authenticate as if they came now.
    pub authorization: bool,
    /// Routes whose certificates are not in the new pins go.
    pub pinned_certs: bool,
}

/// Refuses what a running server keeps.
pub(super) fn check(old: &Config, new: &Config) -> Result<(), ReloadRefused> {
    let (a, b) = (&old.cluster.listen, &new.cluster.listen);
    if !is_same_listener(a.as_ref(), b.as_ref()) {
        let host = |l: &Option<Listen>| l.as_ref().map_or_else(String::new, |l| l.host.clone());
        let port = |l: &Option<Listen>| l.as_ref().map_or(0, |l| l.port);
        super::kept::kept("cluster host", &host(a), &host(b), plain)?;
        super::kept::kept("cluster port", &port(a), &port(b), plain)?;
    }
    for account in accounts(new).iter().filter(|a| !accounts(old).contains(a)) {
        if !(knows(old, account) || knows(new, account)) {
            return Err(ReloadRefused(format!(
                "unable to add account {account:?} to the list of dedicated routes: account missing"
            )));
        }
    }
    gateway_is_kept(&old.gateway, &new.gateway)
}

/// Only its TLS may change; the values may hold secrets and are not shown.
fn gateway_is_kept(old: &Gateway, new: &Gateway) -> Result<(), ReloadRefused> {
    let mut new = new.clone();
    new.tls.clone_from(&old.tls);
    for (remote, before) in new.gateways.iter_mut().zip(&old.gateways) {
        remote.tls.clone_from(&before.tls);
    }
    if is_same_listener(old.listen.as_ref(), new.listen.as_ref()) {
        new.listen.clone_from(&old.listen);
    }
    if *old == new {
        Ok(())
    } else {
        Err(ReloadRefused::because("Gateway"))
    }
}

/// Any free port keeps the one that is bound.
fn is_same_listener(old: Option<&Listen>, new: Option<&Listen>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old.host == new.host && [0, old.port].contains(&new.port),
        (old, new) => old == new,
    }
}

fn accounts(config: &Config) -> Vec<String> {
    config.cluster.pinned_accounts(config.system_account_name())
}

fn knows(config: &Config, account: &str) -> bool {
    config.operator_mode.is_on()
        || account == "$G"
        || config.system_account_name() == Some(account)
        || config.accounts.iter().any(|known| known.name == account)
}

/// Notes what differs.
pub(super) fn collect(old: &Config, new: &Config, changes: &mut Changes) {
    let (a, b) = (&old.cluster, &new.cluster);
    if !is_like(a, b) || accounts(old) != accounts(new) || a.tls.is_some() || b.tls.is_some() {
        changes.options.push(Change {
            option: Reloadable::Cluster,
            value: String::new(),
        });
    }
    if a.routes != b.routes {
        changes.options.push(Change {
            option: Reloadable::Routes,
            value: String::new(),
        });
    }
    let without = |these: &[String], those: &[String]| -> Vec<String> {
        let rest = these.iter().filter(|name| !those.contains(name));
        rest.cloned().collect()
    };
    let routes_without = |these: &[RemoteUrl], those: &[RemoteUrl]| -> Vec<RemoteUrl> {
        let rest = these.iter().filter(|url| !those.contains(url));
        rest.cloned().collect()
    };
    let pins = |tls: &Option<Tls>| tls.as_ref().map(|tls| tls.pinned_certs.clone());
    let change = ClusterChange {
        routes_added: routes_without(&b.routes, &a.routes),
        routes_removed: routes_without(&a.routes, &b.routes),
        permissions: a.permissions != b.permissions,
        pool_size: a.pool_size != b.pool_size,
        accounts_added: without(&accounts(new), &accounts(old)),
        accounts_removed: without(&accounts(old), &accounts(new)),
        compression: a.compression != b.compression,
        authorization: a.authorization != b.authorization,
        pinned_certs: pins(&a.tls).unwrap_or_default() != pins(&b.tls).unwrap_or_default(),
    };
    changes.cluster = (change != ClusterChange::default()).then_some(change);
}

/// Whether all but the routes is the same; those have a line of their own in the log.
fn is_like(old: &Cluster, new: &Cluster) -> bool {
    let mut new = new.clone();
    new.routes.clone_from(&old.routes);
    if is_same_listener(old.listen.as_ref(), new.listen.as_ref()) {
        new.listen.clone_from(&old.listen);
    }
    *old == new
}

#[cfg(test)]
mod tests;
