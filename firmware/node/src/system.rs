//! The system account: what this server tells of itself, and what it is asked.
//!
//! spec: nats-server v2.15.1 server/events.go

mod account_stat;
mod answer;
mod ask;
mod beat;
mod client_info;
mod events;
pub(crate) mod ocsp;
mod others;
pub(crate) mod packing;
mod pending;
mod request;
pub(crate) mod server_info;
mod services;
mod subscribers;
mod user_info;

use std::collections::{BTreeMap, BTreeSet};

use frond_account::AccountId;
use frond_clock::{Instant, Now, Rng, Timers};

use crate::Node;
use crate::owner::Owner;

use beat::Beat;
use others::Others;
use pending::Pending;
use services::Service;

/// What the system account needs to remember.
#[derive(Debug)]
pub(crate) struct System {
    account: AccountId,
    /// What each subscription is for; its place is the subscription's number.
    services: Vec<Service>,
    /// Accounts that have the services every account has.
    served: BTreeSet<AccountId>,
    /// Messages that told of this server so far.
    seq: u64,
    rng: Rng,
    beat: Beat,
    others: Others,
    /// When to tell the connections of an account again.
    conns: Timers<AccountId>,
    next_ticket: u64,
    pending: BTreeMap<u64, Pending>,
}

impl Node {
    /// Answers in the system account, unless the configuration wants none.
    pub(crate) fn start_system(&mut self, now: Now) {
        if self.config.no_system_account {
            return;
        }
        let seed = u64::from_le_bytes(self.seed.random[16..24].try_into().unwrap_or_default());
        self.system = Some(System {
            account: self.broker.directory().system_account(),
            services: Vec::new(),
            served: BTreeSet::new(),
            seq: 0,
            rng: Rng::seeded(seed),
            beat: Beat::starting(now.mono),
            others: Others::default(),
            conns: Timers::new(),
            next_ticket: 0,
            pending: BTreeMap::new(),
        });
        let id = self.facts().id.clone();
        let account = self.broker.directory().system_account();
        for (subject, service) in services::of_server(&id) {
            self.serve(account, &subject, service);
        }
        if self.hears_of_servers() {
            for subject in ["$SYS.SERVER.*.STATSZ", "$SYS.SERVER.*.SHUTDOWN"] {
                self.serve(account, subject, Service::OtherServer);
            }
        }
        self.serve_accounts();
    }

    /// Gives every account that came since the services each account has, and takes them from
    /// those that went.
    pub(crate) fn serve_accounts(&mut self) {
        self.leave_accounts();
        let accounts = self.broker.directory().accounts();
        let ids: Vec<_> = (0..)
            .zip(accounts)
            .filter(|(_, account)| account.exists)
            .map(|(id, _)| AccountId(id))
            .collect();
        for account in ids {
            self.serve_account(account);
        }
    }

    /// Gives an account the services each account has, once.
    pub(crate) fn serve_account(&mut self, account: AccountId) {
        let Some(system) = &mut self.system else {
            return;
        };
        if !system.served.insert(account) {
            return;
        }
        for (subject, service) in services::of_account(account == system.account) {
            self.serve(account, subject, *service);
        }
    }

    fn leave_accounts(&mut self) {
        let Some(system) = &mut self.system else {
            return;
        };
        let directory = self.broker.directory();
        let exists = |id: &AccountId| directory.account(*id).is_some_and(|it| it.exists);
        let gone: BTreeSet<_> = system
            .served
            .iter()
            .filter(|id| !exists(id))
            .copied()
            .collect();
        system.served.retain(|id| !gone.contains(id));
        let services = services::of_account(false).iter();
        let known = services.filter_map(|(_, service)| {
            let own = system.services.iter().position(|known| known == service)?;
            Some(Owner::System.number(own as u64))
        });
        let known: BTreeSet<u64> = known.collect();
        for account in gone {
            for id in &known {
                self.broker.unsubscribe_internal(account, *id);
            }
        }
    }

    fn serve(&mut self, account: AccountId, subject: &str, service: Service) {
        let Some(system) = &mut self.system else {
            return;
        };
        let known = system.services.iter().position(|known| *known == service);
        let own = known.unwrap_or_else(|| {
            system.services.push(service);
            system.services.len() - 1
        });
        self.broker
            .subscribe_internal(account, subject, Owner::System.number(own as u64));
    }

    /// When the system account has something to tell by itself.
    pub(crate) fn system_deadline(&self) -> Option<Instant> {
        let system = self.system.as_ref()?;
        [system.beat.deadline(), system.conns.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(crate) fn system_time(&mut self, now: Now) {
        self.beat_time(now);
        self.conns_time(now);
    }
}

#[cfg(test)]
mod tests;
