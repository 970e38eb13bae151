//! How a hub's people and a box find that they mean each other: a code that only the box shows is
//! typed in at the hub. Neither ever says it on the line: each proves that it knows it.

use data_encoding::{HEXLOWER, Specification};
use sha2::{Digest as _, Sha256};

/// Whose proof it is: one side's is of no use to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Of the box, for its key.
    Box,
    /// Of the hub, that it took the box.
    Hub,
}

/// Letters of a code: 80 bits, which nobody finds by trying.
pub const CODE_LETTERS: usize = 16;
const LETTERS: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const BLOCK: usize = 64;

/// A code from so much randomness.
#[must_use]
pub fn code(random: [u8; 10]) -> String {
    let mut spec = Specification::new();
    spec.symbols.push_str(LETTERS);
    let encoding = spec.encoding();
    encoding.map(|it| it.encode(&random)).unwrap_or_default()
}

/// A code as people read it best.
#[must_use]
pub fn shown(code: &str) -> String {
    let letters: Vec<char> = code.chars().collect();
    let groups = letters.chunks(4).map(|it| it.iter().collect::<String>());
    groups.collect::<Vec<_>>().join("-")
}

/// What people typed, as a code; letters that look alike are one.
///
/// # Errors
/// What is wrong with it.
pub fn typed(text: &str) -> Result<String, String> {
    let letters = text.chars().filter(|it| !matches!(it, '-' | ' '));
    let code: String = letters
        .map(|it| match it.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        })
        .collect();
    if code.len() == CODE_LETTERS && code.chars().all(|it| LETTERS.contains(it)) {
        Ok(code)
    } else {
        Err(format!(
            "a code has {CODE_LETTERS} letters and digits, in groups of four"
        ))
    }
}

/// That a side knows the code of the box of this name and this public key.
#[must_use]
pub fn proof(code: &str, side: Side, device: &str, identity: &str) -> String {
    let side = match side {
        Side::Box => "box",
        Side::Hub => "hub",
    };
    let text = format!("frond claim 1\n{side}\n{device}\n{identity}\n");
    HEXLOWER.encode(&hmac(code.as_bytes(), text.as_bytes()))
}

/// Whether these are the same, in the same time wherever they differ.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let differ = pairs.fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differ == 0
}

/// spec: RFC 2104
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let pad = |with: u8| block.map(|it| it ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text);
    let outer = Sha256::new().chain_update(pad(0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_specification() {
        // spec: RFC 4231 4.3
        let wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let digest = hmac(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(HEXLOWER.encode(&digest), wanted);
    }

    #[test]
    fn codes_are_typed_as_they_are_read() {
        let code = code([0xff, 0, 17, 3, 99, 200, 1, 8, 9, 77]);
        assert_eq!(code.len(), CODE_LETTERS);
        assert_eq!(typed(&shown(&code)), Ok(code.clone()));
        assert_eq!(typed(&shown(&code).to_lowercase()), Ok(code.clone()));
        assert_eq!(
            typed("OIl0-0000-0000-0000"),
            Ok("0110000000000000".to_owned())
        );
        for wrong in ["", "0000-0000-0000-000", "0000-0000-0000-000U"] {
            assert!(typed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_proof_is_of_one_side_one_name_one_key_and_one_code() {
        let proof_of = |code, side, device, key| proof(code, side, device, key);
        let one = proof_of("A", Side::Box, "till-7", "UA");
        for other in [
            proof_of("B", Side::Box, "till-7", "UA"),
            proof_of("A", Side::Hub, "till-7", "UA"),
            proof_of("A", Side::Box, "till-8", "UA"),
            proof_of("A", Side::Box, "till-7", "UB"),
        ] {
            assert!(!is_same(&one, &other));
        }
        assert!(is_same(&one, &one.clone()));
    }
}
