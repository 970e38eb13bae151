use std::collections::BTreeMap;
use std::hash::BuildHasher;

use frond_ledger::Seq;
use frond_subject::{is_literal, matches};

use super::names::{Name, Names};
use super::subject_hash::SubjectHash;
use super::table::Table;

/// Subjects that room is made for at once.
const PAGE: usize = 1024;
/// Subjects whose names move at once, where most of what holds names is free.
const MOVED_AT_ONCE: usize = 32;

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its oldest message.
    pub(crate) first: Seq,
    /// Its newest message.
    pub(crate) last: Seq,
    /// How many messages it has, up to as many as this can tell; see [`Subjects::add`].
    count: u32,
    name: Name,
}

/// The subjects of a stream, numbered; a number is used again when its subject has nothing left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subjects {
    table: Table,
    names: Names,
    pages: Vec<Vec<Entry>>,
    free: Vec<u32>,
    hasher: SubjectHash,
    /// Bytes of memory of the pages.
    page_bytes: usize,
    /// Messages beyond what an entry can count.
    beyond: BTreeMap<u32, u64>,
    /// Names on their way to where they take less memory.
    moving: Option<Moving>,
}

impl Entry {
    /// Whether it has no messages.
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Subjects with smaller numbers have their names there already.
#[derive(Clone, Debug, Default)]
struct Moving {
    names: Names,
    upto: u32,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            first: 0,
            last: 0,
            count: 0,
            name: Name::NONE,
        }
    }
}

impl Subjects {
    /// How many subjects have messages.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Bytes of memory: also those that wait for subjects to come.
    pub(crate) fn bytes(&self) -> usize {
        let moving = self.moving.as_ref();
        let moved_bytes = moving.map_or(0, |moving| moving.names.held_bytes());
        self.table.bytes()
            + self.names.held_bytes()
            + moved_bytes
            + self.page_bytes
            + self.free.capacity() * size_of::<u32>()
    }

    /// Whether a new subject of this length takes no further memory.
    pub(crate) fn has_place(&self, len: usize) -> bool {
        let names = match &self.moving {
            Some(moving) => &moving.names,
            None => &self.names,
        };
        !self.free.is_empty() && names.has_cell(len)
    }

    /// The subject with this number.
    pub(crate) fn get(&self, number: u32) -> Option<Subject<'_>> {
        let entry = self.entry(number)?;
        let beyond = match entry.count {
            u32::MAX => self.beyond.get(&number).copied().unwrap_or(0),
            _ => 0,
        };
        Some(Subject {
            name: self.name_of(number, entry),
            number,
            count: u64::from(entry.count) + beyond,
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
        self.move_some();
        let number = self.free.pop().unwrap_or_else(|| self.new_number());
        let entry = Entry {
            name: self.names_of(number).insert(name).unwrap_or(Name::NONE),
            ..Entry::default()
        };
        if let Some(place) = self.get_mut(number) {
            *place = entry;
        }
        self.table.insert(hash, number);
        number
    }

    /// One message more. What an entry cannot count is counted beside it.
    pub(crate) fn add(&mut self, number: u32) {
        match self.get_mut(number).map(|entry| &mut entry.count) {
            Some(&mut u32::MAX) => *self.beyond.entry(number).or_default() += 1,
            Some(count) => *count += 1,
            None => {}
        }
    }

    /// For tests: nobody waits for so many.
    #[cfg(test)]
    fn set_count(&mut self, number: u32, count: u32) {
        if let Some(entry) = self.get_mut(number) {
            entry.count = count;
        }
    }

    /// One less; how many are left.
    pub(crate) fn subtract(&mut self, number: u32) -> u64 {
        if let Some(beyond) = self.beyond.get_mut(&number) {
            *beyond -= 1;
            let left = u64::from(u32::MAX) + *beyond;
            if *beyond == 0 {
                self.beyond.remove(&number);
            }
            return left;
        }
        let Some(entry) = self.get_mut(number) else {
            return 0;
        };
        entry.count = entry.count.saturating_sub(1);
        entry.count.into()
    }

    /// Forgets a subject without messages.
    pub(crate) fn release(&mut self, number: u32) {
        let Some(entry) = self.get_mut(number) else {
            return;
        };
        let entry = core::mem::take(entry);
        let hash = self.hash(self.name_of(number, &entry));
        self.table.remove(hash, number);
        self.names_of(number).remove(entry.name);
        self.free.push(number);
        if self.table.len() == 0 {
            *self = Self::default();
            return;
        }
        if self.moving.is_none() && self.names.is_sparse() {
            self.moving = Some(Moving::default());
        }
        self.move_some();
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

    fn name_of(&self, number: u32, entry: &Entry) -> &str {
        self.names_with(number).get(entry.name)
    }

    /// Where the name of this subject is.
    fn names_with(&self, number: u32) -> &Names {
        match &self.moving {
            Some(moving) if number < moving.upto => &moving.names,
            Some(_) | None => &self.names,
        }
    }

    /// Where the name of this subject is, or comes.
    fn names_of(&mut self, number: u32) -> &mut Names {
        match &mut self.moving {
            Some(moving) if number < moving.upto => &mut moving.names,
            Some(_) | None => &mut self.names,
        }
    }

    /// Moves some of the names together, so that the rest can be given back when all are.
    fn move_some(&mut self) {
        let Some(mut moving) = self.moving.take() else {
            return;
        };
        for _ in 0..MOVED_AT_ONCE {
            let number = moving.upto;
            let index = number as usize;
            let page = self.pages.get_mut(index / PAGE);
            let Some(entry) = page.and_then(|page| page.get_mut(index % PAGE)) else {
                self.names = moving.names;
                return;
            };
            if entry.name != Name::NONE {
                let text = self.names.get(entry.name);
                entry.name = moving.names.insert(text).unwrap_or(Name::NONE);
            }
            moving.upto += 1;
        }
        self.moving = Some(moving);
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        let number = number as usize;
        self.pages.get(number / PAGE)?.get(number % PAGE)
    }

    fn number_of(&self, name: &str, hash: u32) -> Option<u32> {
        let is_it = |number| {
            let entry = self.entry(number);
            entry.is_some_and(|entry| self.names_with(number).is(entry.name, name))
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
        let room = page.capacity();
        page.push(Entry::default());
        self.page_bytes += (page.capacity() - room) * size_of::<Entry>();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_messages_of_one_subject_than_an_entry_counts_are_counted() {
        let mut subjects = Subjects::default();
        let number = subjects.number("s");
        subjects.set_count(number, u32::MAX - 1);
        for _ in 0..3 {
            subjects.add(number);
        }
        let most = u64::from(u32::MAX) + 2;
        assert_eq!(subjects.get(number).unwrap().count, most);
        let left: Vec<u64> = (0..4).map(|_| subjects.subtract(number)).collect();
        assert_eq!(left, [most - 1, most - 2, most - 3, most - 4]);
        assert_eq!(subjects.get(number).unwrap().count, most - 4);
    }
}
