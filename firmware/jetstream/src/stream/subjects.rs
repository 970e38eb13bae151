use std::collections::BTreeMap;
use std::sync::Arc;

use frond_ledger::Seq;
use frond_subject::{is_literal, matches};

/// One subject that has messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Its text.
    pub(crate) name: Arc<str>,
    /// How many messages it has.
    pub(crate) count: u64,
    /// Its oldest message.
    pub(crate) first: Seq,
    /// Its newest message.
    pub(crate) last: Seq,
}

/// The subjects of a stream, numbered; a number is used again when its subject has nothing left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subjects {
    by_name: BTreeMap<Arc<str>, u32>,
    entries: Vec<Subject>,
    free: Vec<u32>,
}

impl Subjects {
    /// How many subjects have messages.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The subject with this number.
    pub(crate) fn get(&self, number: u32) -> Option<&Subject> {
        self.entries.get(number as usize)
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Subject> {
        self.entries.get_mut(number as usize)
    }

    /// The subject with this text.
    pub(crate) fn find(&self, name: &str) -> Option<&Subject> {
        self.get(*self.by_name.get(name)?)
    }

    /// The number of a subject, given now if it has none.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.by_name.get(name) {
            return *number;
        }
        let name: Arc<str> = name.into();
        let entry = Subject {
            name: Arc::clone(&name),
            count: 0,
            first: 0,
            last: 0,
        };
        let number = match self.free.pop() {
            Some(number) => {
                if let Some(place) = self.entries.get_mut(number as usize) {
                    *place = entry;
                }
                number
            }
            None => {
                self.entries.push(entry);
                u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.by_name.insert(name, number);
        number
    }

    /// Forgets a subject without messages.
    pub(crate) fn release(&mut self, number: u32) {
        if let Some(entry) = self.get(number) {
            let name = Arc::clone(&entry.name);
            self.by_name.remove(&name);
            self.free.push(number);
        }
    }

    /// Every subject with messages, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Subject> {
        self.by_name.values().filter_map(|number| self.get(*number))
    }

    /// Every subject that one of `filters` names (none: all), by name.
    pub(crate) fn matching<'a>(
        &'a self,
        filters: &'a [Box<str>],
    ) -> Box<dyn Iterator<Item = &'a Subject> + 'a> {
        if filters.iter().all(|filter| is_literal(filter)) && !filters.is_empty() {
            let mut names: Vec<&str> = filters.iter().map(AsRef::as_ref).collect();
            names.sort_unstable();
            names.dedup();
            return Box::new(names.into_iter().filter_map(|name| self.find(name)));
        }
        Box::new(
            self.iter()
                .filter(|subject| is_named(&subject.name, filters)),
        )
    }
}

/// Whether one of `filters` names `subject` (none: all).
pub(crate) fn is_named(subject: &str, filters: &[Box<str>]) -> bool {
    filters.is_empty() || filters.iter().any(|filter| matches(filter, subject))
}
