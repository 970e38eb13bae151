//! A new configuration under running connections.
//! spec: nats-server v2.15.1 server/reload.go `reloadAuthorization`,
//! server/client.go `processSubsOnConfigReload`.

use frond_account::{AccountId, Directory, PeerKind, Refusal, Standing};
use frond_clock::Now;
use frond_wire::{ServerInfo, encode};

use crate::broker::Ending;
use crate::claimed::{ACCOUNT_EXPIRED, REVOKED};
use crate::interest::{Owner, SubId};
use crate::subscribe::{permissions, violation};
use crate::{Broker, Conn, Level, Limits, LinkId, Output, ServerFacts};

impl Broker {
    /// Takes over what changed. Clients whose user is gone or has another secret are closed,
    /// as are the youngest beyond a smaller `connections_max` and leafnodes whose user changed;
    /// subscriptions that are no longer allowed are removed; everybody else stays.
    /// `directory` must have been built upon the one in use.
    pub fn reload(
        &mut self,
        now: Now,
        directory: Directory,
        limits: Limits,
        facts: ServerFacts,
        info: ServerInfo,
    ) {
        self.now = now;
        let told = |broker: &Self| {
            let max = broker.limits.payload_bytes_max;
            (broker.info.clone(), max, broker.directory.auth_required())
        };
        let before = told(self);
        let former = core::mem::replace(&mut self.directory, directory);
        self.closed.set_max(limits.closed_clients_max);
        self.limits = limits;
        self.facts = facts;
        self.info = info;
        self.grow_accounts();
        self.share_all();
        for slot in self.conns.keys() {
            self.reload_client(slot);
            self.settle();
        }
        self.reload_proxies();
        self.reload_links_of(None);
        self.reload_account_limits(&former);
        self.close_surplus();
        if told(self) != before {
            self.announce();
        }
        self.settle();
    }

    /// Accounts that may have less now let go of whom there is no room for.
    fn reload_account_limits(&mut self, former: &Directory) {
        for id in self.account_ids() {
            let limits = |directory: &Directory| directory.account(id).map(|it| it.limits);
            if limits(former).is_some_and(|before| Some(before) != limits(&self.directory)) {
                self.apply_account_limits(id);
                self.settle();
            }
        }
    }

    /// Leafnodes that came through a proxy that isn't trusted any more go.
    fn reload_proxies(&mut self) {
        let directory = &self.directory;
        let gone = |proxy: &str| !directory.trusts_proxy(proxy);
        let links = self.links.iter();
        let ids: Vec<LinkId> = links
            .filter(|(_, link)| link.proxy.as_deref().is_some_and(gone))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            let cause = Refusal::ProxyNotTrusted.cause();
            self.evict_link(id, "Authorization Violation", cause);
            self.settle();
        }
    }

    /// A leafnode whose user changed in any way has to introduce itself again.
    pub(crate) fn reload_links_of(&mut self, account: Option<AccountId>) {
        let ids: Vec<LinkId> = self.links.keys().copied().collect();
        for id in ids {
            let user = self.links.get(&id).and_then(|link| link.user.clone());
            let Some(user) = user else {
                continue;
            };
            if account.is_some_and(|account| account != user.account) {
                continue;
            }
            match self.directory.standing(&user, PeerKind::Leafnode) {
                Standing::Same(now) if now == user => {}
                Standing::Same(_) | Standing::Changed | Standing::Gone | Standing::Unsigned => {
                    let text = "Authorization Violation";
                    self.evict_link(id, text, "Authentication Failure");
                }
                Standing::Revoked => self.evict_link(id, REVOKED, "Credentials Revoked"),
                Standing::Expired => {
                    self.evict_link(id, ACCOUNT_EXPIRED, "Authentication Expired");
                }
            }
            self.settle();
        }
    }

    /// The youngest clients go when there is room for fewer.
    fn close_surplus(&mut self) {
        let surplus = self.clients.saturating_sub(self.limits.connections_max);
        let mut clients: Vec<(Conn, u32)> = self
            .conns
            .iter()
            .filter(|(_, connection)| connection.session().is_some())
            .map(|(slot, connection)| (connection.conn, slot))
            .collect();
        clients.sort_unstable();
        for (_, slot) in clients.into_iter().rev().take(surplus) {
            let cause = "Maximum Connections Exceeded";
            let text = "maximum connections exceeded";
            let logged = self.with_whose(slot, text);
            self.log_connection(slot, Level::Error, &logged);
            self.refuse(slot, text, cause);
        }
        if surplus > 0 {
            self.outputs.push_back(Output::Log {
                level: Level::Info,
                text: format!("Closed {surplus} connections to fall within max_connections"),
            });
        }
    }

    pub(crate) fn reload_client(&mut self, slot: u32) {
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        // What links may send is their own matter.
        let Some(session) = connection.session() else {
            return;
        };
        let (account, transport) = (session.account, connection.transport);
        let user = session
            .identity
            .as_ref()
            .and_then(|known| known.user.as_deref());
        let wire = self.wire_limits_of(account, user);
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        connection.parser.set_limits(wire);
        let is_within = connection.is_within();
        let Some(session) = connection.session_mut() else {
            return;
        };
        if let Some(key) = &session.proxy
            && !self.directory.trusts_proxy(key)
        {
            let why = Refusal::ProxyNotTrusted;
            self.log_connection(slot, Level::Debug, why.detail());
            return self.refuse(slot, "Authorization Violation", why.cause());
        }
        let Some(identity) = &session.identity else {
            return;
        };
        let account = self.directory.account(identity.account);
        let exists = account.is_some_and(|account| account.exists);
        let standing = match &identity.user {
            _ if !exists => Standing::Gone,
            None if !is_within && !self.directory.takes_nobody_over(transport) => Standing::Changed,
            None => return,
            Some(user) => self.directory.standing(user, PeerKind::Client),
        };
        match standing {
            Standing::Same(user) => self.keep_client(slot, user),
            Standing::Changed => self.judge_again(slot),
            // As nats-server does, without a word.
            Standing::Gone => self.begin_close(slot, "Client Closed", Ending::Wanted),
            // The same.
            Standing::Unsigned => self.begin_close(slot, "Authentication Failure", Ending::Wanted),
            Standing::Revoked => self.refuse(slot, REVOKED, "Credentials Revoked"),
            Standing::Expired => self.refuse(slot, ACCOUNT_EXPIRED, "Authentication Expired"),
        }
    }

    /// Removes the subscriptions that a client may no longer have.
    pub(crate) fn drop_denied(&mut self, slot: u32) {
        let Some(session) = self.conns.get(slot).and_then(|c| c.session()) else {
            return;
        };
        let whose = match session.known_as() {
            Some(name) => name.in_words(),
            None => "User \"N/A\"".to_owned(),
        };
        let permissions = permissions(session).cloned();
        let mut ids: Vec<SubId> = session.subs.values().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let Some(sub) = self.subs.get_mut(id) else {
                continue;
            };
            let permissions = permissions.as_ref();
            sub.filtered =
                permissions.is_some_and(|p| p.must_filter(&sub.filter, sub.queue.as_deref()));
            if permissions.is_none_or(|p| p.may_subscribe(&sub.filter, sub.queue.as_deref())) {
                continue;
            }
            let sid = match &sub.owner {
                Owner::Client { sid, .. } => sid,
                Owner::Internal(_) | Owner::Link { .. } | Owner::Import(_) | Owner::Responses => {
                    continue;
                }
            };
            let filter = &sub.filter;
            let group = match sub.queue.as_deref() {
                Some(queue) => format!(" using queue {queue:?}"),
                None => String::new(),
            };
            let logged =
                format!("Removed sub {filter:?}{group} (sid {sid:?}) for {whose} - not authorized");
            let text = violation(filter, sub.queue.as_deref());
            let text = format!("{text} (sid \"{sid}\")");
            self.outputs.push_back(Output::Log {
                level: Level::Info,
                text: logged,
            });
            self.write(slot, |out| encode::err(out, &text));
            self.remove_sub(id);
        }
    }

    /// Closes every connection: the server stops.
    pub fn shutdown(&mut self, now: Now) {
        self.now = now;
        self.ends_offers();
        for slot in self.conns.keys() {
            self.begin_close(slot, "Server Shutdown", Ending::Wanted);
        }
        self.settle();
    }
}
