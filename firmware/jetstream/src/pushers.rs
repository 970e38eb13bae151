//! Consumers by the subject they deliver to: whoever comes or goes concerns few of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use frond_ledger::{ConsumerId, StreamId};

use crate::io::Tenant;

/// A consumer and its stream.
pub(crate) type Place = (StreamId, ConsumerId);

/// The consumers that deliver by themselves.
#[derive(Debug, Default)]
pub(crate) struct Pushers {
    by_subject: BTreeMap<Tenant, BTreeMap<Box<str>, BTreeSet<Place>>>,
}

impl Pushers {
    /// A consumer delivers to `subject` from here on.
    pub(crate) fn insert(&mut self, tenant: Tenant, subject: &str, place: Place) {
        let subjects = self.by_subject.entry(tenant).or_default();
        subjects.entry(subject.into()).or_default().insert(place);
    }

    /// It does no longer.
    pub(crate) fn remove(&mut self, tenant: Tenant, subject: &str, place: Place) {
        let Some(subjects) = self.by_subject.get_mut(&tenant) else {
            return;
        };
        if let Some(places) = subjects.get_mut(subject) {
            places.remove(&place);
            if places.is_empty() {
                subjects.remove(subject);
            }
        }
    }

    /// Those that deliver to a subject that `filter` names.
    pub(crate) fn under(&self, tenant: Tenant, filter: &str) -> Vec<Place> {
        let Some(subjects) = self.by_subject.get(&tenant) else {
            return Vec::new();
        };
        let start = literal_start(filter);
        if start == filter {
            let places = subjects.get(filter).into_iter().flatten();
            return places.copied().collect();
        }
        let from = (Bound::Included(start), Bound::Unbounded);
        let near = subjects.range::<str, _>(from);
        near.take_while(|(subject, _)| subject.starts_with(start))
            .filter(|(subject, _)| frond_subject::matches(filter, subject))
            .flat_map(|(_, places)| places)
            .copied()
            .collect()
    }
}

/// What all subjects that a filter names begin with; all of it when it names one.
fn literal_start(filter: &str) -> &str {
    let mut end = 0;
    for token in filter.split('.') {
        if token == "*" || token == ">" {
            return filter.get(..end).unwrap_or_default();
        }
        end += token.len() + 1;
    }
    filter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_finds_whom_it_names() {
        let subjects = ["a", "a.b", "a.b.c", "a*.b", "b.b", "a.b"];
        let mut pushers = Pushers::default();
        let place = |n: usize| (StreamId(1), ConsumerId(u32::try_from(n).unwrap()));
        for (n, subject) in subjects.iter().enumerate() {
            pushers.insert(Tenant(1), subject, place(n));
        }
        for filter in [
            "a", "a.b", "a.*", "a.>", "*.b", ">", "a*.b", "c", "a.b.>", "*",
        ] {
            let mut found = pushers.under(Tenant(1), filter);
            found.sort_unstable();
            let named = |n: &usize| frond_subject::matches(filter, subjects[*n]);
            let wanted: Vec<Place> = (0..subjects.len()).filter(named).map(place).collect();
            assert_eq!(found, wanted, "{filter}");
            assert_eq!(pushers.under(Tenant(2), filter), []);
        }
        for (n, subject) in subjects.iter().enumerate() {
            pushers.remove(Tenant(1), subject, place(n));
        }
        assert_eq!(pushers.under(Tenant(1), ">"), []);
    }
}
