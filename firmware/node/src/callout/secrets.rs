use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha512_256};

/// Secrets that follow from the system's randomness and cannot be told from each other.
pub(super) struct Secrets {
    seed: [u8; 32],
    drawn: u64,
}

/// Never prints the seed.
impl core::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Secrets")
            .field("drawn", &self.drawn)
            .finish_non_exhaustive()
    }
}

impl Secrets {
    pub(super) const fn new(seed: [u8; 32]) -> Self {
        Self { seed, drawn: 0 }
    }

    /// 32 bytes nobody else has.
    pub(super) fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        let mut hash = Sha512_256::new();
        hash.update(b"frond callout");
        hash.update(self.seed);
        hash.update(self.drawn.to_le_bytes());
        hash.finalize().into()
    }

    /// A subject token nobody guesses.
    pub(super) fn name(&mut self) -> Box<str> {
        let drawn = self.draw();
        let (half, _) = drawn.split_at(16);
        BASE32_NOPAD.encode(half).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike() {
        let (mut one, mut other) = (Secrets::new([1; 32]), Secrets::new([2; 32]));
        let drawn = [one.draw(), one.draw(), other.draw(), other.draw()];
        for (at, secret) in drawn.iter().enumerate() {
            assert!(!drawn[..at].contains(secret));
        }
        assert_ne!(one.name(), one.name());
        assert_eq!(Secrets::new([1; 32]).draw(), drawn[0]);
    }
}
