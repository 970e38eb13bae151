//! Ed25519 keys as NATS writes them: base32 of prefix, key and a CRC16.
//! spec: nats-io/nkeys (prefix bytes, `EncodeSeed`, `DecodeSeed`, crc16.go).

use data_encoding::{BASE32_NOPAD, BASE64, BASE64URL, BASE64URL_NOPAD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use thiserror::Error;

use crate::limits::NKEY_CHARS_MAX;

/// What a key is for; its text starts with that letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `A`.
    Account,
    /// `C`.
    Cluster,
    /// `N`.
    Server,
    /// `O`.
    Operator,
    /// `U`.
    User,
}

/// Why a text is no nkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NkeyError {
    /// Not base32, wrong length, or wrong checksum.
    #[error("invalid nkey encoding")]
    Encoding,
    /// A key, but not for this use.
    #[error("nkey of an unexpected kind")]
    Prefix,
}

/// The private half of a key.
pub struct KeyPair {
    role: Role,
    key: SigningKey,
}

/// Never prints the secret.
impl core::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("KeyPair").field(&self.public_key()).finish()
    }
}

impl KeyPair {
    /// A key made of 32 bytes that must come from the system's randomness.
    #[must_use]
    pub fn from_random(role: Role, random: &[u8; 32]) -> Self {
        Self {
            role,
            key: SigningKey::from_bytes(random),
        }
    }

    /// From the text of a seed, `S…`.
    ///
    /// # Errors
    /// When it is no seed.
    pub fn from_seed(seed: &str) -> Result<Self, NkeyError> {
        let (prefix, key) = seed_parts(seed)?;
        Ok(Self::from_random(Role::of_prefix(prefix)?, &key))
    }

    /// The seed as text, `S…`; a secret.
    #[must_use]
    pub fn seed(&self) -> String {
        let prefix = self.role.prefix();
        let mut raw = vec![SEED | prefix >> 5, (prefix & 31) << 3];
        raw.extend_from_slice(&self.key.to_bytes());
        encode(raw)
    }

    /// The public half as text, starting with the letter of its role.
    #[must_use]
    pub fn public_key(&self) -> String {
        public_text(self.role.prefix(), self.key.verifying_key().as_bytes())
    }

    /// The signature of `bytes`.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.key.sign(bytes).to_bytes()
    }
}

/// The signature of a nonce as `CONNECT` carries it: base64url without padding.
///
/// # Errors
/// When `seed` is no seed.
pub fn sign(seed: &str, bytes: &[u8]) -> Result<String, NkeyError> {
    Ok(BASE64URL_NOPAD.encode(&KeyPair::from_seed(seed)?.sign(bytes)))
}

/// The public key that belongs to a seed.
///
/// # Errors
/// When `seed` is no seed.
pub fn public_key(seed: &str) -> Result<String, NkeyError> {
    Ok(KeyPair::from_seed(seed)?.public_key())
}

/// Whether `text` is a public key for `role`.
#[must_use]
pub fn is_public_key(role: Role, text: &str) -> bool {
    public_bytes_of(role.prefix(), text).is_ok()
}

/// Whether `signature` (base64, url or standard) is the public key's signature of `bytes`.
#[must_use]
pub fn verify(role: Role, public: &str, bytes: &[u8], signature: &str) -> bool {
    let Some(signature) = signature_bytes(signature) else {
        return false;
    };
    public_bytes_of(role.prefix(), public)
        .ok()
        .and_then(|key| VerifyingKey::from_bytes(&key).ok())
        .is_some_and(|key| {
            key.verify_strict(bytes, &Signature::from_bytes(&signature))
                .is_ok()
        })
}

/// Whether `signature` (base64url) is the signature of `bytes` by a public key of whatever role.
#[must_use]
pub(crate) fn verify_any(public: &str, bytes: &[u8], signature: &str) -> bool {
    BASE64URL_NOPAD.decode(signature.as_bytes()).is_ok()
        && Role::ALL
            .into_iter()
            .any(|role| verify(role, public, bytes, signature))
}

impl Role {
    const ALL: [Self; 5] = [
        Self::Account,
        Self::Cluster,
        Self::Server,
        Self::Operator,
        Self::User,
    ];

    const fn prefix(self) -> u8 {
        match self {
            Self::Account => 0,
            Self::Cluster => 2 << 3,
            Self::Server => 13 << 3,
            Self::Operator => 14 << 3,
            Self::User => 20 << 3,
        }
    }

    fn of_prefix(prefix: u8) -> Result<Self, NkeyError> {
        Self::ALL
            .into_iter()
            .find(|role| role.prefix() == prefix)
            .ok_or(NkeyError::Prefix)
    }
}

/// The text of a public key.
pub(crate) fn public_text(prefix: u8, key: &[u8; 32]) -> String {
    let mut raw = vec![prefix];
    raw.extend_from_slice(key);
    encode(raw)
}

/// The public key in `text`, if its prefix is `wanted`.
pub(crate) fn public_bytes_of(wanted: u8, text: &str) -> Result<[u8; 32], NkeyError> {
    let raw = decode(text)?;
    match raw.as_slice() {
        [prefix, key @ ..] if *prefix == wanted => key.try_into().map_err(|_| NkeyError::Encoding),
        _ => Err(NkeyError::Prefix),
    }
}

/// The private key in a seed, if its prefix is `wanted`.
pub(crate) fn seed_bytes(wanted: u8, seed: &str) -> Result<[u8; 32], NkeyError> {
    let (prefix, key) = seed_parts(seed)?;
    (prefix == wanted).then_some(key).ok_or(NkeyError::Prefix)
}

fn seed_parts(seed: &str) -> Result<(u8, [u8; 32]), NkeyError> {
    let raw = decode(seed.trim())?;
    let [first, second, key @ ..] = raw.as_slice() else {
        return Err(NkeyError::Encoding);
    };
    if first & 0xf8 != SEED {
        return Err(NkeyError::Prefix);
    }
    let key = key.try_into().map_err(|_| NkeyError::Encoding)?;
    Ok(((first & 0x07) << 5 | second >> 3, key))
}

fn signature_bytes(text: &str) -> Option<[u8; 64]> {
    let text = text.trim().as_bytes();
    [BASE64URL_NOPAD, BASE64URL, BASE64]
        .iter()
        .find_map(|codec| codec.decode(text).ok())
        .and_then(|raw| raw.try_into().ok())
}

fn encode(mut raw: Vec<u8>) -> String {
    let crc = crc16(&raw);
    raw.extend_from_slice(&crc.to_le_bytes());
    BASE32_NOPAD.encode(&raw)
}

fn decode(text: &str) -> Result<Vec<u8>, NkeyError> {
    if text.len() > NKEY_CHARS_MAX {
        return Err(NkeyError::Encoding);
    }
    let mut raw = BASE32_NOPAD
        .decode(text.as_bytes())
        .map_err(|_| NkeyError::Encoding)?;
    let crc = match (raw.pop(), raw.pop()) {
        (Some(high), Some(low)) => u16::from_le_bytes([low, high]),
        _ => return Err(NkeyError::Encoding),
    };
    if crc16(&raw) == crc {
        Ok(raw)
    } else {
        Err(NkeyError::Encoding)
    }
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc: u16, _| {
            if crc & 0x8000 == 0 {
                crc << 1
            } else {
                crc << 1 ^ 0x1021
            }
        })
    })
}

/// First five bits of every seed, so that its text starts with `S`.
const SEED: u8 = 18 << 3;

#[cfg(test)]
mod tests {
    use super::*;

    // spec: nats-io/nats.docs, the key pair shown for `nk -gen user -pubout`.
    const SEED_TEXT: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    const PUBLIC_TEXT: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

    #[test]
    fn a_known_seed_has_its_known_public_key() {
        assert_eq!(public_key(SEED_TEXT).unwrap(), PUBLIC_TEXT);
        assert_eq!(KeyPair::from_seed(SEED_TEXT).unwrap().seed(), SEED_TEXT);
        assert!(is_public_key(Role::User, PUBLIC_TEXT));
        assert!(!is_public_key(Role::Account, PUBLIC_TEXT));
    }

    #[test]
    fn every_role_survives_its_text() {
        for (role, letter) in [
            (Role::Account, 'A'),
            (Role::Cluster, 'C'),
            (Role::Server, 'N'),
            (Role::Operator, 'O'),
            (Role::User, 'U'),
        ] {
            let pair = KeyPair::from_random(role, &[7; 32]);
            assert!(pair.public_key().starts_with(letter));
            assert_eq!(pair.public_key().len(), 56);
            let again = KeyPair::from_seed(&pair.seed()).unwrap();
            assert_eq!(again.public_key(), pair.public_key());
        }
    }

    #[test]
    fn only_the_right_signature_of_the_right_bytes_counts() {
        let pair = KeyPair::from_random(Role::User, &[9; 32]);
        let signature = sign(&pair.seed(), b"nonce").unwrap();
        let standard = BASE64.encode(&pair.sign(b"nonce"));
        let public = pair.public_key();
        assert!(verify(Role::User, &public, b"nonce", &signature));
        assert!(verify(Role::User, &public, b"nonce", &standard));
        assert!(!verify(Role::User, &public, b"other", &signature));
        assert!(!verify(Role::User, PUBLIC_TEXT, b"nonce", &signature));
        assert!(!verify(Role::User, &public, b"nonce", "AAAA"));
    }

    #[test]
    fn a_changed_letter_is_noticed() {
        for at in 0..SEED_TEXT.len() {
            let mut text = SEED_TEXT.to_owned().into_bytes();
            text[at] = if text[at] == b'A' { b'B' } else { b'A' };
            let text = String::from_utf8(text).unwrap();
            assert!(KeyPair::from_seed(&text).is_err(), "{text}");
        }
        for text in ["", "S", "ü", &"A".repeat(500)] {
            assert!(KeyPair::from_seed(text).is_err());
        }
    }
}
