use std::collections::{HashMap, VecDeque};

use frond_account::AccountId;
use frond_clock::Instant;
use frond_subject::Tree;

use crate::limits::{RECENT_BYTES_MAX, RECENT_MAX, RECENT_TIME};

/// The subscriptions that other clusters may not know yet: answers to them have to find the way
/// by themselves.
///
/// spec: nats-server v2.15.1 server/gateway.go `shouldMapReplyForGatewaySend`
#[derive(Debug)]
pub(crate) struct Recent {
    /// Until then anything is recent: the other cluster is just being told.
    fresh_until: Instant,
    accounts: HashMap<AccountId, Filters>,
}

#[derive(Debug)]
struct Filters {
    tree: Tree<u64>,
    next: u64,
    ends: VecDeque<(Instant, u64, Box<str>)>,
    bytes: usize,
}

impl Recent {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            fresh_until: now + RECENT_TIME,
            accounts: HashMap::new(),
        }
    }

    /// Somebody subscribed.
    pub(crate) fn came(&mut self, account: AccountId, filter: &str, now: Instant) {
        let filters = self.accounts.entry(account).or_insert_with(|| Filters {
            tree: Tree::new(),
            next: 0,
            ends: VecDeque::new(),
            bytes: 0,
        });
        filters.forget(now);
        filters.next += 1;
        if filters.tree.insert(filter, filters.next) {
            let end = (now + RECENT_TIME, filters.next, filter.into());
            filters.ends.push_back(end);
            filters.bytes += filter.len();
        }
    }

    /// Whether somebody subscribed to `subject` just now.
    pub(crate) fn has(&mut self, account: AccountId, subject: &str, now: Instant) -> bool {
        if now < self.fresh_until {
            return true;
        }
        let Some(filters) = self.accounts.get_mut(&account) else {
            return false;
        };
        filters.forget(now);
        if filters.ends.is_empty() {
            self.accounts.remove(&account);
            return false;
        }
        filters.tree.has_match(subject)
    }
}

impl Filters {
    fn forget(&mut self, now: Instant) {
        while self.ends.len() >= RECENT_MAX
            || self.bytes >= RECENT_BYTES_MAX
            || self.ends.front().is_some_and(|end| end.0 <= now)
        {
            let Some((_, id, filter)) = self.ends.pop_front() else {
                return;
            };
            self.bytes -= filter.len();
            self.tree.remove(&filter, &id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn a_subscription_is_recent_for_its_time_and_no_longer() {
        let mut recent = Recent::new(Instant::START);
        let one = AccountId(1);
        assert!(recent.has(one, "inb.1", Instant::START));
        let start = Instant::START + RECENT_TIME;
        assert!(!recent.has(one, "inb.1", start));
        recent.came(one, "inb.*", start);
        let almost = start + (RECENT_TIME - Duration::from_nanos(1));
        assert!(recent.has(one, "inb.1", almost));
        assert!(!recent.has(one, "other.1", almost) && !recent.has(AccountId(2), "inb.1", almost));
        assert!(!recent.has(one, "inb.1", start + RECENT_TIME));
        assert!(recent.accounts.is_empty());
    }

    #[test]
    fn long_filters_take_no_more_than_their_room() {
        let mut recent = Recent::new(Instant::START);
        let (one, start) = (AccountId(1), Instant::START + RECENT_TIME);
        let filter = |n: usize| format!("{n}.{}", "x".repeat(4_000));
        for n in 0..3_000 {
            recent.came(one, &filter(n), start);
        }
        let filters = recent.accounts.get(&one).unwrap();
        assert!(filters.bytes <= RECENT_BYTES_MAX + 5_000 && filters.ends.len() > 900);
        assert!(recent.has(one, &filter(2_999), start) && !recent.has(one, &filter(0), start));
    }
}
