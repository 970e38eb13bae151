use std::io;
use std::sync::Arc;

use ring::rand::{SecureRandom, SystemRandom};

use crate::cipher::{ENVELOPE_BYTES, Encryption, Envelope, NONCE_BYTES, Subkeys, TAG_BYTES};

/// The keys that the operator gave, if any; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vault(Option<Arc<Encryption>>);

/// What a file is to a [`Vault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// As everything is that is written now.
    Current,
    /// Readable, and to be written anew.
    Old,
    /// Encrypted with a key that is not here.
    WrongKey,
    /// Encrypted, and there is no key at all.
    NoKey,
}

impl Vault {
    pub(crate) fn new(encryption: Option<&Encryption>) -> Self {
        Self(encryption.map(|encryption| Arc::new(encryption.clone())))
    }

    /// The keys of a file with that envelope.
    pub(crate) fn unlock(&self, envelope: &Envelope) -> Option<Subkeys> {
        let encryption = self.0.as_ref()?;
        let secrets = [Some(&encryption.key), encryption.previous.as_ref()];
        let mut secrets = secrets.into_iter().flatten();
        secrets.find_map(|secret| Subkeys::unlock(secret, envelope))
    }

    /// How a file that starts with that envelope can be used; `None` is one in the clear.
    pub(crate) fn access(&self, envelope: Option<&Envelope>) -> Access {
        match (&self.0, envelope) {
            (None, None) => Access::Current,
            (None, Some(_)) => Access::NoKey,
            (Some(_), None) => Access::Old,
            (Some(encryption), Some(envelope)) => {
                let is_current = envelope.cipher == encryption.cipher
                    && Subkeys::unlock(&encryption.key, envelope).is_some();
                match self.unlock(envelope) {
                    Some(_) if is_current => Access::Current,
                    Some(_) => Access::Old,
                    None => Access::WrongKey,
                }
            }
        }
    }

    /// Keys and envelope for a new file; `None` when it is to be in the clear.
    pub(crate) fn create(&self) -> io::Result<Option<(Subkeys, Envelope)>> {
        let Some(encryption) = &self.0 else {
            return Ok(None);
        };
        let keys = Subkeys::create(&encryption.key, encryption.cipher, random()?)?;
        Ok(Some(keys))
    }

    /// The bytes of a file that is written as a whole.
    pub(crate) fn encrypt_whole(&self, plain: Vec<u8>) -> io::Result<Vec<u8>> {
        let Some((keys, envelope)) = self.create()? else {
            return Ok(plain);
        };
        let mut content = plain;
        content.extend([0; TAG_BYTES]);
        // The salt is of this write alone, and with it the key.
        keys.encrypt(0, [0; NONCE_BYTES], 0, &mut content)?;
        let mut out = envelope.encode();
        out.append(&mut content);
        Ok(out)
    }

    /// What [`Self::encrypt_whole`] was given; `None` when it is damaged or not for these keys.
    pub(crate) fn decrypt_whole(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let Some(envelope) = Envelope::decode(&bytes) else {
            return Some(bytes);
        };
        let keys = self.unlock(&envelope)?;
        let mut content = bytes.split_off(ENVELOPE_BYTES);
        let plain = keys.decrypt(0, [0; NONCE_BYTES], 0, &mut content)?;
        Some(plain.to_vec())
    }
}

/// Bytes that nobody can guess and that do not come again.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system gives no random bytes"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::{Cipher, Secret};

    fn vault(cipher: Cipher, key: &str, previous: Option<&str>) -> Vault {
        Vault::new(Some(&Encryption {
            cipher,
            key: Secret::new(key.as_bytes()),
            previous: previous.map(|key| Secret::new(key.as_bytes())),
        }))
    }

    #[test]
    fn a_file_is_read_with_either_key_and_written_anew_unless_it_is_as_it_would_be() {
        let (_, old) = vault(Cipher::ChaCha, "a", None).create().unwrap().unwrap();
        let access = |vault: Vault| vault.access(Some(&old));
        assert_eq!(access(vault(Cipher::ChaCha, "a", None)), Access::Current);
        assert_eq!(access(vault(Cipher::Aes, "a", None)), Access::Old);
        assert_eq!(access(vault(Cipher::ChaCha, "b", Some("a"))), Access::Old);
        assert_eq!(access(vault(Cipher::ChaCha, "b", None)), Access::WrongKey);
        assert_eq!(access(Vault::default()), Access::NoKey);
        assert_eq!(vault(Cipher::ChaCha, "a", None).access(None), Access::Old);
        assert_eq!(Vault::default().access(None), Access::Current);
    }

    #[test]
    fn a_whole_file_comes_back_or_not_at_all() {
        let vault = vault(Cipher::Aes, "a", None);
        let bytes = vault.encrypt_whole(b"orders".to_vec()).unwrap();
        assert_eq!(vault.decrypt_whole(bytes.clone()).unwrap(), b"orders");
        assert_ne!(vault.encrypt_whole(b"orders".to_vec()).unwrap(), bytes);
        for at in 0..bytes.len() {
            let mut spoilt = bytes.clone();
            spoilt[at] ^= 1;
            assert_ne!(vault.decrypt_whole(spoilt), Some(b"orders".to_vec()));
        }
    }
}
