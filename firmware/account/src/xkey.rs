//! Curve keys: messages only one key can read, and only one can have written.
//! spec: nats-io/nkeys xkeys.go (`xkv1`: the version, a nonce of 24 bytes, an NaCl box).

use dryoc::classic::crypto_box::{crypto_box_easy, crypto_box_open_easy};
use dryoc::classic::crypto_core::crypto_scalarmult_base;
use thiserror::Error;

use crate::nkey;

/// Why a text was not opened or sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum XkeyError {
    /// The other's key is no curve key.
    #[error("nkeys: not a valid recipient public curve key")]
    Key,
    /// Too short to be one.
    #[error("nkeys: encrypted input is not valid")]
    Encrypted,
    /// Sealed in a way this does not know.
    #[error("nkeys: encrypted input wrong version")]
    Version,
    /// Sealed for or by another key, or changed on its way.
    #[error("nkeys: could not decrypt input")]
    Decrypt,
}

/// The private half of a curve key.
pub struct Xkey {
    secret: [u8; 32],
    public: [u8; 32],
}

/// Never prints the secret.
impl core::fmt::Debug for Xkey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Xkey").field(&self.public_key()).finish()
    }
}

impl Xkey {
    /// A key made of 32 bytes that must come from the system's randomness.
    #[must_use]
    pub fn from_random(random: &[u8; 32]) -> Self {
        let mut public = [0; 32];
        crypto_scalarmult_base(&mut public, random);
        Self {
            secret: *random,
            public,
        }
    }

    /// From the text of a seed, `SX…`.
    ///
    /// # Errors
    /// When it is no seed of a curve key.
    pub fn from_seed(seed: &str) -> Result<Self, nkey::NkeyError> {
        Ok(Self::from_random(&nkey::seed_bytes(PREFIX, seed)?))
    }

    /// The public half as text, `X…`.
    #[must_use]
    pub fn public_key(&self) -> String {
        nkey::public_text(PREFIX, &self.public)
    }

    /// `plain` as only the holder of `recipient` can read it. `nonce` must come from the system's
    /// randomness.
    ///
    /// # Errors
    /// When `recipient` is no public curve key.
    pub fn seal(
        &self,
        plain: &[u8],
        recipient: &str,
        nonce: &[u8; NONCE_BYTES],
    ) -> Result<Vec<u8>, XkeyError> {
        let recipient = nkey::public_bytes_of(PREFIX, recipient).map_err(|_| XkeyError::Key)?;
        let mut boxed = vec![0; plain.len() + TAG_BYTES];
        crypto_box_easy(&mut boxed, plain, nonce, &recipient, &self.secret)
            .map_err(|_| XkeyError::Key)?;
        Ok([VERSION, nonce, &boxed].concat())
    }

    /// What the holder of `sender` sealed for this key.
    ///
    /// # Errors
    /// When it didn't, or `sender` is no public curve key.
    pub fn open(&self, sealed: &[u8], sender: &str) -> Result<Vec<u8>, XkeyError> {
        let (head, boxed) = sealed
            .split_first_chunk::<{ VERSION.len() + NONCE_BYTES }>()
            .filter(|(_, boxed)| !boxed.is_empty())
            .ok_or(XkeyError::Encrypted)?;
        let (version, nonce) = head.split_at(VERSION.len());
        if version != VERSION {
            return Err(XkeyError::Version);
        }
        let nonce: &[u8; NONCE_BYTES] = nonce.try_into().map_err(|_| XkeyError::Encrypted)?;
        let sender = nkey::public_bytes_of(PREFIX, sender).map_err(|_| XkeyError::Key)?;
        let bytes = boxed
            .len()
            .checked_sub(TAG_BYTES)
            .ok_or(XkeyError::Decrypt)?;
        let mut plain = vec![0; bytes];
        crypto_box_open_easy(&mut plain, boxed, nonce, &sender, &self.secret)
            .map_err(|_| XkeyError::Decrypt)?;
        Ok(plain)
    }
}

/// Whether `text` is a public curve key.
#[must_use]
pub fn is_public_key(text: &str) -> bool {
    nkey::public_bytes_of(PREFIX, text).is_ok()
}

/// Random bytes that each sealing needs.
pub const NONCE_BYTES: usize = 24;

const VERSION: &[u8] = b"xkv1";
const TAG_BYTES: usize = 16;
/// `X`.
const PREFIX: u8 = 23 << 3;

#[cfg(test)]
mod tests;
