//! A set of numbers found by the hash of what they stand for. It grows by a small part at a time:
//! no message waits until millions are moved.

/// Numbers that one part has before there are more parts, about.
const PART_NUMBERS: usize = 4096;
/// A part is made with this many places and has a power of two of them.
const PLACES_MIN: usize = 8;

/// Numbers by hash. Whoever asks compares what they stand for.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// By linear hashing: the parts below `split` are halved already.
    parts: Vec<Part>,
    split: usize,
    level: u32,
    len: usize,
    /// Places of all parts.
    places: usize,
}

#[derive(Clone, Debug, Default)]
struct Part {
    /// Open addressing, each place `hash << 32 | number + 1`; 0 is free.
    places: Vec<u64>,
    len: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            parts: vec![Part::default()],
            split: 0,
            level: 0,
            len: 0,
            places: 0,
        }
    }
}

impl Table {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory.
    pub(super) const fn bytes(&self) -> usize {
        self.places * size_of::<u64>()
    }

    /// The number with this hash that `is_it` takes.
    pub(super) fn find(&self, hash: u32, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let part = self.parts.get(self.part_of(hash))?;
        let place = part.find(hash, is_it)?;
        part.number(place)
    }

    /// Adds a number below `u32::MAX` that is not there.
    pub(super) fn insert(&mut self, hash: u32, number: u32) {
        let part = self.part_of(hash);
        if let Some(part) = self.parts.get_mut(part) {
            let before = part.places.len();
            part.insert(entry(hash, number));
            self.places = self.places + part.places.len() - before;
            self.len += 1;
        }
        if self.len > self.parts.len() * PART_NUMBERS {
            self.grow();
        }
    }

    /// Takes a number out.
    pub(super) fn remove(&mut self, hash: u32, number: u32) {
        let part = self.part_of(hash);
        let Some(part) = self.parts.get_mut(part) else {
            return;
        };
        if let Some(place) = part.find(hash, |other| other == number) {
            let before = part.places.len();
            part.remove(place);
            self.places = self.places + part.places.len() - before;
            self.len -= 1;
        }
    }

    fn part_of(&self, hash: u32) -> usize {
        // The low bits choose the place within a part.
        let high = (hash.reverse_bits()) as usize;
        let part = high & ((1 << self.level) - 1);
        if part < self.split {
            high & ((2 << self.level) - 1)
        } else {
            part
        }
    }

    /// Halves one part.
    fn grow(&mut self) {
        let (split, level) = (self.split, self.level);
        let old = self.parts.get_mut(split).map(core::mem::take);
        self.parts.push(Part::default());
        self.split += 1;
        if self.split == 1 << level {
            self.split = 0;
            self.level += 1;
        }
        let old = old.unwrap_or_default().places;
        self.places -= old.len();
        for entry in old.into_iter().filter(|entry| *entry != 0) {
            let part = self.part_of((entry >> 32) as u32);
            if let Some(part) = self.parts.get_mut(part) {
                let before = part.places.len();
                part.insert(entry);
                self.places = self.places + part.places.len() - before;
            }
        }
    }
}

const fn entry(hash: u32, number: u32) -> u64 {
    ((hash as u64) << 32) | (number as u64 + 1)
}

impl Part {
    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }

    fn home(&self, entry: u64) -> usize {
        (entry >> 32) as usize & self.mask()
    }

    fn at(&self, place: usize) -> u64 {
        self.places.get(place).copied().unwrap_or(0)
    }

    fn number(&self, place: usize) -> Option<u32> {
        u32::try_from((self.at(place) & u64::from(u32::MAX)).checked_sub(1)?).ok()
    }

    fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<usize> {
        let mut place = self.home(entry(hash, 0));
        while self.at(place) != 0 {
            if (self.at(place) >> 32) as u32 == hash && self.number(place).is_some_and(&mut is_it) {
                return Some(place);
            }
            place = (place + 1) & self.mask();
        }
        None
    }

    fn insert(&mut self, entry: u64) {
        if (self.len + 1) * 5 > self.places.len() * 4 {
            let places = (self.places.len() * 2).max(PLACES_MIN);
            let old = core::mem::replace(&mut self.places, vec![0; places]);
            for entry in old.into_iter().filter(|entry| *entry != 0) {
                self.put(entry);
            }
        }
        self.put(entry);
        self.len += 1;
    }

    fn put(&mut self, entry: u64) {
        let mut place = self.home(entry);
        while self.at(place) != 0 {
            place = (place + 1) & self.mask();
        }
        if let Some(free) = self.places.get_mut(place) {
            *free = entry;
        }
    }

    /// Those behind move up, so that no gap hides them.
    fn remove(&mut self, mut gap: usize) {
        self.len -= 1;
        let mut place = gap;
        loop {
            place = (place + 1) & self.mask();
            let entry = self.at(place);
            if entry == 0 {
                break;
            }
            let from_home = place.wrapping_sub(self.home(entry)) & self.mask();
            let from_gap = place.wrapping_sub(gap) & self.mask();
            if from_home >= from_gap {
                if let Some(free) = self.places.get_mut(gap) {
                    *free = entry;
                }
                gap = place;
            }
        }
        if let Some(free) = self.places.get_mut(gap) {
            *free = 0;
        }
        if self.len * 8 < self.places.len() && self.places.len() > PLACES_MIN {
            let places = self.places.len() / 2;
            let old = core::mem::replace(&mut self.places, vec![0; places]);
            for entry in old.into_iter().filter(|entry| *entry != 0) {
                self.put(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_clock::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map_also_where_hashes_are_alike() {
        for spread in [u32::MAX, 7, 1 << 20] {
            let mut rng = Rng::seeded(u64::from(spread));
            let (mut table, mut model) = (Table::default(), BTreeMap::new());
            let hash = |number: u32| number.wrapping_mul(0x9e37_79b9) % spread;
            let numbers = if spread == 7 { 200 } else { 30_000 };
            for step in 0..60_000 {
                let grows = step < 40_000;
                let number = u32::try_from(rng.below(numbers)).unwrap();
                let is_there = model.contains_key(&number);
                let found = table.find(hash(number), |other| other == number);
                assert_eq!(found.is_some(), is_there);
                if !is_there && grows {
                    table.insert(hash(number), number);
                    model.insert(number, ());
                } else if is_there && (!grows || rng.below(3) == 0) {
                    table.remove(hash(number), number);
                    model.remove(&number);
                }
                assert_eq!(table.len(), model.len());
            }
            let places = table.parts.iter().map(|part| part.places.len());
            assert_eq!(table.bytes(), places.sum::<usize>() * 8);
            for number in 0..u32::try_from(numbers).unwrap() {
                let found = table.find(hash(number), |other| other == number);
                assert_eq!(found.is_some(), model.contains_key(&number));
            }
        }
    }
}
