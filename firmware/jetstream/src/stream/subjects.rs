use std::hash::{BuildHasher, RandomState};

use frond_ledger::Seq;
use frond_subject::{is_literal, matches};

use super::names::{Name, Names};
use super::table::Table;

/// Subjects that room is made for at once.
const PAGE: usize = 1024;
/// Bytes that a subject takes beside its text: its entry, and its place in the table.
const SUBJECT_BYTES: usize = size_of::<Entry>() + 14;

/// One subject that has messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject<'a> {
    /// Its text.
    pub(crate) name: &'a str,
    /// Its number.
    pub(crate) number: u32,
    /// How many messages it has.
    pub(crate) count: u64,
    /// Its oldest message.
    pub(crate) first: Seq,
    /// Its newest message.
    pub(crate) last: Seq,
}

/// What is kept of a subject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// Its oldest message.
    pub(crate) first: Seq,
    /// Its newest message.
    pub(crate) last: Seq,
    /// How many messages it has.
    pub(crate) count: u32,
    name: Name,
}

/// The subjects of a stream, numbered; a number is used again when its subject has nothing left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subjects {
    table: Table,
    names: Names,
    pages: Vec<Vec<Entry>>,
    free: Vec<u32>,
    hasher: RandomState,
    bytes: usize,
}

impl Subjects {
    /// How many subjects have messages.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Bytes of memory, about.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The subject with this number.
    pub(crate) fn get(&self, number: u32) -> Option<Subject<'_>> {
        let entry = self.entry(number)?;
        Some(Subject {
            name: self.names.get(entry.name),
            number,
            count: entry.count.into(),
            first: entry.first,
            last: entry.last,
        })
    }

    /// What is kept of it, to change it.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Entry> {
        let number = number as usize;
        self.pages.get_mut(number / PAGE)?.get_mut(number % PAGE)
    }

    /// The subject with this text.
    pub(crate) fn find(&self, name: &str) -> Option<Subject<'_>> {
        self.get(self.number_of(name, self.hash(name))?)
    }

    /// The number of a subject, given now if it has none.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        let hash = self.hash(name);
        if let Some(number) = self.number_of(name, hash) {
            return number;
        }
        let entry = Entry {
            name: self.names.insert(name).unwrap_or_default(),
            ..Entry::default()
        };
        let number = self.free.pop().unwrap_or_else(|| self.new_number());
        if let Some(place) = self.get_mut(number) {
            *place = entry;
        }
        self.table.insert(hash, number);
        self.bytes += SUBJECT_BYTES + Names::bytes_of(name.len());
        number
    }

    /// Forgets a subject without messages.
    pub(crate) fn release(&mut self, number: u32) {
        let Some(name) = self.entry(number).map(|entry| entry.name) else {
            return;
        };
        let text = self.names.get(name);
        let hash = self.hash(text);
        self.bytes -= SUBJECT_BYTES + Names::bytes_of(text.len());
        self.table.remove(hash, number);
        self.names.remove(name);
        self.free.push(number);
        if self.table.len() == 0 {
            *self = Self::default();
        }
    }

    /// Every subject with messages, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Subject<'_>> {
        let entries = self.pages.iter().flatten().zip(0u32..);
        entries
            .filter(|(entry, _)| entry.count > 0)
            .filter_map(|(_, number)| self.get(number))
    }

    /// Every subject that one of `filters` names (none: all), each once.
    pub(crate) fn matching<'a>(
        &'a self,
        filters: &'a [Box<str>],
    ) -> Box<dyn Iterator<Item = Subject<'a>> + 'a> {
        if filters.iter().all(|filter| is_literal(filter)) && !filters.is_empty() {
            let mut names: Vec<&str> = filters.iter().map(AsRef::as_ref).collect();
            names.sort_unstable();
            names.dedup();
            return Box::new(names.into_iter().filter_map(|name| self.find(name)));
        }
        Box::new(
            self.iter()
                .filter(|subject| is_named(subject.name, filters)),
        )
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        let number = number as usize;
        self.pages.get(number / PAGE)?.get(number % PAGE)
    }

    fn number_of(&self, name: &str, hash: u32) -> Option<u32> {
        let is_it = |number| {
            let entry = self.entry(number);
            entry.is_some_and(|entry| self.names.get(entry.name) == name)
        };
        self.table.find(hash, is_it)
    }

    fn new_number(&mut self) -> u32 {
        if self.pages.last().is_none_or(|page| page.len() == PAGE) {
            self.pages.push(Vec::new());
        }
        let before = self.pages.len().saturating_sub(1) * PAGE;
        let Some(page) = self.pages.last_mut() else {
            return u32::MAX;
        };
        page.push(Entry::default());
        u32::try_from(before + page.len() - 1).unwrap_or(u32::MAX)
    }

    #[expect(clippy::cast_possible_truncation, reason = "any part of a hash is one")]
    fn hash(&self, name: &str) -> u32 {
        self.hasher.hash_one(name) as u32
    }
}

/// Whether one of `filters` names `subject` (none: all).
pub(crate) fn is_named(subject: &str, filters: &[Box<str>]) -> bool {
    filters.is_empty() || filters.iter().any(|filter| matches(filter, subject))
}
