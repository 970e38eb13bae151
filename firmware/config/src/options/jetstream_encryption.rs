use crate::report::{Report, set};
use crate::secret::Secret;
use crate::value::Value;
use std::fmt;

/// How what JetStream stores is encrypted: not, unless there is a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JetStreamEncryption {
    /// Of everything that is written; `None`, as an empty one: nothing is encrypted.
    pub key: Option<Secret>,
    /// Of what is there, which is written anew under `key`.
    pub previous: Option<Secret>,
    /// How.
    pub cipher: StoreCipher,
}

/// How bytes are encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoreCipher {
    /// ChaCha20-Poly1305.
    #[default]
    ChaCha,
    /// AES-256-GCM.
    Aes,
}

impl JetStreamEncryption {
    /// Reads the option `key`, in lower case, if it is one of these.
    /// spec: nats-server v2.15.1 server/opts.go `parseJetStream`
    pub(crate) fn read(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        match key {
            "key" | "ek" | "encryption_key" => set(&mut self.key, report.secret(value)),
            "prev_key" | "prev_ek" | "prev_encryption_key" => {
                set(&mut self.previous, report.secret(value));
            }
            "cipher" => set(&mut self.cipher, StoreCipher::read(value, report)),
            _ => return false,
        }
        true
    }
}

impl fmt::Display for StoreCipher {
    /// spec: nats-server v2.15.1 server/filestore.go `StoreCipher.String`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ChaCha => "ChaCha20-Poly1305",
            Self::Aes => "AES-GCM",
        })
    }
}

impl StoreCipher {
    /// spec: nats-server v2.15.1 server/opts.go `setJetStreamEkCipher`
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let text = report.text(value)?.unwrap_or_default();
        match text.to_ascii_lowercase().as_str() {
            "chacha" | "chachapoly" => Some(Self::ChaCha),
            "aes" => Some(Self::Aes),
            _ => {
                let wrong = format!("Unknown cipher type: {text:?}");
                report.error(&value.at, wrong, "write chacha or aes");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nothing, load_text};

    fn read(block: &str) -> Result<JetStreamEncryption, String> {
        let text = format!("jetstream {{ {block} }}");
        let loaded = load_text(&text, "x.conf", &Nothing).map_err(|errors| errors.to_string())?;
        Ok(loaded.config.jetstream.encryption)
    }

    #[test]
    fn every_name_and_cipher_is_read_as_nats_server_does() {
        for name in ["key", "EK", "encryption_key"] {
            let read = read(&format!(
                "SPARE: spare, {name}: $SPARE, prev_{name}: old, cipher: aes"
            ))
            .unwrap();
            assert_eq!(read.key, Some("spare".into()));
            assert_eq!(read.previous, Some("old".into()));
            assert_eq!(read.cipher, StoreCipher::Aes);
        }
        for name in ["chacha", "ChaChaPoly"] {
            let read = read(&format!("key: \"\", cipher: {name}")).unwrap();
            assert_eq!(read, JetStreamEncryption::default());
        }
        let wrong = read("cipher: rot13").unwrap_err();
        assert!(wrong.contains("Unknown cipher type: \"rot13\""), "{wrong}");
    }
}
