use super::index::Slot;

/// Fields of a slot: subject, size, time, distances to the neighbours before and after.
const FIELDS: usize = 5;
type Fields = [u64; FIELDS];

/// Bytes after the last row: a field is read and written as eight bytes.
const PAD: usize = 8;

/// Slots one after the other in as few bytes as their fields need: alike neighbours cost little.
/// A field is written as what it is above its base, in so many bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    bases: Fields,
    widths: [u8; FIELDS],
    stride: u8,
    len: u16,
    bytes: Vec<u8>,
}

impl Rows {
    /// None yet; wide enough for such as `before` has.
    pub(super) fn after(before: &Self) -> Self {
        Self {
            widths: before.widths,
            stride: before.stride,
            ..Self::default()
        }
    }

    /// All of them, up to as many as a chunk has.
    pub(super) fn packed<'a>(slots: impl ExactSizeIterator<Item = &'a Slot> + Clone) -> Self {
        let (bases, widths) = form(slots.clone().map(Slot::fields));
        let mut rows = Self::empty(
            bases,
            widths,
            u16::try_from(slots.len()).unwrap_or(u16::MAX),
        );
        for (place, slot) in slots.enumerate() {
            rows.write(place, &slot.fields());
        }
        rows
    }

    /// So many that are yet to be written.
    fn empty(bases: Fields, widths: [u8; FIELDS], len: u16) -> Self {
        let stride = widths.iter().sum();
        Self {
            bases,
            widths,
            stride,
            len,
            bytes: vec![0; usize::from(len) * usize::from(stride) + PAD],
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    pub(super) fn get(&self, place: usize) -> Option<Slot> {
        (place < self.len()).then(|| Slot::of_fields(self.fields(place)))
    }

    pub(super) fn insert(&mut self, place: usize, slot: &Slot) {
        let fields = slot.fields();
        if self.len == 0 {
            self.bases = fields;
        }
        self.fit(&fields);
        let place = place.min(self.len());
        let (stride, end) = (usize::from(self.stride), self.end());
        let at = place * stride;
        self.bytes.resize(end + stride + PAD, 0);
        self.bytes.copy_within(at..end, at + stride);
        self.len += 1;
        self.write(place, &fields);
    }

    pub(super) fn set(&mut self, place: usize, slot: &Slot) {
        if place < self.len() {
            let fields = slot.fields();
            self.fit(&fields);
            self.write(place, &fields);
        }
    }

    pub(super) fn remove(&mut self, place: usize) -> Option<Slot> {
        let slot = self.get(place)?;
        let stride = usize::from(self.stride);
        self.bytes.drain(place * stride..(place + 1) * stride);
        self.len -= 1;
        if self.bytes.len() * 4 < self.bytes.capacity() {
            self.bytes.shrink_to(self.bytes.len() * 2);
        }
        Some(slot)
    }

    /// As few bytes as what is there needs.
    pub(super) fn tighten(&mut self) {
        let (low, widths) = form((0..self.len()).map(|place| self.fields(place)));
        if widths != self.widths {
            self.rewrite(low, widths);
        }
        self.bytes.shrink_to_fit();
    }

    /// Bytes of memory beside the value itself.
    pub(super) const fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Where the rows end.
    fn end(&self) -> usize {
        self.len() * usize::from(self.stride)
    }

    /// Makes what is not wide enough wider.
    fn fit(&mut self, fields: &Fields) {
        if self.takes(fields) {
            return;
        }
        let (mut bases, mut widths) = (self.bases, self.widths);
        let forms = bases.iter_mut().zip(&mut widths);
        for (field, (base, width)) in fields.iter().zip(forms) {
            if !takes(*base, *width, *field) {
                (*base, *width) = widened(*base, *width, *field);
            }
        }
        self.rewrite(bases, widths);
    }

    fn rewrite(&mut self, bases: Fields, widths: [u8; FIELDS]) {
        let mut new = Self::empty(bases, widths, self.len);
        for place in 0..self.len() {
            new.write(place, &self.fields(place));
        }
        *self = new;
    }

    fn fields(&self, place: usize) -> Fields {
        let at = &mut (place * usize::from(self.stride));
        let ([b0, b1, b2, b3, b4], [w0, w1, w2, w3, w4]) = (self.bases, self.widths);
        [
            self.field(at, b0, w0),
            self.field(at, b1, w1),
            self.field(at, b2, w2),
            self.field(at, b3, w3),
            self.field(at, b4, w4),
        ]
    }

    fn field(&self, at: &mut usize, base: u64, width: u8) -> u64 {
        if width == 0 {
            return base;
        }
        let bytes = self.bytes.get(*at..).and_then(<[u8]>::first_chunk);
        *at += usize::from(width);
        let word = u64::from_le_bytes(bytes.copied().unwrap_or_default());
        base.wrapping_add(word & most(width))
    }

    fn write(&mut self, place: usize, fields: &Fields) {
        let at = &mut (place * usize::from(self.stride));
        let ([b0, b1, b2, b3, b4], [w0, w1, w2, w3, w4]) = (self.bases, self.widths);
        let [f0, f1, f2, f3, f4] = *fields;
        self.write_field(at, f0.wrapping_sub(b0), w0);
        self.write_field(at, f1.wrapping_sub(b1), w1);
        self.write_field(at, f2.wrapping_sub(b2), w2);
        self.write_field(at, f3.wrapping_sub(b3), w3);
        self.write_field(at, f4.wrapping_sub(b4), w4);
    }

    fn write_field(&mut self, at: &mut usize, above: u64, width: u8) {
        if width == 0 {
            return;
        }
        let bytes = self.bytes.get_mut(*at..);
        *at += usize::from(width);
        if let Some(bytes) = bytes.and_then(<[u8]>::first_chunk_mut) {
            let others = u64::from_le_bytes(*bytes) & !most(width);
            *bytes = (others | above).to_le_bytes();
        }
    }

    fn takes(&self, fields: &Fields) -> bool {
        let ([b0, b1, b2, b3, b4], [w0, w1, w2, w3, w4]) = (self.bases, self.widths);
        let [f0, f1, f2, f3, f4] = *fields;
        takes(b0, w0, f0)
            && takes(b1, w1, f1)
            && takes(b2, w2, f2)
            && takes(b3, w3, f3)
            && takes(b4, w4, f4)
    }
}

/// The lowest of each field, and how many bytes the others need above it.
fn form(rows: impl Iterator<Item = Fields>) -> (Fields, [u8; FIELDS]) {
    let (mut low, mut high) = ([u64::MAX; FIELDS], [0; FIELDS]);
    for fields in rows {
        for ((low, high), field) in low.iter_mut().zip(&mut high).zip(fields) {
            *low = field.min(*low);
            *high = field.max(*high);
        }
    }
    let mut widths = [0; FIELDS];
    for (width, (low, high)) in widths.iter_mut().zip(low.iter().zip(high)) {
        *width = width_of(high.saturating_sub(*low));
    }
    (low, widths)
}

/// What `width` bytes hold at most; of one to eight.
const fn most(width: u8) -> u64 {
    u64::MAX >> (64 - 8 * width as u32)
}

const fn takes(base: u64, width: u8, value: u64) -> bool {
    match width {
        0 => value == base,
        _ => value >= base && value - base <= most(width),
    }
}

/// The least change of base and width that takes `value` too.
fn widened(base: u64, width: u8, value: u64) -> (u64, u8) {
    let top = match width {
        0 => base,
        _ => base.saturating_add(most(width)),
    };
    let base = if value < base { 0 } else { base };
    (base, width_of(top.max(value) - base))
}

fn width_of(value: u64) -> u8 {
    let bits = u64::BITS - value.leading_zeros();
    u8::try_from(bits.div_ceil(8)).unwrap_or(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_clock::Rng;

    fn slot(fields: Fields) -> Slot {
        Slot::of_fields(fields)
    }

    #[test]
    fn agrees_with_a_list_whatever_the_numbers_are() {
        let mut rng = Rng::seeded(11);
        let (mut rows, mut model) = (Rows::default(), Vec::new());
        let number = |rng: &mut Rng| rng.next_u64() >> rng.below(64);
        for step in 0..6000 {
            let place = usize::try_from(rng.below(model.len() as u64 + 1)).unwrap();
            let new = slot([
                number(&mut rng) >> 32,
                number(&mut rng) >> 32,
                number(&mut rng),
                number(&mut rng),
                number(&mut rng),
            ]);
            match rng.below(4) {
                0 | 1 if model.len() < 256 => {
                    rows.insert(place, &new);
                    model.insert(place, new);
                }
                2 if place < model.len() => {
                    rows.set(place, &new);
                    model[place] = new;
                }
                _ if place < model.len() => {
                    assert_eq!(rows.remove(place), Some(model.remove(place)));
                }
                _ => {}
            }
            if step % 50 == 0 {
                rows.tighten();
            }
            if step % 700 == 0 {
                rows = Rows::after(&rows);
                model.clear();
            }
            assert_eq!(rows.len(), model.len());
            let found: Vec<_> = (0..=model.len()).filter_map(|at| rows.get(at)).collect();
            assert_eq!(found, model);
        }
    }

    #[test]
    fn a_message_like_its_neighbours_costs_few_bytes() {
        let bytes = |fields: fn(u64) -> Fields| {
            let mut rows = Rows::default();
            for n in 0..256 {
                let place = rows.len();
                rows.insert(place, &slot(fields(n)));
            }
            rows.tighten();
            rows.heap_bytes() / 256
        };
        // A subject each, a microsecond apart.
        assert!(bytes(|n| [7_000_000 + n, 10, (1 << 60) | (n * 1000), 0, 0]) <= 4);
        // One subject.
        assert!(bytes(|n| [3, 1000 + n % 50, (1 << 60) | (n * 1000), 1, 1]) <= 5);
        // Few messages a day, of subjects that were there long ago.
        assert!(bytes(|n| [n * 7919 % 5_000_000, n * 999, n << 45, n * 60_000, 0]) <= 16);
    }
}
