/// Seeded randomness (xoshiro256**), for choices and names, not for keys.
///
/// The same seed gives the same run; the shell seeds it from the system once.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Rng {
    /// A generator whose whole run follows from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let mut x = seed;
        let state = core::array::from_fn(|_| {
            x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        });
        Self { state }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= t;
        *d = d.rotate_left(45);
        result
    }

    /// A number in `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        (wide >> 64) as u64
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let bytes = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(bytes.get(..chunk.len()).unwrap_or_default());
        }
    }

    /// `len` characters of `[0-9A-Za-z]`; 22 make a NUID.
    pub fn base62(&mut self, len: usize) -> String {
        (0..len)
            .filter_map(|_| BASE62.get(self.below(62) as usize))
            .map(|b| char::from(*b))
            .collect()
    }

    /// A new 22-character identifier in the shape of a NUID.
    pub fn nuid(&mut self) -> String {
        self.base62(22)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_is_one_run() {
        let (mut a, mut b) = (Rng::seeded(7), Rng::seeded(7));
        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
        assert_ne!(Rng::seeded(8).next_u64(), Rng::seeded(7).next_u64());
    }

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let mut rng = Rng::seeded(1);
        let mut seen = [0u32; 5];
        for _ in 0..1000 {
            seen[rng.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.nuid().len(), 22);
    }
}
