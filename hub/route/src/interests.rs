use std::collections::HashMap;

use frond_account::AccountId;
use frond_broker::InterestChange;
use frond_wire::encode;

/// What the peer has been told we want: how many subscribers stand behind each filter of each
/// account and leafnode cluster.
///
/// A plain filter is told when the first comes and when the last goes, a queue group with each
/// change of its weight.
/// spec: nats-server v2.15.1 server/route.go `updateRouteSubscriptionMap`
#[derive(Debug, Default)]
pub(crate) struct Interests {
    /// By account, subject, queue group and origin; counts are above zero.
    counts: HashMap<Box<str>, i64>,
    key: String,
}

/// Whose interest, and how it is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Teller<'a> {
    /// The account's name, unless the route is for one.
    pub(crate) account: Option<&'a str>,
    /// The cluster of the leafnode it is held for.
    pub(crate) origin: Option<&'a str>,
}

/// One thing that the peer was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told<'a> {
    pub(crate) subject: &'a str,
    pub(crate) queue: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
}

impl Interests {
    /// Counts, and tells the peer when it has to know.
    pub(crate) fn update(
        &mut self,
        teller: Teller<'_>,
        change: &InterestChange<'_>,
        out: &mut Vec<u8>,
    ) {
        self.find(change.account, teller.origin, change);
        let before = self.counts.get(self.key.as_str()).copied().unwrap_or(0);
        let after = (before + i64::from(change.delta)).max(0);
        match (before, after) {
            (0, 0) => {}
            (_, 0) => {
                self.counts.remove(self.key.as_str());
            }
            (0, count) => {
                self.counts.insert(self.key.as_str().into(), count);
            }
            (_, count) => {
                if let Some(place) = self.counts.get_mut(self.key.as_str()) {
                    *place = count;
                }
            }
        }
        if before == after {
            return;
        }
        let (subject, account, origin) = (change.subject, teller.account, teller.origin);
        match change.queue {
            _ if after == 0 => encode::route_unsub(out, account, origin, subject, change.queue),
            None if before > 0 => {}
            queue => {
                let weight = u32::try_from(after).unwrap_or(u32::MAX);
                let queue = queue.map(|queue| (queue, weight));
                encode::route_sub(out, account, origin, subject, queue);
            }
        }
    }

    /// Calls `each` for all that the peer was told, in order, with its weight.
    pub(crate) fn each(&self, each: &mut dyn FnMut(AccountId, Told<'_>, u32)) {
        self.each_beyond(&Self::default(), each);
    }

    /// The same of what it was not told by another account.
    pub(crate) fn each_beyond(&self, other: &Self, each: &mut dyn FnMut(AccountId, Told<'_>, u32)) {
        let counts = self.counts.iter();
        let mut counts: Vec<_> = counts
            .filter(|(key, _)| !other.counts.contains_key(*key))
            .collect();
        counts.sort_unstable();
        for (key, count) in counts {
            let mut words = key.split(' ');
            let account = words.next().and_then(|digits| digits.parse().ok());
            let (Some(account), Some(subject)) = (account, words.next()) else {
                continue;
            };
            let mut more = || words.next().filter(|word| !word.is_empty());
            let told = Told {
                subject,
                queue: more(),
                origin: more(),
            };
            let weight = u32::try_from(*count).unwrap_or(u32::MAX);
            each(AccountId(account), told, weight);
        }
    }

    fn find(&mut self, account: AccountId, origin: Option<&str>, change: &InterestChange<'_>) {
        self.key.clear();
        let mut digits = Vec::with_capacity(10);
        encode::number(&mut digits, u64::from(account.0));
        self.key
            .push_str(core::str::from_utf8(&digits).unwrap_or_default());
        for word in [
            change.subject,
            change.queue.unwrap_or(""),
            origin.unwrap_or(""),
        ] {
            self.key.push(' ');
            self.key.push_str(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_broker::Source;

    fn told(interests: &mut Interests, words: &str, delta: i32) -> String {
        let mut words = words.split(' ');
        let subject = words.next().unwrap();
        let queue = words.next().filter(|queue| *queue != "-");
        let teller = Teller {
            account: Some("A"),
            origin: words.next(),
        };
        let change = InterestChange {
            account: AccountId(3),
            subject,
            queue,
            source: Source::Internal,
            origin_cluster: None,
            stays_here: false,
            delta,
        };
        let mut out = Vec::new();
        interests.update(teller, &change, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// spec: wire-2 section 22: `SUB cl`, twice `SUB cl q`, and `UNSUB` of all
    #[test]
    fn interest_is_told_as_a_real_server_tells_it() {
        let mut interests = Interests::default();
        let lines: Vec<_> = [
            ("cl", 1),
            ("cl", 1),
            ("cl q", 1),
            ("cl q", 1),
            ("cl", -2),
            ("cl q", -1),
            ("cl q", -1),
            ("cl", -1),
        ]
        .map(|(words, delta)| told(&mut interests, words, delta))
        .into();
        let expected = [
            "RS+ A cl\r\n",
            "",
            "RS+ A cl q 1\r\n",
            "RS+ A cl q 2\r\n",
            "RS- A cl\r\n",
            "RS+ A cl q 1\r\n",
            "RS- A cl q\r\n",
            "",
        ];
        assert_eq!(lines, expected);
        assert!(interests.counts.is_empty());
    }

    #[test]
    fn what_was_told_is_there_to_be_told_again() {
        let mut interests = Interests::default();
        for words in ["a", "a", "b q", "b q", "c - X", "d q Y"] {
            told(&mut interests, words, 1);
        }
        let mut found = Vec::new();
        interests.each(&mut |account, told, weight| {
            let (subject, queue, origin) = (told.subject, told.queue, told.origin);
            found.push(format!(
                "{} {subject} {queue:?} {origin:?} {weight}",
                account.0
            ));
        });
        found.sort();
        let expected = [
            "3 a None None 2",
            "3 b Some(\"q\") None 2",
            "3 c None Some(\"X\") 1",
            "3 d Some(\"q\") Some(\"Y\") 1",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_interest_of_leafnodes_is_counted_by_cluster() {
        let mut interests = Interests::default();
        let lines: Vec<_> = [("f - X", 1), ("f", 1), ("f - Y", 1), ("f - X", -1)]
            .map(|(words, delta)| told(&mut interests, words, delta))
            .into();
        let expected = [
            "LS+ X A f\r\n",
            "RS+ A f\r\n",
            "LS+ Y A f\r\n",
            "LS- X A f\r\n",
        ];
        assert_eq!(lines, expected);
    }
}
