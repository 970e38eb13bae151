//! The bytes of one file, with what each unsynced sector was before.

use std::collections::BTreeMap;

use interop::Random;

/// What a disk writes at once.
pub(crate) const SECTOR_BYTES: usize = 512;

type Sector = [u8; SECTOR_BYTES];

/// A file: what its readers see, and how to get from there to what a cut leaves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    bytes: Vec<u8>,
    /// Each sector written since the last sync, with what it was before each of the writes.
    before: BTreeMap<usize, Vec<Sector>>,
    /// The lengths that it had since the last sync, without the one that it has.
    lens: Vec<usize>,
}

impl Content {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What is there, as much as there is.
    pub(crate) fn read(&self, at: usize, len: usize) -> &[u8] {
        let end = at.saturating_add(len).min(self.bytes.len());
        self.bytes.get(at..end).unwrap_or_default()
    }

    pub(crate) fn write(&mut self, at: usize, data: &[u8]) {
        let end = at + data.len();
        self.remember(at, end);
        if end > self.bytes.len() {
            self.lens.push(self.bytes.len());
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(data);
    }

    /// Cuts or grows it; new bytes are zero.
    pub(crate) fn set_len(&mut self, len: usize) {
        if len == self.bytes.len() {
            return;
        }
        self.remember(len, self.bytes.len());
        self.lens.push(self.bytes.len());
        self.bytes.resize(len, 0);
    }

    /// All of it is on the medium from now on.
    pub(crate) fn sync(&mut self) {
        self.before.clear();
        self.lens.clear();
    }

    /// What is there after a cut: of each unsynced sector one of its states, of the lengths one.
    ///
    /// Files are cut in several moods, for a coin per sector alone would hardly ever lose all of a
    /// long write, nor keep it.
    pub(crate) fn cut(mut self, random: &mut Random) -> Self {
        let kept_of_8 = [0, 1, 4, 7, 8][random.below(5) as usize];
        let is_kept = |random: &mut Random| random.below(8) < kept_of_8;
        let len = match self.lens.len() as u64 {
            0 => self.bytes.len(),
            _ if is_kept(random) => self.bytes.len(),
            count => self.lens[random.below(count) as usize],
        };
        self.bytes.resize(len.max(self.bytes.len()), 0);
        for (nth, states) in &self.before {
            if is_kept(random) {
                continue;
            }
            let state = &states[random.below(states.len() as u64) as usize];
            let at = (nth * SECTOR_BYTES).min(self.bytes.len());
            let end = (at + SECTOR_BYTES).min(self.bytes.len());
            self.bytes[at..end].copy_from_slice(&state[..end - at]);
        }
        self.bytes.truncate(len);
        self.sync();
        self
    }

    fn remember(&mut self, from: usize, end: usize) {
        for nth in from / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES) {
            let mut sector = [0; SECTOR_BYTES];
            let there = self.read(nth * SECTOR_BYTES, SECTOR_BYTES);
            sector[..there.len()].copy_from_slice(there);
            self.before.entry(nth).or_default().push(sector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: u64 = 200;

    fn cut(content: &Content, seed: u64) -> Vec<u8> {
        content.clone().cut(&mut Random::new(seed)).bytes
    }

    #[test]
    fn what_was_synced_is_left_and_nothing_else_for_certain() {
        let mut content = Content::default();
        content.write(0, &[1; 3 * SECTOR_BYTES]);
        content.sync();
        (0..SEEDS).for_each(|seed| assert_eq!(cut(&content, seed), [1; 3 * SECTOR_BYTES]));
        content.write(SECTOR_BYTES, &[2; 2 * SECTOR_BYTES]);
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..SEEDS {
            let left = cut(&content, seed);
            assert_eq!(left[..SECTOR_BYTES], [1; SECTOR_BYTES]);
            let sectors = left[SECTOR_BYTES..].chunks(SECTOR_BYTES);
            sectors
                .clone()
                .for_each(|sector| assert!([[1; 512], [2; 512]].iter().any(|one| one == sector)));
            seen.insert(sectors.map(|sector| sector[0]).collect::<Vec<u8>>());
        }
        assert_eq!(
            seen.len(),
            4,
            "kept, lost, and torn in both orders: {seen:?}"
        );
    }

    #[test]
    fn lengths_are_lost_like_bytes() {
        let mut content = Content::default();
        content.write(0, &[1; 700]);
        content.sync();
        content.set_len(0);
        content.write(0, &[2; 100]);
        let lens: std::collections::BTreeSet<usize> =
            (0..SEEDS).map(|seed| cut(&content, seed).len()).collect();
        assert_eq!(lens.into_iter().collect::<Vec<_>>(), [0, 100, 700]);
        let whole = (0..SEEDS).any(|seed| cut(&content, seed) == [1; 700]);
        assert!(whole, "all of the change may be lost");
        content.sync();
        (0..SEEDS).for_each(|seed| assert_eq!(cut(&content, seed), [2; 100]));
    }
}
