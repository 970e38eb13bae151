use serde::Serialize;

use super::{Call, Outcome, answer};
use crate::facts::AccountLimits;
use crate::host::Host;
use crate::io::Tenant;
use crate::jetstream::JetStream;
use crate::limits::API_LEVEL;
use crate::stream::config::Storage;

#[derive(Serialize)]
struct AccountInfo {
    memory: u64,
    storage: u64,
    reserved_memory: u64,
    reserved_storage: u64,
    streams: usize,
    consumers: usize,
    limits: AccountLimits,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<Box<str>>,
    api: Api,
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
        let info = AccountInfo {
            memory: account.usage.memory,
            storage: account.usage.storage,
            reserved_memory: self.reserved(call.tenant, Storage::Memory),
            reserved_storage: self.reserved(call.tenant, Storage::File),
            streams: self.hosts_of(call.tenant).count(),
            consumers: self
                .hosts_of(call.tenant)
                .map(|host| host.consumers.len())
                .sum(),
            limits: account.limits,
            domain: self.facts.domain.clone(),
            api: Api {
                level: API_LEVEL,
                total: account.api.total,
                errors: account.api.errors,
            },
        };
        Ok(Some(answer::success("account_info_response", &info)))
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
