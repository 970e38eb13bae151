//! What a box says of itself, signed by its own key: whoever else is on its line, or on that of
//! another box, cannot say it.
//!
//! The signature is the last member of the JSON object, so that who does not look at it reads the
//! rest as before. What is signed is the object without it, and the name of the box.

use frond_account::nkey::{self, KeyPair};

use crate::limits::SIGNATURE_LETTERS;

const CONTEXT: &str = "frond report 1";
const BEGINS: &str = ",\"signature\":\"";
const ENDS: &str = "\"}";

/// A JSON object, not an empty one, with the signature of its box.
#[must_use]
pub fn sign(device: &str, object: &str, pair: &KeyPair) -> String {
    let signature = pair.sign(&message(device, object));
    let signature = data_encoding::BASE64URL_NOPAD.encode(&signature);
    let rest = object.strip_suffix('}').unwrap_or(object);
    format!("{rest}{BEGINS}{signature}{ENDS}")
}

/// The object that was signed, and the signature; `None`: nobody signed it.
#[must_use]
pub fn parts(said: &str) -> Option<(String, &str)> {
    let rest = said.strip_suffix(ENDS)?;
    let at = rest.len().checked_sub(SIGNATURE_LETTERS)?;
    let (rest, signature) = (rest.get(..at)?, rest.get(at..)?);
    let object = rest.strip_suffix(BEGINS)?;
    Some((format!("{object}}}"), signature))
}

/// Whether the box of this name and this public key signed that object.
#[must_use]
pub fn is_signed(device: &str, object: &str, signature: &str, identity: &str) -> bool {
    nkey::verify(
        nkey::Role::User,
        identity,
        &message(device, object),
        signature,
    )
}

fn message(device: &str, object: &str) -> Vec<u8> {
    format!("{CONTEXT}\n{device}\n{object}").into_bytes()
}

#[cfg(test)]
mod tests {
    use frond_account::nkey::Role;

    use super::*;

    #[test]
    fn it_is_of_one_box_one_key_and_these_words() {
        let pair = KeyPair::from_random(Role::User, &[7; 32]);
        let other = KeyPair::from_random(Role::User, &[8; 32]);
        let object = r#"{"state":"idle","users":3}"#;
        let said = sign("till-7", object, &pair);
        let (back, signature) = parts(&said).unwrap();
        assert_eq!(back, object);
        let is_of = |device: &str, object: &str, key: &KeyPair| {
            is_signed(device, object, signature, &key.public_key())
        };
        assert!(is_of("till-7", object, &pair));
        assert!(!is_of("till-8", object, &pair));
        assert!(!is_of("till-7", object, &other));
        assert!(!is_of("till-7", r#"{"state":"idle","users":4}"#, &pair));
        // Those that read JSON and know no signature read the rest.
        assert!(
            said.starts_with(r#"{"state":"idle","users":3,"signature":""#),
            "{said}"
        );
    }

    #[test]
    fn what_nobody_signed_has_no_parts() {
        let long = "x".repeat(SIGNATURE_LETTERS);
        for said in [
            "",
            "{}",
            r#"{"state":"idle"}"#,
            r#"{"a":1,"signature":"short"}"#,
            &format!(r#"{{"signature":"{long}","a":1}}"#),
            &format!("é{long}\"}}"),
        ] {
            assert_eq!(parts(said), None, "{said}");
        }
    }
}
