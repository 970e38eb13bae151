use data_encoding::HEXLOWER;

use super::*;

// Made with nats-io/nkeys v0.4.15 from the bytes 9 and 10.
const OURS: (&str, &str) = (
    "SXAASCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQSCKESY",
    "XBL5WSZVT4R24XQUNZHCKEQFM4CHEJIGGSGBKDAUOU6QZEZ5ATKCD722",
);
const THEIRS: (&str, &str) = (
    "SXAAUCQKBIFAUCQKBIFAUCQKBIFAUCQKBIFAUCQKBIFAUCQKBIFAUCUFSE",
    "XD3X75FRA6EL7XFGFSQLWFQNIJ6PK5RNQXZLLSWWQB7MTQ76XPPATQR4",
);
const SEALED: &str = "786b7631729f0d0ce09af7517b26f0fea2137959937388c804592dbcc1ab92f83ef1f4edaa1c2fda84496eb3ad093c6baa3a03f1";

#[test]
fn known_seeds_have_their_known_public_keys() {
    for (seed, public) in [OURS, THEIRS] {
        assert_eq!(Xkey::from_seed(seed).unwrap().public_key(), public);
        assert!(is_public_key(public));
        assert!(!is_public_key(seed));
    }
    assert!(Xkey::from_seed("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY").is_err());
    assert!(
        nkey::KeyPair::from_seed(OURS.0).is_err(),
        "it signs nothing"
    );
}

#[test]
fn what_nkeys_sealed_is_opened() {
    let sealed = HEXLOWER.decode(SEALED.as_bytes()).unwrap();
    let key = Xkey::from_seed(THEIRS.0).unwrap();
    assert_eq!(key.open(&sealed, OURS.1).unwrap(), b"a secret");
}

#[test]
fn the_same_nonce_seals_as_nkeys_does() {
    let sealed = HEXLOWER.decode(SEALED.as_bytes()).unwrap();
    let nonce = sealed[4..28].try_into().unwrap();
    let key = Xkey::from_seed(OURS.0).unwrap();
    assert_eq!(key.seal(b"a secret", THEIRS.1, nonce).unwrap(), sealed);
}

#[test]
fn nothing_else_is_opened() {
    let sealed = HEXLOWER.decode(SEALED.as_bytes()).unwrap();
    let key = Xkey::from_seed(THEIRS.0).unwrap();
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert!(key.open(&changed, OURS.1).is_err(), "byte {at}");
    }
    for bytes in 0..sealed.len() {
        assert!(key.open(&sealed[..bytes], OURS.1).is_err(), "{bytes} bytes");
    }
    assert_eq!(key.open(&sealed, THEIRS.1), Err(XkeyError::Decrypt));
    assert_eq!(key.open(&sealed, "X"), Err(XkeyError::Key));
    assert_eq!(key.seal(b"x", "X", &[0; 24]), Err(XkeyError::Key));
}
