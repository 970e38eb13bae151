//! Those who sign.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and look at clocks"
)]

use std::time::{SystemTime, UNIX_EPOCH};

use frond_account::nkey::{KeyPair, Role};
use frond_ota::{Bundle, Purpose, Sealed, Target};

pub(crate) struct Fleet {
    root: KeyPair,
    release: [KeyPair; 2],
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let pair = |seed: u8| KeyPair::from_random(Role::Operator, &[seed; 32]);
        Self {
            root: pair(1),
            release: [pair(2), pair(3)],
        }
    }

    /// The block of a box called till-7, of the group shops.
    pub(crate) fn block(&self, more: &str) -> String {
        let [first, second] = self.release.each_ref().map(KeyPair::public_key);
        format!(
            "ota {{ store: \"$DIR/ota\", device: till-7, groups: [shops], window: \"30s\", \
             soak: \"1s\"\n  trust {{ root {{ keys: [{}] }}\n  release {{ threshold: 2, keys: \
             [{first}, {second}] }} }}\n  {more} }}\n",
            self.root.public_key()
        )
    }

    /// For the group shops.
    pub(crate) fn bundle(&self, version: u64, config: &str) -> Vec<u8> {
        self.signed(sealed(version, config, Target::Group("shops".to_owned())))
    }

    /// For one box.
    pub(crate) fn bundle_for(&self, device: &str, version: u64, config: &str) -> Vec<u8> {
        self.signed(sealed(version, config, Target::Device(device.to_owned())))
    }

    fn signed(&self, mut sealed: Sealed) -> Vec<u8> {
        for pair in &self.release {
            sealed.bundle.sign(Purpose::Bundle, pair);
        }
        sealed.encode()
    }

    /// Signed by somebody else.
    pub(crate) fn forged(&self, version: u64, config: &str) -> Vec<u8> {
        let mut sealed = sealed(version, config, Target::Everyone);
        sealed.bundle.sign(Purpose::Bundle, &self.root);
        sealed.encode()
    }
}

fn sealed(version: u64, config: &str, target: Target) -> Sealed {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let issued_s = i64::try_from(now.as_secs()).unwrap();
    let bundle = Bundle {
        version,
        issued_s,
        expires_s: issued_s + 3600,
        targets: vec![target],
        downgrade_from: None,
        new_floor: None,
        window_s: None,
        by: "tests".to_owned(),
        note: "a test".to_owned(),
        config: config.to_owned(),
        files: Vec::new(),
    };
    Sealed::new(&bundle, Vec::new())
}
