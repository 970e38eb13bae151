use std::collections::{BTreeMap, BTreeSet, HashSet};

use data_encoding::BASE64;
use frond_account::AccountId;
use frond_broker::{GatewayAccount, InterestChange, InterestMode, LinkPeer, Pulse, Upcalls};
use frond_clock::{Instant, Now};
use frond_wire::{Message, ServerInfo, encode};

use crate::clusters::Clusters;
use crate::interests::Interests;
use crate::limits::REFUSED_BYTES_MAX;

/// A connection from another cluster: messages come from there, and it is told what ours wants.
#[derive(Debug)]
pub(crate) struct Inbound {
    clusters: Clusters,
    pub(crate) cluster: String,
    pub(crate) server_id: String,
    pub(crate) server_name: String,
    interests: Interests,
    /// Accounts whose interest is told, all of it.
    told: BTreeSet<AccountId>,
    /// Accounts of which was told that they interest nobody: they aren't known here.
    refused: HashSet<Box<str>>,
    refused_bytes: usize,
    pub(crate) pulse: Pulse,
}

impl Inbound {
    /// Binds the link: from here it takes part.
    pub(crate) fn begin(
        clusters: Clusters,
        info: &ServerInfo,
        now: Now,
        up: &mut dyn Upcalls,
    ) -> Self {
        let pulse = clusters.planned(|plan| {
            let (interval, outstanding) = (plan.ping_interval, plan.pings_outstanding_max);
            Pulse::new(now.mono, interval, outstanding).scattered(now.mono, up.random())
        });
        for account in up.accounts() {
            clusters.meet(account, &up.account_name(account));
        }
        up.bind_all(LinkPeer {
            name: info.server_name.clone(),
            server_id: info.server_id.clone(),
            ..LinkPeer::default()
        });
        Self {
            clusters,
            cluster: info.gateway.clone(),
            server_id: info.server_id.clone(),
            server_name: info.server_name.clone(),
            interests: Interests::default(),
            told: BTreeSet::new(),
            refused: HashSet::new(),
            refused_bytes: 0,
            pulse,
        }
    }

    /// Queue groups of all accounts first.
    pub(crate) fn tell_groups(&mut self, up: &mut dyn Upcalls) {
        let (clusters, interests) = (&self.clusters, &mut self.interests);
        let mut out = Vec::new();
        up.each_interest(&mut |change| {
            if change.queue.is_some()
                && let Some(name) = clusters.account_name(change.account)
            {
                interests.update(&name, change, &mut out);
            }
        });
        up.out().extend_from_slice(&out);
    }

    /// Then, account by account, all the rest.
    ///
    /// spec: nats-server v2.15.1 server/gateway.go `gatewaySwitchAccountToSendAllSubs`
    pub(crate) fn tell_all(&mut self, up: &mut dyn Upcalls) {
        let (clusters, interests) = (&self.clusters, &mut self.interests);
        let mut plain: BTreeMap<AccountId, Vec<u8>> = BTreeMap::new();
        up.each_interest(&mut |change| {
            if change.queue.is_none()
                && let Some(name) = clusters.account_name(change.account)
            {
                let out = plain.entry(change.account).or_default();
                interests.update(&name, change, out);
            }
        });
        for account in up.accounts() {
            let lines = plain.remove(&account).unwrap_or_default();
            self.tell_account(account, &lines, up);
        }
    }

    fn tell_account(&mut self, account: AccountId, lines: &[u8], up: &mut dyn Upcalls) {
        let Some(name) = self.clusters.account_name(account) else {
            return;
        };
        if self.refused.remove(&name) {
            self.refused_bytes -= refused_bytes(&name);
            let line = format!("A+ {name}\r\n");
            up.out().extend_from_slice(line.as_bytes());
        }
        self.command(ALL_BEGINS, &name, up);
        up.out().extend_from_slice(lines);
        self.command(ALL_COMPLETE, &name, up);
        self.told.insert(account);
    }

    fn command(&self, command: i64, account: &str, up: &mut dyn Upcalls) {
        let info = ServerInfo {
            gateway: self.clusters.planned(|plan| plan.name.clone()),
            gateway_cmd: command,
            gateway_cmd_payload: BASE64.encode(account.as_bytes()),
            ..ServerInfo::default()
        };
        encode::info(up.out(), &info);
    }

    pub(crate) fn on_interest(&mut self, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        self.meet(change.account, up);
        if let Some(name) = self.clusters.account_name(change.account) {
            self.interests.update(&name, change, up.out());
        }
    }

    /// An account that came later is told as the others were.
    fn meet(&mut self, account: AccountId, up: &mut dyn Upcalls) {
        if self.told.contains(&account) {
            return;
        }
        self.clusters.meet(account, &up.account_name(account));
        self.tell_account(account, &[], up);
    }

    pub(crate) fn on_message(
        &mut self,
        name: &str,
        message: &Message<'_>,
        queues: &[&str],
        up: &mut dyn Upcalls,
    ) {
        if let Some(account) = up.account(name) {
            self.meet(account, up);
            return up.publish_in(account, None, message, queues);
        }
        let bytes = self.refused_bytes + refused_bytes(name);
        if !self.refused.contains(name) && bytes <= REFUSED_BYTES_MAX {
            self.refused_bytes = bytes;
            up.look_up(name);
            self.refused.insert(name.into());
            let line = format!("A- {name}\r\n");
            up.out().extend_from_slice(line.as_bytes());
        }
    }

    /// For monitoring.
    pub(crate) fn accounts(&self) -> Vec<GatewayAccount> {
        let told = self.told.iter();
        told.filter_map(|account| {
            Some(GatewayAccount {
                name: self.clusters.account_name(*account)?.to_string(),
                mode: InterestMode::InterestOnly,
                no_interest: 0,
            })
        })
        .collect()
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.pulse.deadline()
    }
}

/// What a name costs, about.
const fn refused_bytes(name: &str) -> usize {
    96 + name.len()
}

/// spec: nats-server v2.15.1 server/gateway.go `gatewayCmdAllSubsStart`,
/// `gatewayCmdAllSubsComplete`
pub(crate) const ALL_BEGINS: i64 = 2;
pub(crate) const ALL_COMPLETE: i64 = 3;
