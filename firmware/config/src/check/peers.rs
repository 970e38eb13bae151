//! Rules of clusters.
//! spec: nats-server v2.15.1 server/server.go `validateCluster`

use super::{Checker, is_host_port};
use crate::config::Config;
use crate::error::ConfigError;
use crate::options::cluster::Cluster;
use crate::options::peers::wrong_name;
use std::collections::BTreeSet;

/// What kinds of other servers a program can be connected with, besides leafnodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// It has routes: `cluster`.
    pub cluster: bool,
}

/// The blocks that ask for what the program cannot do.
pub(crate) fn abilities(config: &Config, program: &str, may: Abilities) -> Vec<ConfigError> {
    let mut checker = Checker {
        config,
        errors: Vec::new(),
    };
    if !may.cluster && config.cluster != Cluster::default() {
        let text = format!("\"cluster\": {program} joins no cluster, frond-hub does");
        checker.error(CLUSTER, text, "run frond-hub, or remove the block");
    }
    checker.errors
}

const CLUSTER: &[&str] = &["cluster"];

impl Checker<'_> {
    pub(super) fn cluster(&mut self) {
        let cluster = &self.config.cluster;
        if let Some(why) = cluster.name.as_deref().and_then(wrong_name) {
            self.error(CLUSTER, format!("cluster name {why}"), "choose another");
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
        if !config.jetstream.enabled || cluster.listen.is_none() {
            return;
        }
        if config.server_name.is_none() {
            let text = "jetstream cluster requires `server_name` to be set";
            self.error(&["jetstream"], text, "");
        }
        if cluster.name.is_none() {
            let text = "jetstream cluster requires `cluster.name` to be set";
            self.error(CLUSTER, text, "");
        }
    }
}
