use std::time::Duration;

use crate::limits::COMPANY_WAIT_MAX;

/// Whether a sync waits a little for others who want one too.
///
/// Publishers who wait for an ack before they send the next are back soon after a sync ended. If
/// those who came first get one at once, the others miss it, and all wait for two syncs from then
/// on. A wait shorter than a sync brings them together: half as many syncs, for twice as many
/// messages each. Who is alone never waits.
#[derive(Debug, Default)]
pub(super) struct Company {
    /// Messages that the last sync made safe.
    made_safe: usize,
    /// How long it took.
    took: Duration,
    /// Those and what came while it ran: as many are on their way, or about to be.
    under_way: usize,
    /// So many syncs wait for nobody, as nobody came; doubles.
    alone_for: u32,
    /// How many of those are to come.
    alone: u32,
}

/// Syncs that wait for nobody after those who were waited for stayed away, at most.
const ALONE_MAX: u32 = 64;

impl Company {
    /// A sync is done.
    pub(super) const fn synced(&mut self, messages: usize, took: Duration) {
        (self.made_safe, self.took) = (messages, took);
    }

    /// These came while it ran.
    pub(super) const fn met(&mut self, waiting: usize) {
        self.under_way = self.made_safe + waiting;
    }

    /// Whether so many are all that can be expected, but for few stragglers.
    pub(super) const fn is_complete(&self, waiting: usize) -> bool {
        waiting >= self.under_way - self.under_way / 8
    }

    /// How long the next sync waits for more, if it does.
    pub(super) fn wait(&mut self, waiting: usize) -> Option<Duration> {
        if self.is_complete(waiting) {
            return None;
        }
        if self.alone > 0 {
            self.alone -= 1;
            return None;
        }
        Some((self.took / 2).min(COMPANY_WAIT_MAX))
    }

    /// The wait is over: there were `before` when it began.
    pub(super) fn waited(&mut self, before: usize, waiting: usize) {
        let missing = self.under_way.saturating_sub(before);
        if waiting.saturating_sub(before) * 2 >= missing {
            self.alone_for = 0;
        } else {
            self.alone_for = (self.alone_for * 2).clamp(1, ALONE_MAX);
        }
        self.alone = self.alone_for;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: u64 = 200;

    /// Syncs that `publishers` need for `messages`, each waiting for its ack before the next, which
    /// comes within `back` microseconds.
    fn syncs(publishers: u64, messages: u64, back: u64, mut company: Option<Company>) -> u64 {
        let mut coming: Vec<u64> = (0..publishers).map(|n| n * back / publishers).collect();
        let (mut now, mut safe, mut syncs) = (0, 0, 0);
        while safe < messages {
            coming.sort_unstable();
            now = now.max(coming.first().copied().unwrap_or(now));
            let count = |at: u64| coming.iter().filter(|come| **come <= at).count();
            if let Some(company) = &mut company {
                let before = count(now);
                let wait = company.wait(before).unwrap_or_default().as_micros();
                let until = now + u64::try_from(wait).unwrap();
                while now < until && !company.is_complete(count(now)) {
                    now += 1;
                }
                if until > now || wait > 0 {
                    company.waited(before, count(now));
                }
            }
            let taken = count(now);
            now += SYNC;
            syncs += 1;
            safe += taken as u64;
            coming.drain(..taken);
            if let Some(company) = &mut company {
                company.synced(taken, Duration::from_micros(SYNC));
                company.met(coming.iter().filter(|come| **come <= now).count());
            }
            coming.extend((0..taken as u64).map(|n| now + (n + 1) * back / publishers));
        }
        syncs
    }

    #[test]
    fn those_who_wait_for_acks_share_each_sync() {
        for publishers in [2, 5, 16, 100] {
            let messages = 1000 * publishers;
            let without = syncs(publishers, messages, 90, None);
            let with = syncs(publishers, messages, 90, Some(Company::default()));
            assert!(with <= 1150, "{publishers} publishers: {with} syncs");
            assert!(without >= 1900, "{publishers} publishers: {without} syncs");
        }
    }

    #[test]
    fn who_is_alone_never_waits() {
        let mut company = Company::default();
        for _ in 0..100 {
            company.met(0);
            assert_eq!(company.wait(1), None);
            company.synced(1, Duration::from_secs(1));
        }
    }

    #[test]
    fn who_does_not_come_back_is_not_waited_for() {
        let mut company = Company::default();
        let mut waits = 0;
        for _ in 0..1000 {
            company.synced(100, Duration::from_secs(1));
            company.met(0);
            if let Some(wait) = company.wait(1) {
                assert_eq!(wait, COMPANY_WAIT_MAX);
                waits += 1;
                company.waited(1, 2);
            }
        }
        assert!((1..=22).contains(&waits), "{waits} waits");
        // One wait in vain is forgotten as soon as somebody comes.
        company.alone = 0;
        company.waited(1, 100);
        assert!(company.wait(1).is_some());
    }
}
