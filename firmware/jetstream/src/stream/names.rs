//! Texts in cells of a few sizes: no header and no rounding up for each of millions.

/// Cells grow by this many bytes from one size to the next.
const STEP_BYTES: usize = 8;
/// Sizes of cells; longer texts have an allocation each.
const SIZES: usize = 31;
/// Cells that lie together.
const CELLS: usize = 256;
/// Fewer bytes are not moved for what is free of them.
const SPARSE_BYTES_MIN: usize = 256 * 1024;
/// How many bits of a [`Name`] tell the cell.
const CELL_BITS: u32 = 27;

/// Where a text lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u32);

/// Texts by where they lie.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    sizes: Vec<Cells>,
    long: Vec<Box<str>>,
    free_long: Vec<u32>,
    /// Bytes of memory that all of it holds, free cells included.
    held_bytes: usize,
    /// Bytes of it that texts take.
    used_bytes: usize,
}

/// Cells of one size: the length of a text, then the text.
#[derive(Clone, Debug, Default)]
struct Cells {
    pages: Vec<Vec<u8>>,
    free: Vec<u32>,
    used: u32,
    living: u32,
    held_bytes: usize,
}

impl Names {
    /// Keeps a text; `None` when there are some hundred millions.
    pub(super) fn insert(&mut self, text: &str) -> Option<Name> {
        let size = text.len() / STEP_BYTES;
        if size >= SIZES {
            return self.insert_long(text);
        }
        while self.sizes.len() <= size {
            self.sizes.push(Cells::default());
        }
        let cells = self.sizes.get_mut(size)?;
        let before = cells.held_bytes;
        let Some(cell) = cells.insert(size, text) else {
            return self.insert_long(text);
        };
        self.held_bytes = self.held_bytes + cells.held_bytes - before;
        self.used_bytes += Self::bytes_of(text.len());
        Name::new(size, cell)
    }

    /// Bytes of memory that all of it holds.
    pub(super) const fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Whether most of it is free, and that is worth moving the rest.
    pub(super) const fn is_sparse(&self) -> bool {
        self.held_bytes > SPARSE_BYTES_MIN && self.used_bytes < self.held_bytes / 4
    }

    /// Whether a text of this length takes no further memory.
    pub(super) fn has_cell(&self, len: usize) -> bool {
        let cells = self.sizes.get(len / STEP_BYTES);
        cells.is_some_and(|cells| !cells.free.is_empty())
    }

    pub(super) fn get(&self, name: Name) -> &str {
        core::str::from_utf8(self.bytes_at(name)).unwrap_or_default()
    }

    /// Whether that is the text.
    pub(super) fn is(&self, name: Name, text: &str) -> bool {
        self.bytes_at(name) == text.as_bytes()
    }

    fn bytes_at(&self, name: Name) -> &[u8] {
        match self.sizes.get(name.size()) {
            Some(cells) if name.size() < SIZES => cells.get(name.size(), name.cell()),
            Some(_) | None => {
                let text = self.long.get(name.cell() as usize);
                text.map_or(&[], |text| text.as_bytes())
            }
        }
    }

    pub(super) fn remove(&mut self, name: Name) {
        let bytes = Self::bytes_of(self.get(name).len());
        if name.size() >= SIZES {
            if let Some(long) = self.long.get_mut(name.cell() as usize) {
                *long = Box::default();
                self.free_long.push(name.cell());
                self.held_bytes -= bytes;
                self.used_bytes -= bytes;
            }
        } else if let Some(cells) = self.sizes.get_mut(name.size()) {
            let before = cells.held_bytes;
            cells.remove(name.cell());
            self.held_bytes = self.held_bytes + cells.held_bytes - before;
            self.used_bytes -= bytes;
        }
    }

    /// Bytes of memory that a text of this length takes.
    pub(super) const fn bytes_of(len: usize) -> usize {
        if len / STEP_BYTES < SIZES {
            (len / STEP_BYTES + 1) * STEP_BYTES
        } else {
            len + 32
        }
    }

    fn insert_long(&mut self, text: &str) -> Option<Name> {
        let cell = match self.free_long.pop() {
            Some(cell) => cell,
            None => {
                self.long.push(Box::default());
                u32::try_from(self.long.len() - 1).ok()?
            }
        };
        *self.long.get_mut(cell as usize)? = text.into();
        self.held_bytes += Self::bytes_of(text.len());
        self.used_bytes += Self::bytes_of(text.len());
        Name::new(SIZES, cell)
    }
}

impl Name {
    /// Of no text.
    pub(super) const NONE: Self = Self(u32::MAX);

    fn new(size: usize, cell: u32) -> Option<Self> {
        let size = u32::try_from(size).ok()?;
        (cell >> CELL_BITS == 0).then_some(Self(size << CELL_BITS | cell))
    }

    const fn size(self) -> usize {
        (self.0 >> CELL_BITS) as usize
    }

    const fn cell(self) -> u32 {
        self.0 & ((1 << CELL_BITS) - 1)
    }
}

impl Cells {
    fn insert(&mut self, size: usize, text: &str) -> Option<u32> {
        let bytes = (size + 1) * STEP_BYTES;
        let cell = self.free.pop().unwrap_or(self.used);
        if cell >> CELL_BITS != 0 {
            return None;
        }
        if cell == self.used {
            self.used += 1;
        }
        let (page, place) = (cell as usize / CELLS, cell as usize % CELLS);
        if self.pages.len() <= page {
            self.pages.push(Vec::new());
        }
        let page = self.pages.get_mut(page)?;
        let before = page.capacity();
        if page.len() <= place * bytes {
            page.resize((place + 1) * bytes, 0);
        }
        self.held_bytes += page.capacity() - before;
        let place = page.get_mut(place * bytes..)?;
        let (len, rest) = place.split_first_mut()?;
        *len = u8::try_from(text.len()).ok()?;
        rest.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        self.living += 1;
        Some(cell)
    }

    fn get(&self, size: usize, cell: u32) -> &[u8] {
        let (page, place) = (cell as usize / CELLS, cell as usize % CELLS);
        let page = self.pages.get(page);
        let cell = page.and_then(|page| page.get(place * (size + 1) * STEP_BYTES..));
        let Some((len, rest)) = cell.and_then(<[u8]>::split_first) else {
            return &[];
        };
        rest.get(..usize::from(*len)).unwrap_or_default()
    }

    /// When the last one goes, so does the memory.
    fn remove(&mut self, cell: u32) {
        self.living -= 1;
        if self.living == 0 {
            *self = Self::default();
        } else {
            let before = self.free.capacity();
            self.free.push(cell);
            self.held_bytes += (self.free.capacity() - before) * size_of::<u32>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_clock::Rng;

    #[test]
    fn each_text_stays_what_it_was_until_it_is_removed() {
        let mut rng = Rng::seeded(3);
        let (mut names, mut model) = (Names::default(), Vec::<(Name, String)>::new());
        for step in 0..20_000 {
            if model.is_empty() || (step % 4000 < 2500 && rng.below(3) > 0) {
                let len = usize::try_from(rng.below(if step % 9 == 0 { 600 } else { 40 })).unwrap();
                let text: String = (0..len)
                    .map(|_| char::from(b'a' + rng.below(26) as u8))
                    .collect();
                model.push((names.insert(&text).unwrap(), text));
            } else {
                let at = usize::try_from(rng.below(model.len() as u64)).unwrap();
                let (name, text) = model.swap_remove(at);
                assert_eq!(names.get(name), text);
                names.remove(name);
            }
        }
        for (name, text) in &model {
            assert_eq!(names.get(*name), text);
        }
        for (name, _) in model {
            names.remove(name);
        }
        assert!(names.sizes.iter().all(|cells| cells.pages.is_empty()));
        assert_eq!((names.held_bytes, names.used_bytes), (0, 0));
    }
}
