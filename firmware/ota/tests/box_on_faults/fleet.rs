//! Those who sign, and what they sign.

use std::sync::OnceLock;

use frond_account::nkey::{self, KeyPair};
use frond_ota::{Bundle, Choice, Keys, Purpose, Root, Sealed, Signed, Target, Who};

/// Seconds since 1970 when the bundles are made.
pub(crate) const ISSUED_S: i64 = 1_800_000_000;

/// Seconds since 1970 when the program was made.
pub(crate) const BUILT_S: i64 = ISSUED_S - 1_000_000;

pub(crate) fn pair(letter: u8) -> KeyPair {
    KeyPair::from_random(nkey::Role::Operator, &[letter; 32])
}

fn keys(threshold: u8, letters: &[u8]) -> Keys {
    Keys {
        threshold,
        keys: letters.iter().map(|it| pair(*it).public_key()).collect(),
    }
}

/// Two of three sign releases, one the emergency ones.
pub(crate) fn root() -> Root {
    Root {
        version: 1,
        root: keys(2, b"abc"),
        release: keys(2, b"rst"),
        hub: Keys::default(),
        emergency: keys(1, b"e"),
    }
}

/// The same with other release keys.
fn second_root() -> Signed {
    let mut root = root();
    root.version = 2;
    root.release = keys(2, b"xyz");
    let mut signed = root.to_signed();
    for letter in b"ab" {
        signed.sign(Purpose::Root, &pair(*letter));
    }
    signed
}

pub(crate) fn who() -> Who {
    Who {
        device: "till-7".to_owned(),
        groups: vec!["shops".to_owned()],
    }
}

pub(crate) fn bundle(version: u64) -> Bundle {
    Bundle {
        version,
        issued_s: ISSUED_S,
        expires_s: ISSUED_S + 86_400,
        targets: vec![Target::Group("shops".to_owned())],
        downgrade_from: None,
        new_floor: None,
        window_s: Some(60),
        by: "ops".to_owned(),
        note: "test".to_owned(),
        config: format!("signed {version}"),
        files: Vec::new(),
    }
}

pub(crate) fn seal(bundle: &Bundle, letters: &[u8], roots: Vec<Signed>) -> Sealed {
    let mut sealed = Sealed::new(bundle, roots);
    for letter in letters {
        sealed.bundle.sign(Purpose::Bundle, &pair(*letter));
    }
    sealed
}

/// Good bundles, made once: signing is slow.
pub(crate) fn good(version: u64) -> Vec<u8> {
    static MADE: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let make = |version| seal(&bundle(version), b"rs", Vec::new()).encode();
        (0..4).map(make).collect()
    });
    made[usize::try_from(version).unwrap()].clone()
}

/// A good one by new keys, with the root that makes them known.
pub(crate) fn rotated() -> Vec<u8> {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    let make = || seal(&bundle(3), b"xy", vec![second_root()]).encode();
    MADE.get_or_init(make).clone()
}

/// An older one, allowed by the emergency key to boxes that had `from` at most.
pub(crate) fn permit(version: u64, from: u64) -> Vec<u8> {
    let older = Bundle {
        downgrade_from: Some(from),
        ..bundle(version)
    };
    seal(&older, b"e", Vec::new()).encode()
}

/// The version of a good one; 0 of all else.
pub(crate) fn version(choice: Choice) -> u64 {
    static KNOWN: OnceLock<Vec<(Choice, u64)>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let all = (0..4).map(|version| (good(version), version));
        let all = all.chain([(rotated(), 3)]);
        let named = all.map(|(bytes, version)| (Sealed::decode(&bytes).unwrap().digest(), version));
        named
            .map(|(digest, it)| (Choice::Bundle(digest), it))
            .collect()
    });
    let found = known.iter().find(|(known, _)| *known == choice);
    found.map_or(0, |(_, version)| *version)
}

/// What must never run; each says why it is refused.
pub(crate) fn evil() -> &'static [(&'static str, Vec<u8>)] {
    static MADE: OnceLock<Vec<(&str, Vec<u8>)>> = OnceLock::new();
    MADE.get_or_init(|| {
        let evil = Bundle {
            config: "evil".to_owned(),
            ..bundle(9)
        };
        let good = seal(&evil, b"rs", Vec::new()).encode();
        let mut corrupted = good.clone();
        let middle = corrupted.len() / 2;
        corrupted[middle] ^= 1;
        let elsewhere = Bundle {
            targets: vec![Target::Device("till-8".to_owned())],
            ..evil.clone()
        };
        let expired = Bundle {
            expires_s: BUILT_S - 1,
            ..evil.clone()
        };
        let older = Bundle {
            version: 0,
            downgrade_from: Some(99),
            ..evil.clone()
        };
        let mut twice = seal(&evil, b"r", Vec::new());
        twice
            .bundle
            .signatures
            .push(twice.bundle.signatures[0].clone());
        let mut root = second_root();
        root.signatures.pop();
        let too_large = vec![b'x'; 600 * 1024];
        vec![
            ("not signed", corrupted),
            ("cut short", good[..good.len() - 1].to_vec()),
            (
                "not for this box",
                seal(&elsewhere, b"rs", Vec::new()).encode(),
            ),
            ("not signed", seal(&evil, b"xy", Vec::new()).encode()),
            ("not signed", seal(&evil, b"r", Vec::new()).encode()),
            ("not signed", twice.encode()),
            ("not signed", seal(&evil, b"xy", vec![root]).encode()),
            ("out of date", seal(&expired, b"rs", Vec::new()).encode()),
            ("emergency", seal(&older, b"rs", Vec::new()).encode()),
            ("the most", too_large),
            ("no bundle", b"listen: 4222".to_vec()),
        ]
    })
}
