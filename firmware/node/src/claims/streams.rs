use frond_account::AccountId;
use frond_account::jwt::{JetStreamLimits, OperatorLimits};
use frond_account::nkey::{Role, is_public_key};
use frond_clock::Now;
use frond_jetstream::{AccountLimits, Allowance};

use super::Waiter;
use crate::Node;

impl Node {
    /// Lets an account that came by JWT use streams, as far as it may.
    pub(super) fn enable_claimed(&mut self, now: Now, key: &str) {
        let directory = self.broker.directory();
        let Some(id) = directory.find(key) else {
            return;
        };
        let said = directory
            .claimed(id)
            .map(|account| &account.claims.nats.limits);
        let Some(allowed) = said.map(allowed) else {
            return;
        };
        // What it stored stays, out of reach, when it may store nothing any more.
        if allowed != Allowance::Off || self.has_streams(id) {
            self.enable_streams(now, id, allowed);
        }
    }

    fn has_streams(&self, id: AccountId) -> bool {
        let tenant = frond_jetstream::Tenant(id.0);
        let streams = self.streams.as_ref();
        streams.is_some_and(|streams| streams.machine.knows(tenant))
    }

    pub(crate) fn enable_all_claimed(&mut self, now: Now) {
        let accounts = self.broker.directory().claimed_accounts();
        let keys: Vec<String> = accounts
            .map(|(_, account)| account.claims.subject.clone())
            .collect();
        for key in keys {
            self.enable_claimed(now, &key);
        }
    }

    /// Accounts whose streams the disk has are looked up at once, so that these work.
    ///
    /// spec: nats-server v2.15.1 server/jetstream.go `enableJetStream`
    pub(crate) fn look_up_stored(&mut self, now: Now) {
        let streams = self.streams.iter();
        let names: Vec<String> = streams
            .flat_map(|streams| streams.machine.dormant_accounts())
            .filter(|name| is_public_key(Role::Account, name))
            .map(str::to_owned)
            .collect();
        if self.claims.is_some() {
            for key in names {
                self.look_up(now, &key, Waiter::Nobody);
            }
        }
    }
}

/// spec: nats-server v2.15.1 server/accounts.go `updateAccountClaimsWithRefresh`
fn allowed(said: &OperatorLimits) -> Allowance {
    if !said.has_jetstream() {
        return Allowance::Off;
    }
    if said.jetstream.is_some() {
        return limits(&said.jetstream).into();
    }
    let tiers = said.tiered_limits.iter();
    Allowance::Tiers(
        tiers
            .map(|(name, said)| (name.as_str().into(), limits(said)))
            .collect(),
    )
}

const fn limits(said: &JetStreamLimits) -> AccountLimits {
    const fn positive(value: i64) -> i64 {
        if value > 0 { value } else { -1 }
    }
    AccountLimits {
        max_memory: said.mem_storage,
        max_storage: said.disk_storage,
        max_streams: said.streams,
        max_consumers: said.consumer,
        max_ack_pending: positive(said.max_ack_pending),
        memory_max_stream_bytes: positive(said.mem_max_stream_bytes),
        storage_max_stream_bytes: positive(said.disk_max_stream_bytes),
        max_bytes_required: said.max_bytes_required,
    }
}
