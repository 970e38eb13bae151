use data_encoding::BASE64URL_NOPAD;
use frond_account::nkey::{self, KeyPair};
use serde::{Deserialize, Serialize};

use crate::Keys;
use crate::limits::SIGNATURES_MAX;

/// What a text is signed as: a signature of one kind is none of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Who may sign what.
    Root,
    /// A configuration.
    Bundle,
    /// The content of a slot of an image.
    Image,
    /// That a hub was reached by a box on trial.
    Confirmation,
}

/// A text and who signed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// The text.
    pub body: Vec<u8>,
    /// Its signatures.
    pub signatures: Vec<Signature>,
}

/// One signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The public nkey, `O…`.
    pub key: String,
    /// Ed25519, 64 bytes.
    pub bytes: Vec<u8>,
}

/// Characters of a public nkey.
const KEY_CHARS: usize = 56;
/// Bytes of an Ed25519 signature.
const SIGNATURE_BYTES: usize = 64;

impl Purpose {
    const fn context(self) -> &'static [u8] {
        match self {
            Self::Root => b"frond root 1\n",
            Self::Bundle => b"frond bundle 1\n",
            Self::Image => b"frond image 1\n",
            Self::Confirmation => b"frond confirmation 1\n",
        }
    }

    fn message(self, body: &[u8]) -> Vec<u8> {
        [self.context(), body].concat()
    }
}

impl Signed {
    /// Nobody has signed it yet.
    #[must_use]
    pub const fn new(body: Vec<u8>) -> Self {
        Self {
            body,
            signatures: Vec::new(),
        }
    }

    /// Adds a signature, or renews it.
    pub fn sign(&mut self, purpose: Purpose, pair: &KeyPair) {
        let key = pair.public_key();
        self.signatures.retain(|signature| signature.key != key);
        let bytes = pair.sign(&purpose.message(&self.body)).to_vec();
        self.signatures.push(Signature { key, bytes });
    }

    /// Whether as many of these keys signed as are needed; a key counts once.
    #[must_use]
    pub fn is_signed_by(&self, purpose: Purpose, keys: &Keys) -> bool {
        keys.threshold > 0 && self.signers(purpose, keys) >= usize::from(keys.threshold)
    }

    /// How many of these keys signed.
    #[must_use]
    pub fn signers(&self, purpose: Purpose, keys: &Keys) -> usize {
        let message = purpose.message(&self.body);
        let mut counted: Vec<&str> = Vec::new();
        for signature in self.signatures.iter().take(SIGNATURES_MAX) {
            let key = signature.key.as_str();
            if counted.contains(&key) || !keys.keys.iter().any(|known| known == key) {
                continue;
            }
            let text = BASE64URL_NOPAD.encode(&signature.bytes);
            if nkey::verify(nkey::Role::Operator, key, &message, &text) {
                counted.push(key);
            }
        }
        counted.len()
    }

    /// Adds it to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let length = u32::try_from(self.body.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&self.body);
        let count = self.signatures.len().min(SIGNATURES_MAX);
        out.push(u8::try_from(count).unwrap_or(u8::MAX));
        for signature in self.signatures.iter().take(count) {
            out.extend_from_slice(signature.key.as_bytes());
            out.extend_from_slice(&signature.bytes);
        }
    }

    /// Takes one from the front of `bytes`; a text longer than `body_max` is none.
    #[must_use]
    pub fn decode(bytes: &mut &[u8], body_max: usize) -> Option<Self> {
        let length = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?);
        let length = usize::try_from(length).ok().filter(|it| *it <= body_max)?;
        let body = take(bytes, length)?.to_vec();
        let count = usize::from(*take(bytes, 1)?.first()?);
        if count > SIGNATURES_MAX {
            return None;
        }
        let mut signatures = Vec::new();
        for _ in 0..count {
            let key = core::str::from_utf8(take(bytes, KEY_CHARS)?).ok()?;
            signatures.push(Signature {
                key: key.to_owned(),
                bytes: take(bytes, SIGNATURE_BYTES)?.to_vec(),
            });
        }
        Some(Self { body, signatures })
    }
}

/// The first `count` bytes, taken off.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(first)
}
