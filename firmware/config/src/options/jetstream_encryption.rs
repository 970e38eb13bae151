use crate::report::{Report, set};
use crate::secret::Secret;
use crate::value::{Map, Value};
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

const IN_THE_CLEAR: &str = "there is no key: nothing that JetStream stores is encrypted";

impl JetStreamEncryption {
    /// Reads the option `key`, in lower case, if it is one of these.
    /// spec: nats-server v2.15.1 server/opts.go `parseJetStream`
    pub(crate) fn read(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        match key {
            "key" | "ek" | "encryption_key" => {
                set(&mut self.key, report.secret(value));
                if value.as_str() == Some("") {
                    report.warning(&value.at, IN_THE_CLEAR, "give the key a value");
                }
            }
            "prev_key" | "prev_ek" | "prev_encryption_key" => {
                set(&mut self.previous, report.secret(value));
            }
            "cipher" => set(&mut self.cipher, StoreCipher::read(value, report)),
            _ => return false,
        }
        true
    }

    /// Who names a cipher without a key believes to be safe.
    pub(crate) fn tell_keyless(&self, map: &Map, report: &mut Report) {
        let has = |names: &[&str]| {
            let mut all = map.iter();
            all.find(|entry| names.contains(&entry.key.to_lowercase().as_str()))
        };
        if let Some(cipher) = has(&["cipher"])
            && has(&["key", "ek", "encryption_key"]).is_none()
        {
            report.warning(&cipher.value.at, IN_THE_CLEAR, "add key: $STORE_KEY");
        }
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

    /// nats-server says nothing.
    #[test]
    fn who_asks_for_encryption_and_gets_none_is_told() {
        let told = |block: &str| {
            let text = format!("jetstream {{ {block} }}");
            let loaded = load_text(&text, "x.conf", &Nothing).unwrap();
            let told = loaded.warnings.iter().map(ToString::to_string);
            told.collect::<Vec<_>>().join("; ")
        };
        let keyless = told("cipher: aes");
        assert!(
            keyless.contains("x.conf:1:") && keyless.contains("there is no key"),
            "{keyless}"
        );
        assert!(told("cipher: aes, key: \"\"").contains("there is no key"));
        assert_eq!(told("cipher: aes, key: secret"), "");
        assert_eq!(told("key: secret"), "");
    }
}
