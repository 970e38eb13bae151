//! This server itself as a publisher and a subscriber.

use std::collections::BTreeSet;
use std::sync::Arc;

use frond_account::AccountId;
use frond_clock::Now;
use frond_wire::Message;

use crate::broker::AccountState;
use crate::interest::{Owner, Sub, Tie};
use crate::publish::{Origin, Publication};
use crate::{Broker, LinkKind};

impl Broker {
    /// Publishes in an account, routed by the message's subject; receivers on this server see
    /// `shown` instead of it. Whether anybody got it.
    pub fn publish_internal(
        &mut self,
        now: Now,
        account: AccountId,
        message: &Message<'_>,
        shown: Option<&str>,
    ) -> bool {
        self.now = now;
        let publication = Publication {
            shown,
            ..Publication::new(account, message, Origin::Internal)
        };
        let taken = match self.mapped_for(account, message.subject) {
            Some(mapped) => {
                let message = &Message {
                    subject: &mapped,
                    ..*message
                };
                self.publish_mapped(&Publication {
                    message,
                    ..publication
                })
            }
            None => self.publish(&publication),
        };
        self.settle();
        taken
    }

    /// Messages on `filter` come out as [`crate::Output::Internal`] with this `id`, once per
    /// filter subscribed. Whether the filter was valid.
    pub fn subscribe_internal(&mut self, account: AccountId, filter: &str, id: u64) -> bool {
        self.subscribe_internal_as(account, filter, None, id)
    }

    /// The same as a member of a queue group; what this server itself publishes goes to another
    /// member or to nobody.
    pub fn subscribe_internal_group(
        &mut self,
        account: AccountId,
        filter: &str,
        queue: &str,
        id: u64,
    ) -> bool {
        self.subscribe_internal_as(account, filter, Some(queue), id)
    }

    fn subscribe_internal_as(
        &mut self,
        account: AccountId,
        filter: &str,
        queue: Option<&str>,
        id: u64,
    ) -> bool {
        let sub = self.add_sub(Sub {
            account,
            filter: filter.into(),
            queue: queue.map(Into::into),
            owner: Owner::Internal(id),
            delivered: 0,
            max: 0,
            filtered: false,
            tie: Tie::None,
        });
        if let Some(sub) = sub {
            self.internal.entry((account, id)).or_default().push(sub);
        }
        self.settle();
        sub.is_some()
    }

    /// Ends all subscriptions under this `id`.
    pub fn unsubscribe_internal(&mut self, account: AccountId, id: u64) {
        for sub in self.internal.remove(&(account, id)).unwrap_or_default() {
            self.remove_sub(sub);
        }
        self.settle();
    }

    /// Ends all subscriptions whose `id` is one of those, in every account.
    pub fn unsubscribe_internals(&mut self, is_one: impl Fn(u64) -> bool) {
        let all = self.internal.keys().filter(|(_, id)| is_one(*id));
        let all: BTreeSet<_> = all.copied().collect();
        for (account, id) in all {
            self.unsubscribe_internal(account, id);
        }
    }

    /// Whether somebody here or at a link wants `subject`, a literal.
    #[must_use]
    pub fn has_interest(&self, account: AccountId, subject: &str) -> bool {
        self.accounts
            .get(account.0 as usize)
            .is_some_and(|state| state.interest.has(subject))
    }

    /// Whether somebody here or at a link subscribed to exactly this filter.
    #[must_use]
    pub fn has_subscription(&self, account: AccountId, filter: &str) -> bool {
        self.accounts
            .get(account.0 as usize)
            .is_some_and(|state| state.interest.has_exactly(filter))
    }

    /// Whether somebody subscribes to exactly `subject`, in this queue group or in none: whoever
    /// only listens in on wildcards does not count, but in another cluster, which tells no more
    /// than what it wants.
    ///
    /// spec: nats-server v2.15.1 server/consumer.go `hasDeliveryInterest`
    #[must_use]
    pub fn has_receiver(&self, account: AccountId, subject: &str, queue: Option<&str>) -> bool {
        let Some(state) = self.accounts.get(account.0 as usize) else {
            return false;
        };
        let mut exact = state.interest.exactly(subject).iter();
        exact.any(|sub| {
            let sub = self.subs.get(*sub);
            sub.is_some_and(|sub| sub.queue.as_deref() == queue)
        }) || (self.has_gateway() && self.is_wanted_elsewhere(state, subject))
    }

    fn is_wanted_elsewhere(&self, state: &AccountState, subject: &str) -> bool {
        let mut is_wanted = false;
        state.interest.each_match(subject, &mut |id| {
            let owner = self.subs.get(id).map(|sub| &sub.owner);
            let link = match owner {
                Some(Owner::Link { link, .. }) => Some(*link),
                Some(
                    Owner::Client { .. } | Owner::Internal(_) | Owner::Import(_) | Owner::Responses,
                )
                | None => None,
            };
            is_wanted |= link.is_some_and(|link| self.link_kind(link) == LinkKind::Gateway);
        });
        is_wanted
    }

    /// The filters of all subscriptions in an account, each once per subscriber.
    pub fn filters(&self, account: AccountId) -> impl Iterator<Item = Arc<str>> {
        self.subs
            .iter()
            .filter(move |(_, sub)| sub.account == account)
            .map(|(_, sub)| Arc::clone(&sub.filter))
    }
}
