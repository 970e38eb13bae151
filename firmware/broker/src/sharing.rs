//! What accounts share with each other, put into force.

use std::collections::HashMap;
use std::sync::Arc;

use frond_account::{AccountId, AccountPlan, DirectoryError, Mapped, ServiceImport, Sharing};
use frond_clock::Now;

use crate::interest::{Change, Owner, Sub, SubId, Tie};
use crate::responses::Responses;
use crate::{Broker, Source};

/// What one account shares now.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) now: Sharing,
    /// The subscription of each imported service.
    services: HashMap<SubId, Arc<ServiceImport>>,
    pub(crate) responses: Responses,
}

impl std::ops::Deref for Shared {
    type Target = Sharing;

    fn deref(&self) -> &Sharing {
        &self.now
    }
}

impl Broker {
    /// One account is new, or has another plan; all connections that may stay do, those beyond
    /// its limits are closed.
    ///
    /// # Errors
    /// When the plan has no name.
    pub fn update_account(
        &mut self,
        now: Now,
        plan: &AccountPlan,
    ) -> Result<AccountId, DirectoryError> {
        self.now = now;
        let id = self.directory.put_account(plan)?;
        self.grow_accounts();
        self.share_all();
        self.apply_account_limits(id);
        self.settle();
        Ok(id)
    }

    /// One account is gone, with everybody in it.
    pub fn remove_account(&mut self, now: Now, id: AccountId) {
        self.now = now;
        self.directory.remove_account(id);
        self.share_all();
        for slot in self.conns.keys() {
            self.reload_client(slot);
        }
        self.settle();
    }

    /// Brings every account's sharing up to what the directory says.
    pub(crate) fn share_all(&mut self) {
        let ids = (0..u32::try_from(self.accounts.len()).unwrap_or(u32::MAX)).map(AccountId);
        for id in ids {
            let (Some(account), Some(state)) =
                (self.directory.account(id), self.accounts.get(id.0 as usize))
            else {
                continue;
            };
            if account.sharing != state.sharing.now {
                let sharing = account.sharing.clone();
                self.share(id, sharing);
            }
        }
        self.tell_accounts();
    }

    fn share(&mut self, id: AccountId, sharing: Sharing) {
        let Some(state) = self.account_state(id) else {
            return;
        };
        let former = core::mem::replace(&mut state.sharing.now, sharing);
        let streams_differ = former.streams != state.sharing.now.streams;
        self.share_mappings(id, &former);
        self.share_services(id);
        if streams_differ {
            let subs = self.subs.iter();
            let own = subs.filter(|(_, sub)| sub.account == id);
            let ids: Vec<SubId> = own.map(|(sub, _)| sub).collect();
            for sub in ids {
                self.drop_shadows(sub);
                self.add_shadows(sub);
            }
        }
        self.settle();
    }

    /// Leafnodes are told of renamed subjects as of subscriptions.
    fn share_mappings(&mut self, id: AccountId, former: &Sharing) {
        let Some(state) = self.accounts.get(id.0 as usize) else {
            return;
        };
        let sources = |sharing: &Sharing| -> Vec<Arc<str>> {
            sharing.mappings.sources().map(Into::into).collect()
        };
        let (gone, come) = (sources(former), sources(&state.sharing.now));
        let gone_only = gone.iter().filter(|one| !come.contains(one));
        let come_only = come.iter().filter(|one| !gone.contains(one));
        let changes = gone_only
            .map(|one| (one, -1))
            .chain(come_only.map(|one| (one, 1)));
        for (filter, delta) in changes {
            self.changes.push_back(Change {
                account: id,
                filter: Arc::clone(filter),
                queue: None,
                source: Source::Internal,
                cluster: None,
                stays_here: true,
                delta,
            });
        }
    }

    fn share_services(&mut self, id: AccountId) {
        let Some(state) = self.account_state(id) else {
            return;
        };
        let shared = &mut state.sharing;
        let wanted = shared.now.services.clone();
        let stale: Vec<SubId> = shared
            .services
            .extract_if(|_, known| !wanted.contains(known))
            .map(|(sub, _)| sub)
            .collect();
        let known: Vec<_> = shared.services.values().cloned().collect();
        for sub in stale {
            self.remove_sub(sub);
        }
        for import in wanted.into_iter().filter(|one| !known.contains(one)) {
            let sub = self.add_sub(Sub {
                account: id,
                filter: import.from.as_str().into(),
                queue: None,
                owner: Owner::Import(Arc::clone(&import)),
                delivered: 0,
                max: 0,
                filtered: false,
                tie: Tie::None,
            });
            if let (Some(sub), Some(state)) = (sub, self.account_state(id)) {
                state.sharing.services.insert(sub, import);
            }
        }
    }

    /// What an account calls `subject`; `None` if it renames nothing by that name.
    pub(crate) fn mapped(&mut self, account: AccountId, subject: &str) -> Option<Mapped> {
        let state = self.accounts.get(account.0 as usize)?;
        let mappings = &state.sharing.mappings;
        if mappings.is_empty() {
            return None;
        }
        let random = self.rng.next_u64();
        mappings.select(subject, &self.facts.cluster, random)
    }
}
