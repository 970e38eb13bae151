//! What the connections of one account together may have.
//! spec: nats-server v2.15.1 server/client.go `applyAccountLimits`, server/accounts.go
//! `updateAccountClaimsWithRefresh`.

use frond_account::AccountId;

use crate::broker::AccountState;
use crate::connection::{Kind, State};
use crate::interest::Interest;
use crate::links::Scope;
use crate::mapped_reply::ShownReplies;
use crate::sharing::Shared;
use crate::{Broker, ByPeer, Conn, Level, Traffic};

impl Broker {
    /// As many account states as the directory has accounts.
    pub(crate) fn grow_accounts(&mut self) {
        while self.accounts.len() < self.directory.accounts().len() {
            let seed = self.rng.next_u64();
            self.accounts.push(AccountState {
                interest: Interest::new(seed),
                clients: 0,
                leafs: 0,
                traffic: Traffic::default(),
                by_peer: ByPeer::default(),
                slow_consumers: 0,
                sharing: Shared::default(),
                replies: ShownReplies::default(),
            });
        }
    }

    pub(crate) fn account_ids(&self) -> Vec<AccountId> {
        let accounts = (0_u32..).zip(self.directory.accounts());
        let existing = accounts.filter(|(_, account)| account.exists);
        existing.map(|(id, _)| AccountId(id)).collect()
    }

    pub(crate) fn account_state(&mut self, account: AccountId) -> Option<&mut AccountState> {
        self.accounts.get_mut(account.0 as usize)
    }

    /// Applies an account's limits to who is connected already: the oldest stay.
    pub(crate) fn apply_account_limits(&mut self, id: AccountId) {
        let limits = self.directory.account(id).map(|account| account.limits);
        let connections_max = limits.and_then(|limits| limits.connections_max);
        let mut members: Vec<(Conn, u32)> = self
            .conns
            .iter()
            .filter(|(slot, _)| self.is_member(*slot, id))
            .map(|(slot, connection)| (connection.conn, slot))
            .collect();
        members.sort_unstable();
        for (before, (_, slot)) in (0_u32..).zip(members) {
            if connections_max.is_some_and(|max| before >= max) {
                let cause = "Maximum Account Connections Exceeded";
                let logged = self.with_whose(slot, TOO_MANY_CONNECTIONS);
                self.log_connection(slot, Level::Error, &logged);
                self.refuse(slot, TOO_MANY_CONNECTIONS, cause);
                continue;
            }
            let session = self.conns.get(slot).and_then(|c| c.session());
            let user = session.and_then(|session| session.identity.as_ref()?.user.as_deref());
            let wire = self.wire_limits_of(id, user);
            let Some(connection) = self.conns.get_mut(slot) else {
                continue;
            };
            connection.parser.set_limits(wire);
            let subs = match &connection.kind {
                Kind::Client(session) => session.subs.len(),
                Kind::Link(link) => self.links.get(link).map_or(0, |link| link.subs.len()),
                Kind::Closing => continue,
            };
            if subs > 0 && self.is_full(id, subs) {
                self.log_connection(slot, Level::Error, TOO_MANY_SUBS);
                self.refuse(slot, TOO_MANY_SUBS, "Maximum Subscriptions Exceeded");
            }
        }
    }

    /// Whether a connection of the account with so many subscriptions may have no more.
    pub(crate) fn is_full(&self, account: AccountId, subs: usize) -> bool {
        let account = self.directory.account(account);
        let own = account.and_then(|account| account.limits.subscriptions_max);
        [self.limits.subscriptions_max, own.map(|max| max as usize)]
            .into_iter()
            .flatten()
            .any(|max| subs >= max)
    }

    fn is_member(&self, slot: u32, id: AccountId) -> bool {
        match self.conns.get(slot).map(|connection| &connection.kind) {
            Some(Kind::Client(session)) => {
                session.account == id && matches!(session.state, State::Ready(_))
            }
            Some(Kind::Link(link)) => {
                let link = self.links.get(link);
                let bound = link.and_then(|link| link.bound.as_ref());
                bound.is_some_and(|bound| bound.scope == Scope::One(id))
            }
            Some(Kind::Closing) | None => false,
        }
    }
}

/// spec: nats-server v2.15.1 server/errors.go `ErrTooManyAccountConnections`
pub(crate) const TOO_MANY_CONNECTIONS: &str = "maximum account active connections exceeded";

/// spec: nats-server v2.15.1 server/errors.go `ErrTooManySubs`
pub(crate) const TOO_MANY_SUBS: &str = "maximum subscriptions exceeded";
