use core::fmt;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use ring::aead::{AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

use crate::cipher::{Cipher, Envelope, Secret};
use crate::limits::SUBKEYS_KEPT_MAX;

/// What encryption adds to each piece.
pub(crate) const TAG_BYTES: usize = 16;
pub(crate) const NONCE_BYTES: usize = 12;

const CHECK: &[u8] = b"frond check";
const SESSION: &[u8] = b"frond session";

/// The keys of one file: one for each session of writing, which a number names.
///
/// spec: RFC 5869 (HKDF), RFC 8439 and NIST SP 800-38D (no nonce twice under one key)
pub(crate) struct Subkeys {
    algorithm: &'static Algorithm,
    root: Box<Prk>,
    sessions: Mutex<BTreeMap<u64, Arc<LessSafeKey>>>,
}

impl fmt::Debug for Subkeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subkeys(..)")
    }
}

struct CheckLen;

impl KeyType for CheckLen {
    fn len(&self) -> usize {
        16
    }
}

impl Subkeys {
    /// Those of `secret` and `envelope`; `None` when it is another key.
    pub(crate) fn unlock(secret: &Secret, envelope: &Envelope) -> Option<Self> {
        let (keys, check) = Self::derive(secret, envelope.cipher, envelope.salt)?;
        (check == envelope.check).then_some(keys)
    }

    /// Those of a new file, and its envelope.
    pub(crate) fn create(
        secret: &Secret,
        cipher: Cipher,
        salt: [u8; 16],
    ) -> io::Result<(Self, Envelope)> {
        let (keys, check) = Self::derive(secret, cipher, salt).ok_or_else(cannot)?;
        let envelope = Envelope {
            cipher,
            salt,
            check,
        };
        Ok((keys, envelope))
    }

    fn derive(secret: &Secret, cipher: Cipher, salt: [u8; 16]) -> Option<(Self, [u8; 16])> {
        let root = Salt::new(HKDF_SHA256, &salt).extract(secret.bytes());
        let (algorithm, name): (_, &[u8]) = match cipher {
            Cipher::ChaCha => (&CHACHA20_POLY1305, b"chacha"),
            Cipher::Aes => (&AES_256_GCM, b"aes"),
        };
        let mut check = [0; 16];
        let info = [CHECK, name];
        root.expand(&info, CheckLen).ok()?.fill(&mut check).ok()?;
        let keys = Self {
            algorithm,
            root: Box::new(root),
            sessions: Mutex::default(),
        };
        Some((keys, check))
    }

    fn session(&self, session: u64) -> Option<Arc<LessSafeKey>> {
        let mut known = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known.get(&session) {
            return Some(Arc::clone(key));
        }
        let number = session.to_le_bytes();
        let info = [SESSION, &number];
        let key = UnboundKey::from(self.root.expand(&info, self.algorithm).ok()?);
        let key = Arc::new(LessSafeKey::new(key));
        if known.len() >= SUBKEYS_KEPT_MAX {
            known.clear();
        }
        known.insert(session, Arc::clone(&key));
        Some(key)
    }

    /// Encrypts all of `bytes` but the last [`TAG_BYTES`], which take the tag. The caller never
    /// gives the same `nonce` twice in one `session`.
    pub(crate) fn encrypt(
        &self,
        session: u64,
        nonce: [u8; NONCE_BYTES],
        bound: u64,
        bytes: &mut [u8],
    ) -> io::Result<()> {
        let key = self.session(session).ok_or_else(cannot)?;
        let end = bytes.len().checked_sub(TAG_BYTES).ok_or_else(cannot)?;
        let (content, place) = bytes.split_at_mut_checked(end).ok_or_else(cannot)?;
        let bound = Aad::from(bound.to_le_bytes());
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = key.seal_in_place_separate_tag(nonce, bound, content);
        place.copy_from_slice(tag.map_err(|_| cannot())?.as_ref());
        Ok(())
    }

    /// Decrypts what [`Self::encrypt`] made in its place; `None` when any bit of it changed, or
    /// `bound` is another. The last [`TAG_BYTES`] mean nothing afterwards.
    pub(crate) fn decrypt<'b>(
        &self,
        session: u64,
        nonce: [u8; NONCE_BYTES],
        bound: u64,
        bytes: &'b mut [u8],
    ) -> Option<&'b mut [u8]> {
        let key = self.session(session)?;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let bound = Aad::from(bound.to_le_bytes());
        key.open_in_place(nonce, bound, bytes).ok()
    }
}

/// No length that is used here makes it happen.
fn cannot() -> io::Error {
    io::Error::other("the store cannot encrypt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(secret: &str, cipher: Cipher) -> (Subkeys, Envelope) {
        Subkeys::create(&Secret::new(secret.as_bytes()), cipher, [7; 16]).unwrap()
    }

    #[test]
    fn only_the_same_key_session_nonce_place_and_bytes_decrypt() {
        for cipher in [Cipher::ChaCha, Cipher::Aes] {
            let (keys, _) = keys("s3cr3t", cipher);
            let mut sealed = *b"a message of a till0123456789abcdef";
            keys.encrypt(1, [2; 12], 3, &mut sealed).unwrap();
            assert_ne!(sealed[..19], *b"a message of a till");
            let tries = [(1, 2, 3), (2, 2, 3), (1, 3, 3), (1, 2, 4)];
            for (session, nonce, bound) in tries {
                let mut bytes = sealed;
                let plain = keys.decrypt(session, [nonce; 12], bound, &mut bytes);
                let right = (session, nonce, bound) == (1, 2, 3);
                assert_eq!(plain.is_some(), right);
            }
            for at in 0..sealed.len() {
                let mut bytes = sealed;
                bytes[at] ^= 1;
                assert_eq!(keys.decrypt(1, [2; 12], 3, &mut bytes), None);
            }
        }
    }

    #[test]
    fn a_wrong_key_or_cipher_is_told_by_the_envelope() {
        let (_, envelope) = keys("s3cr3t", Cipher::ChaCha);
        let unlock = |secret: &str, envelope| {
            Subkeys::unlock(&Secret::new(secret.as_bytes()), envelope).is_some()
        };
        assert!(unlock("s3cr3t", &envelope));
        assert!(!unlock("s3cr3t ", &envelope));
        let cipher = Cipher::Aes;
        assert!(!unlock("s3cr3t", &Envelope { cipher, ..envelope }));
    }

    #[test]
    fn many_sessions_are_read_with_few_kept() {
        let (keys, _) = keys("s3cr3t", Cipher::ChaCha);
        for session in 0..SUBKEYS_KEPT_MAX as u64 * 3 {
            let mut bytes = [0; 20];
            keys.encrypt(session, [0; 12], 0, &mut bytes).unwrap();
            assert!(keys.decrypt(session, [0; 12], 0, &mut bytes).is_some());
        }
        assert!(keys.sessions.lock().unwrap().len() <= SUBKEYS_KEPT_MAX);
    }
}
