use core::hash::{BuildHasher, Hasher};

/// Hashes short tokens fast, the same in each run: the seed comes from outside,
/// so that peers can't know which tokens collide and simulations repeat.
#[derive(Clone, Copy, Debug)]
pub struct TokenHash {
    state: u64,
}

impl TokenHash {
    /// A hasher; another seed gives other hashes.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self {
            state: seed ^ 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Both halves of the product depend on all bits of both factors.
    const fn mix(&mut self, word: u64) {
        let product = ((self.state ^ word) as u128) * 0xff51_afd7_ed55_8ccd_u128;
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl BuildHasher for TokenHash {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for TokenHash {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.mix(u64::from_le_bytes(last) ^ ((rest.len() as u64) << 56));
    }

    fn finish(&self) -> u64 {
        self.state
    }
}
