//! The form of nkeys: base32 text with a checksum. What they prove is not known here.

const PREFIX_USER: u8 = 20 << 3;
const PREFIX_ACCOUNT: u8 = 0;
const PREFIX_OPERATOR: u8 = 14 << 3;
const PREFIX_CURVE: u8 = 23 << 3;
/// Account, cluster, server, operator, user and curve.
const PREFIXES_PUBLIC: [u8; 6] = [
    PREFIX_ACCOUNT,
    2 << 3,
    13 << 3,
    PREFIX_OPERATOR,
    PREFIX_USER,
    PREFIX_CURVE,
];
const PREFIX_SEED: u8 = 18 << 3;

/// Whether `key` is a public user key, `U...`.
pub(crate) fn is_public_user(key: &str) -> bool {
    decode(key).is_some_and(|raw| raw.len() == 33 && raw.first() == Some(&PREFIX_USER))
}

/// Whether `key` is a public account key, `A...`.
pub(crate) fn is_public_account(key: &str) -> bool {
    decode(key).is_some_and(|raw| raw.len() == 33 && raw.first() == Some(&PREFIX_ACCOUNT))
}

/// Whether `key` is a public operator key, `O...`.
pub(crate) fn is_public_operator(key: &str) -> bool {
    decode(key).is_some_and(|raw| raw.len() == 33 && raw.first() == Some(&PREFIX_OPERATOR))
}

/// Whether `key` is a public curve key, `X...`.
pub(crate) fn is_public_curve(key: &str) -> bool {
    decode(key).is_some_and(|raw| raw.len() == 33 && raw.first() == Some(&PREFIX_CURVE))
}

/// Whether `key` is a public key that signs, for whatever role.
pub(crate) fn is_public(key: &str) -> bool {
    let prefix = decode(key)
        .filter(|raw| raw.len() == 33)
        .and_then(|raw| raw.first().copied());
    prefix.is_some_and(|prefix| PREFIXES_PUBLIC.contains(&prefix))
}

/// Whether `seed` is the seed of a user, `SU...`.
pub(crate) fn is_user_seed(seed: &str) -> bool {
    let Some(raw) = decode(seed) else {
        return false;
    };
    let [first, second, ..] = raw.as_slice() else {
        return false;
    };
    // The kind of key sits in the low three bits of the first byte and the high five of the second.
    let kind = ((first & 0x07) << 5) | ((second & 0xf8) >> 3);
    raw.len() == 34 && first & 0xf8 == PREFIX_SEED && kind == PREFIX_USER
}

/// The bytes before the checksum, if it holds.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut raw = Vec::with_capacity(text.len() * 5 / 8);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for c in text.bytes() {
        let five = match c {
            b'A'..=b'Z' => c - b'A',
            b'2'..=b'7' => c - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(five)) & 0xffff;
        held += 5;
        if held >= 8 {
            held -= 8;
            raw.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    let high = raw.pop()?;
    let low = raw.pop()?;
    (crc16(&raw) == u16::from_le_bytes([low, high])).then_some(raw)
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 {
                crc << 1
            } else {
                crc << 1 ^ 0x1021
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{is_public_account, is_public_user, is_user_seed};

    #[test]
    fn knows_the_kinds() {
        let user = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
        let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
        assert!(is_public_user(user));
        assert!(is_user_seed(seed));
        assert!(!is_public_account(user) && !is_user_seed(user) && !is_public_user(seed));
        assert!(
            !is_public_user(&user.replace("UDXU", "UDXV")),
            "the checksum counts"
        );
        assert!(!is_public_user("") && !is_user_seed("") && !is_public_user("U"));
    }
}
