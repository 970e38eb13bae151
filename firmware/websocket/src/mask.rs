/// The four bytes a payload is masked with, and how far it has come.
/// spec: RFC 6455 5.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mask {
    key: [u8; 4],
}

impl Mask {
    pub(crate) const fn new(key: [u8; 4]) -> Self {
        Self { key }
    }

    /// Masks, or unmasks, the next bytes of the payload.
    pub(crate) fn apply(&mut self, bytes: &mut [u8]) {
        let key = u32::from_ne_bytes(self.key);
        let wide = u64::from(key) << 32 | u64::from(key);
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
        }
        for (byte, mask) in rest.iter_mut().zip(self.key.iter().cycle()) {
            *byte ^= mask;
        }
        self.key.rotate_left(rest.len() % 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cut_anywhere_it_is_the_same_as_byte_by_byte(
            key: [u8; 4],
            bytes: Vec<u8>,
            cuts in proptest::collection::vec(0_usize..40, 0..20),
        ) {
            let expected: Vec<u8> =
                bytes.iter().zip(key.iter().cycle()).map(|(b, k)| b ^ k).collect();
            let (mut masked, mut mask) = (bytes, Mask::new(key));
            let mut rest = masked.as_mut_slice();
            for cut in cuts {
                let (now, later) = rest.split_at_mut(cut.min(rest.len()));
                mask.apply(now);
                rest = later;
            }
            mask.apply(rest);
            prop_assert_eq!(masked, expected);
        }
    }
}
