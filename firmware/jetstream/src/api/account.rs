use std::collections::BTreeMap;

use serde::Serialize;

use super::{Call, Outcome, answer};
use crate::account::Account;
use crate::allowance::{AccountLimits, Allowance, tier};
use crate::host::Host;
use crate::io::Tenant;
use crate::jetstream::JetStream;
use crate::limits::API_LEVEL;
use crate::stream::config::Storage;

#[derive(Serialize)]
struct AccountInfo<'a> {
    #[serde(flatten)]
    all: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<Box<str>>,
    api: Api,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tiers: BTreeMap<&'a str, Tier>,
}

/// What streams take, and what they may.
#[derive(Clone, Copy, Serialize)]
struct Tier {
    memory: u64,
    storage: u64,
    reserved_memory: u64,
    reserved_storage: u64,
    streams: usize,
    consumers: usize,
    limits: AccountLimits,
}

#[derive(Serialize)]
struct Api {
    level: u32,
    total: u64,
    errors: u64,
}

impl JetStream {
    pub(super) fn account_info(&self, call: &Call) -> Outcome {
        let Some(account) = self.accounts.get(&call.tenant) else {
            return Err(crate::errors::NOT_ENABLED_FOR_ACCOUNT);
        };
        let all = self.whole(call.tenant, account);
        let alone = tier(1);
        let info = AccountInfo {
            all,
            domain: self.facts.domain.clone(),
            api: Api {
                level: API_LEVEL,
                total: account.api.total,
                errors: account.api.errors,
            },
            tiers: match &account.allowance {
                Allowance::Tiers(limits) => tiers(limits, all, &alone),
                Allowance::Off | Allowance::Flat(_) => BTreeMap::new(),
            },
        };
        Ok(Some(answer::success("account_info_response", &info)))
    }

    fn whole(&self, tenant: Tenant, account: &Account) -> Tier {
        let consumers = self.hosts_of(tenant).map(|host| host.consumers.len());
        Tier {
            memory: account.usage.memory,
            storage: account.usage.storage,
            reserved_memory: self.reserved(tenant, Storage::Memory),
            reserved_storage: self.reserved(tenant, Storage::File),
            streams: self.hosts_of(tenant).count(),
            consumers: consumers.sum(),
            limits: account.allowance.flat(),
        }
    }

    /// An account's streams by name.
    pub(crate) fn hosts_of(&self, tenant: Tenant) -> impl Iterator<Item = &Host> {
        let account = self.accounts.get(&tenant);
        let ids = account
            .into_iter()
            .flat_map(|account| account.by_name.values());
        ids.filter_map(|id| self.hosts.get(id))
            .filter(|host| host.is_here())
    }

    /// Bytes that an account's streams reserve.
    pub(crate) fn reserved(&self, tenant: Tenant, storage: Storage) -> u64 {
        self.hosts_of(tenant)
            .filter(|host| host.stream.config.storage == storage)
            .map(|host| host.stream.config.reserved_bytes())
            .sum()
    }
}

/// All is of the tier of streams that are alone; the others are told as they are allowed.
///
/// spec: nats-server v2.15.1 server/jetstream.go `JetStreamUsage`
fn tiers<'a>(
    limits: &'a BTreeMap<Box<str>, AccountLimits>,
    all: Tier,
    alone: &'a str,
) -> BTreeMap<&'a str, Tier> {
    let nothing = Tier {
        memory: 0,
        storage: 0,
        reserved_memory: 0,
        reserved_storage: 0,
        streams: 0,
        consumers: 0,
        limits: AccountLimits::UNSAID,
    };
    let unused = |limits: &AccountLimits| Tier {
        limits: *limits,
        ..nothing
    };
    let mut tiers: BTreeMap<&str, Tier> = limits
        .iter()
        .map(|(name, limits)| (&**name, unused(limits)))
        .collect();
    if let Some(used) = tiers.get_mut(alone) {
        *used = Tier {
            limits: used.limits,
            ..all
        };
        return tiers;
    }
    // It counts tiers, not which they are: one that is used without being allowed hides one that is not used.
    if tiers.len() == 1 && (all.memory, all.storage) != (0, 0) {
        tiers.clear();
    }
    if all.streams > 0 {
        tiers.insert(alone, all);
    }
    tiers
}
