//! Encryption at rest: what a key makes readable, and nothing of what the bytes mean.
//!
//! Every encrypted file starts with an [`Envelope`]: a random salt and a check of the key. From
//! key and salt come the [`Subkeys`] of that file, one for each session of writing, and under one
//! subkey no nonce is used twice: it is a count, or a place that a session writes once.

mod envelope;
mod pages;
mod subkeys;
mod vault;

use core::fmt;

pub(crate) use envelope::{ENVELOPE_BYTES, Envelope};
pub(crate) use pages::BlockFile;
pub(crate) use subkeys::{NONCE_BYTES, Subkeys, TAG_BYTES};
pub(crate) use vault::{Access, Vault};

/// How bytes are encrypted; both ways also notice every change of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cipher {
    /// ChaCha20-Poly1305: fast on every board.
    #[default]
    ChaCha,
    /// AES-256-GCM: faster where the processor has instructions for it.
    Aes,
}

impl fmt::Display for Cipher {
    /// spec: nats-server v2.15.1 server/filestore.go `StoreCipher.String`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ChaCha => "ChaCha20-Poly1305",
            Self::Aes => "AES-GCM",
        })
    }
}

/// A key as the operator wrote it, of any length; never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// The key `bytes`.
    #[must_use]
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Self {
        Self(bytes.into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// That a store is encrypted, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// How it is written; another one that is found is read and written anew.
    pub cipher: Cipher,
    /// The key of everything that is written.
    pub key: Secret,
    /// The key of what is there, when that is another: everything is written anew at the start.
    pub previous: Option<Secret>,
}
