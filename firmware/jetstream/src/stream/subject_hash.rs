use std::hash::{BuildHasher, RandomState};

use frond_subject::TokenHash;

/// Hashes the subjects of one stream. Peers choose them, and cannot know its seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubjectHash(TokenHash);

impl Default for SubjectHash {
    fn default() -> Self {
        Self(TokenHash::seeded(RandomState::new().hash_one(0_u8)))
    }
}

impl BuildHasher for SubjectHash {
    type Hasher = TokenHash;

    fn build_hasher(&self) -> TokenHash {
        self.0.build_hasher()
    }
}
