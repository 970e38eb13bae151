//! Rules of clusters and the ways between them.
//! spec: nats-server v2.15.1 server/server.go `validateCluster`, server/gateway.go
//! `validateGatewayOptions`

use super::{Checker, is_host_port};
use crate::config::Config;
use crate::error::ConfigError;
use crate::options::cluster::Cluster;
use crate::options::gateway::Gateway;
use crate::options::peers::wrong_name;
use crate::options::tls::Tls;
use std::collections::BTreeSet;

/// What kinds of other servers a program can be connected with, besides leafnodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// It has routes: `cluster`.
    pub cluster: bool,
    /// It has gateways: `gateway`.
    pub gateway: bool,
    /// It has a field side: `appliance`.
    pub appliance: bool,
    /// It looks after boxes: `fleet`.
    pub fleet: bool,
}

/// The blocks that ask for what the program cannot do.
pub(crate) fn abilities(config: &Config, program: &str, may: Abilities) -> Vec<ConfigError> {
    let mut checker = Checker {
        config,
        errors: Vec::new(),
    };
    if !may.cluster && config.cluster != Cluster::default() {
        checker.is_unable(CLUSTER, program, "joins no cluster");
    }
    if !may.gateway && config.gateway != Gateway::default() {
        checker.is_unable(GATEWAY, program, "has no gateways");
    }
    if !may.appliance && config.appliance.is_some() {
        let text = format!("\"appliance\": {program} has no field side, frond does");
        checker.error(&["appliance"], text, "run frond, or remove the block");
    }
    if !may.fleet && config.fleet.is_some() {
        let text = format!("\"fleet\": {program} looks after no boxes, frond-hub does");
        checker.error(&["fleet"], text, "run frond-hub, or remove the block");
    }
    checker.errors
}

/// What a start warns about.
pub(super) fn advice(config: &Config) -> impl Iterator<Item = String> {
    let (cluster, gateway) = (&config.cluster, &config.gateway);
    let insecure = |tls: &Option<Tls>| tls.as_ref().is_some_and(|tls| tls.insecure);
    let routes = cluster.listen.is_some() && insecure(&cluster.tls);
    let remotes = gateway.gateways.iter().any(|remote| insecure(&remote.tls));
    let gateways = gateway.listen.is_some() && (insecure(&gateway.tls) || remotes);
    let is_made_up = cluster.listen.is_some() && config.cluster_name().is_none();
    let name = "Cluster name was dynamically generated, consider setting one".to_owned();
    let insecure = [("routes", routes), ("gateways", gateways)]
        .into_iter()
        .filter(|(_, on)| *on)
        .map(|(kind, _)| {
            format!(
                "TLS certificate chain and hostname of solicited {kind} will not be verified. DO \
                 NOT USE IN PRODUCTION!"
            )
        });
    is_made_up.then_some(name).into_iter().chain(insecure)
}

/// The program that serves both blocks.
const HUB: &str = "frond-hub";
const CLUSTER: &[&str] = &["cluster"];
const GATEWAY: &[&str] = &["gateway"];

impl Checker<'_> {
    fn is_unable(&mut self, keys: &[&str], program: &str, why: &str) {
        let key = keys.first().copied().unwrap_or_default();
        if program == HUB {
            let text = format!("not supported yet: {key:?}");
            return self.error(keys, text, "remove it to start");
        }
        let text = format!("{key:?}: {program} {why}, {HUB} does");
        self.error(keys, text, "run frond-hub, or remove the block");
    }

    pub(super) fn gateway(&mut self) {
        let config = self.config;
        let gateway = &config.gateway;
        if !gateway.is_defined() {
            return;
        }
        if config.leafnodes.listen.is_some() && config.system_account.is_none() {
            let text = "leaf nodes and gateways (both being defined) require a system account to \
                        also be configured";
            self.error(GATEWAY, text, "name it: system_account: \"$SYS\"");
        }
        let Some(name) = &gateway.name else {
            return self.error(GATEWAY, "gateway has no name", "add name: \"A\"");
        };
        if let Some(why) = wrong_name("gateway", name) {
            self.error(GATEWAY, why, "choose another");
        }
        if gateway.listen.is_none() {
            let text =
                format!("gateway {name:?} has no port specified (select -1 for random port)");
            self.error(GATEWAY, text, "add port: 7222");
        }
        for (index, remote) in gateway.gateways.iter().enumerate() {
            if remote.name.is_empty() {
                let text = format!("gateway in the list {index} has no name");
                self.error(GATEWAY, text, "add name: \"B\"");
            } else if remote.urls.is_empty() {
                let text = format!("gateway {:?} has no URL", remote.name);
                self.error(GATEWAY, text, "add url: \"nats://host:7222\"");
            }
        }
        if let Some(advertise) = &gateway.advertise
            && !is_host_port(advertise)
        {
            let text = format!("invalid Gateway.Advertise value of {advertise}");
            self.error(GATEWAY, text, "write host:port");
        }
    }

    pub(super) fn cluster(&mut self) {
        let cluster = &self.config.cluster;
        let name = cluster.name.as_deref();
        if let Some(why) = name.and_then(|name| wrong_name("cluster", name)) {
            self.error(CLUSTER, why, "choose another");
        }
        let gateway = self.config.gateway.name.as_deref();
        if gateway.is_some() && name.is_some() && gateway != name {
            let text = "cluster name conflicts between cluster and gateway definitions";
            self.error(GATEWAY, text, "they are one name");
        }
        if let Some(advertise) = &cluster.advertise
            && !is_host_port(advertise)
        {
            let text = format!("invalid Cluster.Advertise value of {advertise}");
            self.error(CLUSTER, text, "write host:port");
        }
        self.pinned_accounts(cluster);
        self.clustered_jetstream(cluster);
    }

    fn pinned_accounts(&mut self, cluster: &Cluster) {
        if !cluster.accounts.is_empty() && cluster.pool_size.is_none() {
            let text = "pool_size cannot be negative if pinned accounts are specified";
            self.error(CLUSTER, text, "");
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = cluster.accounts.iter().find(|name| !seen.insert(*name)) {
            let list: Vec<_> = cluster.accounts.iter().map(|n| format!("{n:?}")).collect();
            let text = format!(
                "found duplicate account name {twice:?} in pinned accounts list [{}]",
                list.join(" ")
            );
            self.error(CLUSTER, text, "");
        }
    }

    /// spec: nats-server v2.15.1 server/jetstream.go `validateJetStreamOptions`
    fn clustered_jetstream(&mut self, cluster: &Cluster) {
        let config = self.config;
        let is_alone = cluster.listen.is_none() && config.gateway.listen.is_none();
        if !config.jetstream.enabled || is_alone {
            return;
        }
        self.peers_of_jetstream(cluster);
        if cluster.listen.is_none() {
            return;
        }
        if config.server_name.is_none() {
            let text = "jetstream cluster requires `server_name` to be set";
            self.error(&["jetstream"], text, "");
        }
        if config.cluster_name().is_none() {
            let text = "jetstream cluster requires `cluster.name` to be set";
            self.error(CLUSTER, text, "");
        }
    }

    /// Who knows no other server can elect nobody.
    /// spec: nats-server v2.15.1 server/jetstream_cluster.go `enableJetStreamClustering`
    fn peers_of_jetstream(&mut self, cluster: &Cluster) {
        let config = self.config;
        let system = config.system_account_name();
        let mut remotes = config.leafnodes.remotes.iter();
        let extends = remotes.any(|remote| Some(remote.account.as_str()) == system);
        if cluster.routes.is_empty() && !extends {
            let text = "Can't start JetStream: JetStream cluster requires configured routes or \
                        solicited leafnode for the system account";
            self.error(CLUSTER, text, "name the other servers: routes");
        }
    }
}
