//! Subscriptions of clients, and their removal whoever made them.
//! spec: nats-server v2.15.1 server/client.go `processSubEx`, `processUnsub`, `canSubscribe`.

use std::sync::Arc;

use frond_account::Access;
use frond_wire::encode;

use crate::account_limits::TOO_MANY_SUBS;
use crate::claimed::jwt_user;
use crate::connection::Session;
use crate::interest::{Change, Owner, Sub, SubId, Tie};
use crate::memory::Weigh;
use crate::{Broker, Level, Source};

impl Broker {
    pub(crate) fn client_subscribe(
        &mut self,
        slot: u32,
        filter: &str,
        queue: Option<&str>,
        sid: &str,
    ) {
        let now = self.now.mono;
        let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) else {
            return;
        };
        session.last_in = now;
        let (account, verbose) = (session.account, session.options.verbose);
        let refusal = self.subscribe_refusal(slot, filter, queue);
        if let Some(refusal) = refusal.or_else(|| self.greed(slot).map(Denial::Full)) {
            let logged = refusal.logged(filter, queue, sid);
            self.log_connection(slot, Level::Error, &logged);
            let told = refusal.told(filter, queue);
            return self.write(slot, |out| encode::err(out, &told));
        }
        let Some(session) = self.conns.get(slot).and_then(|c| c.session()) else {
            return;
        };
        if !session.subs.contains_key(sid) {
            let filtered = permissions(session).is_some_and(|p| p.must_filter(filter, queue));
            let id = self.add_sub(Sub {
                account,
                filter: filter.into(),
                queue: queue.map(Into::into),
                owner: Owner::Client {
                    slot,
                    sid: sid.into(),
                },
                delivered: 0,
                max: 0,
                filtered,
                tie: Tie::None,
            });
            let Some(id) = id else {
                return self.write(slot, |out| encode::err(out, "Invalid Subject"));
            };
            if let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) {
                session.subs.insert(sid.into(), id);
            }
        }
        if verbose {
            self.write(slot, encode::ok);
        }
    }

    pub(crate) fn client_unsubscribe(&mut self, slot: u32, sid: &str, max: Option<u64>) {
        let now = self.now.mono;
        let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) else {
            return;
        };
        session.last_in = now;
        let verbose = session.options.verbose;
        if let Some(id) = session.subs.get(sid).copied() {
            match (max, self.subs.get_mut(id)) {
                (Some(max), Some(sub)) if sub.delivered < max => sub.max = max,
                (Some(_), _) | (None, _) => self.remove_sub(id),
            }
        }
        if verbose {
            self.write(slot, encode::ok);
        }
    }

    /// Files a subscription with what it gets by imports, unless its filter is none.
    pub(crate) fn add_sub(&mut self, sub: Sub) -> Option<SubId> {
        let account = sub.account;
        let id = self.file_sub(sub)?;
        let state = self.accounts.get(account.0 as usize);
        if state.is_some_and(|state| !state.sharing.streams.is_empty()) {
            self.add_shadows(id);
        }
        Some(id)
    }

    /// Files one subscription.
    pub(crate) fn file_sub(&mut self, sub: Sub) -> Option<SubId> {
        let filter = Arc::clone(&sub.filter);
        let account = sub.account;
        let change = self.change_of(&sub, 1);
        self.weigh_sub(&sub, Weigh::Add);
        let id = self.subs.insert(sub);
        let filed = self
            .account_state(account)
            .is_some_and(|state| state.interest.insert(&filter, id));
        if !filed {
            if let Some(sub) = self.subs.remove(id) {
                self.weigh_sub(&sub, Weigh::Remove);
            }
            return None;
        }
        self.changes.push_back(change);
        Some(id)
    }

    /// Removes a subscription from everywhere; whoever keeps its number elsewhere lets go of
    /// it itself, clients excepted.
    pub(crate) fn remove_sub(&mut self, id: SubId) {
        self.drop_shadows(id);
        let Some(sub) = self.subs.remove(id) else {
            return;
        };
        if let Some(state) = self.account_state(sub.account) {
            state.interest.remove(&sub.filter, id);
        }
        self.weigh_sub(&sub, Weigh::Remove);
        let change = self.change_of(&sub, -1);
        self.changes.push_back(change);
        if let Owner::Client { slot, sid } = &sub.owner
            && let Some(session) = self.conns.get_mut(*slot).and_then(|c| c.session_mut())
            && session.subs.get(sid) == Some(&id)
        {
            session.subs.remove(sid);
        }
        if matches!(sub.tie, Tie::None) {
            self.stop_listening(sub.account, &sub.filter);
        }
    }

    fn change_of(&self, sub: &Sub, sign: i32) -> Change {
        let cluster = self.cluster_behind(&sub.owner, sub.account);
        let (source, count) = match &sub.owner {
            Owner::Client { slot, .. } => {
                let conn = self.conns.get(*slot).map(|connection| connection.conn);
                (conn.map_or(Source::Internal, Source::Client), 1)
            }
            Owner::Internal(_) | Owner::Import(_) | Owner::Responses => (Source::Internal, 1),
            Owner::Link { link, weight, .. } => {
                let count = i32::try_from(*weight).unwrap_or(i32::MAX);
                (self.link_source(*link), count.max(1))
            }
        };
        Change {
            account: sub.account,
            filter: Arc::clone(&sub.filter),
            queue: sub.queue.clone(),
            source,
            cluster,
            stays_here: sub.stays_here(self.directory.system_account()),
            delta: sign.saturating_mul(count),
        }
    }

    fn subscribe_refusal(&self, slot: u32, filter: &str, queue: Option<&str>) -> Option<Denial> {
        let session = self.conns.get(slot)?.session()?;
        let allowed = queue != Some(SYSTEM_QUEUE)
            && permissions(session).is_none_or(|p| p.may_subscribe(filter, queue));
        if !allowed {
            return Some(Denial::NotAllowed);
        }
        let tokens_max = self.limits.subscription_tokens_max;
        if tokens_max.is_some_and(|max| filter.split('.').count() > max) {
            return Some(Denial::TooManyTokens);
        }
        let user = session.identity.as_ref();
        let user = user.and_then(|identity| identity.user.as_deref());
        let own_max = jwt_user(user).and_then(|user| user.subscriptions_max);
        let full = own_max.is_some_and(|max| session.subs.len() as u64 >= max)
            || self.is_full(session.account, session.subs.len());
        full.then(|| Denial::Full(TOO_MANY_SUBS.to_owned()))
    }
}

/// Why a subscription isn't made.
enum Denial {
    NotAllowed,
    TooManyTokens,
    /// In these words.
    Full(String),
}

impl Denial {
    fn told(&self, filter: &str, queue: Option<&str>) -> String {
        match self {
            Self::NotAllowed => violation(filter, queue),
            Self::TooManyTokens => format!("{}, too many tokens", violation(filter, None)),
            Self::Full(text) => text.clone(),
        }
    }

    /// spec: nats-server v2.15.1 server/client.go `subPermissionViolation`
    fn logged(&self, filter: &str, queue: Option<&str>, sid: &str) -> String {
        match (self, queue) {
            (Self::NotAllowed, None) => {
                format!("Subscription Violation - Subject {filter:?}, SID {sid}")
            }
            (Self::NotAllowed, Some(queue)) => {
                format!("Subscription Violation - Subject {filter:?}, Queue: {queue:?}, SID {sid}")
            }
            (Self::TooManyTokens, _) => {
                format!("Subscription Violation Too Many Tokens - Subject {filter:?}, SID {sid}")
            }
            (Self::Full(text), _) => text.clone(),
        }
    }
}

/// The words for a subscription that isn't allowed.
pub(crate) fn violation(filter: &str, queue: Option<&str>) -> String {
    match queue {
        None => format!("Permissions Violation for Subscription to \"{filter}\""),
        Some(queue) => {
            format!(
                "Permissions Violation for Subscription to \"{filter}\" using queue \"{queue}\""
            )
        }
    }
}

pub(crate) fn permissions(session: &Session) -> Option<&frond_account::Permissions> {
    session.access.as_ref().map(Access::permissions)
}

/// Kept for servers.
const SYSTEM_QUEUE: &str = "_sys_";
