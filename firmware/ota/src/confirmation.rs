use frond_account::nkey::KeyPair;
use serde::{Deserialize, Serialize};

use crate::limits::{CONFIRMATION_BYTES_MAX, NONCE_LETTERS};
use crate::{Choice, Keys, Purpose, Signed};

/// What a hub says of a box on trial: that this box reached it, with that configuration, at this
/// attempt. Signed, it is of no use for another box, configuration or attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The name of the box.
    pub device: String,
    /// What is on trial, as [`Confirmation::name_of`] has it.
    pub digest: String,
    /// What the box chose at random for this attempt.
    pub nonce: String,
}

impl Confirmation {
    /// The name of a configuration: its digest, or a word for the box's own file.
    #[must_use]
    pub fn name_of(choice: Choice) -> String {
        match choice {
            Choice::Factory => "factory".to_owned(),
            Choice::Bundle(digest) => digest.to_string(),
        }
    }

    /// Whether its words are such as a box may have written.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        let has = |text: &str, most| (1..=most).contains(&text.len()) && text.is_ascii();
        has(&self.device, 64) && has(&self.digest, 64) && has(&self.nonce, NONCE_LETTERS)
    }

    /// Signed by the hub, as bytes.
    #[must_use]
    pub fn sign(&self, pair: &KeyPair) -> Vec<u8> {
        let mut signed = Signed::new(postcard::to_stdvec(self).unwrap_or_default());
        signed.sign(Purpose::Confirmation, pair);
        let mut bytes = Vec::new();
        signed.encode(&mut bytes);
        bytes
    }

    /// Whether enough of the hub's keys signed just this.
    #[must_use]
    pub fn is_signed(&self, bytes: &[u8], keys: &Keys) -> bool {
        let mut rest = bytes;
        let signed = Signed::decode(&mut rest, CONFIRMATION_BYTES_MAX);
        signed.is_some_and(|signed| {
            let is_this = postcard::to_stdvec(self).is_ok_and(|body| body == signed.body);
            rest.is_empty() && is_this && signed.is_signed_by(Purpose::Confirmation, keys)
        })
    }
}

#[cfg(test)]
mod tests {
    use frond_account::nkey::Role;

    use super::*;

    fn pair(seed: u8) -> KeyPair {
        KeyPair::from_random(Role::Operator, &[seed; 32])
    }

    fn keys(pairs: &[&KeyPair]) -> Keys {
        Keys {
            threshold: 1,
            keys: pairs.iter().map(|it| it.public_key()).collect(),
        }
    }

    fn told(device: &str, digest: &str, nonce: &str) -> Confirmation {
        Confirmation {
            device: device.to_owned(),
            digest: digest.to_owned(),
            nonce: nonce.to_owned(),
        }
    }

    #[test]
    fn it_is_of_one_box_one_configuration_one_attempt_and_one_hub() {
        let (hub, other) = (pair(1), pair(2));
        let trusted = keys(&[&hub]);
        let this = told("till-7", "abc", "n1");
        let bytes = this.sign(&hub);
        assert!(this.is_signed(&bytes, &trusted));
        for another in [
            told("till-8", "abc", "n1"),
            told("till-7", "abd", "n1"),
            told("till-7", "abc", "n2"),
        ] {
            assert!(!another.is_signed(&bytes, &trusted), "{another:?}");
        }
        assert!(!this.is_signed(&bytes, &keys(&[&other])));
        assert!(!this.is_signed(&this.sign(&other), &trusted));
        assert!(!this.is_signed(&bytes, &Keys::default()));
        // A signature of another kind is none of this.
        let mut bundle = Signed::new(postcard::to_stdvec(&this).unwrap());
        bundle.sign(Purpose::Bundle, &hub);
        let mut forged = Vec::new();
        bundle.encode(&mut forged);
        assert!(!this.is_signed(&forged, &trusted));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(!this.is_signed(&damaged, &trusted), "{at}");
            assert!(!this.is_signed(&bytes[..at], &trusted), "{at}");
        }
    }

    #[test]
    fn words_that_no_box_writes_are_not_signed() {
        assert!(told("till-7", "factory", "n").is_fit());
        for unfit in [
            told("", "factory", "n"),
            told("till-7", "factory", ""),
            told("till-7", "factory", &"n".repeat(65)),
            told("till-é", "factory", "n"),
        ] {
            assert!(!unfit.is_fit(), "{unfit:?}");
        }
    }
}
