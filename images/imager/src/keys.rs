use std::io::Read as _;
use std::path::{Path, PathBuf};

use frond_account::nkey::{KeyPair, Role};

use crate::error::{About as _, Outcome};
use crate::place::Place;

/// Who signs what is made here, and whom a box made here believes.
#[derive(Debug)]
pub struct Signers {
    /// They sign now.
    pub pairs: Vec<KeyPair>,
    /// Public keys that sign releases, and how many of them must.
    pub release: (u8, Vec<String>),
    /// Public keys that sign when it burns, and how many of them must.
    pub emergency: (u8, Vec<String>),
}

impl Signers {
    /// With these seeds and keys. With none at all a pair of this machine's own signs, which is
    /// good for trying things out and for nothing else.
    ///
    /// # Errors
    /// When a seed is none.
    pub fn new(
        place: &Place,
        seeds: &[PathBuf],
        release: &[String],
        emergency: &[String],
    ) -> Outcome<Self> {
        let mut pairs = Vec::new();
        for path in seeds {
            let text = std::fs::read_to_string(path).about(path)?;
            pairs.push(KeyPair::from_seed(text.trim()).about(path)?);
        }
        if pairs.is_empty() && release.is_empty() {
            eprintln!("imager: signed with a key of this machine, for trying out only");
            pairs.push(own(&place.made("key")?.join("development.seed"))?);
        }
        let release = if release.is_empty() {
            pairs.iter().map(KeyPair::public_key).collect()
        } else {
            release.to_vec()
        };
        let threshold = |keys: &[String]| u8::from(!keys.is_empty());
        Ok(Self {
            release: (threshold(&release), release),
            emergency: (threshold(emergency), emergency.to_vec()),
            pairs,
        })
    }
}

fn own(path: &Path) -> Outcome<KeyPair> {
    if let Ok(text) = std::fs::read_to_string(path) {
        return KeyPair::from_seed(text.trim()).about(path);
    }
    let mut random = [0; 32];
    let mut source = std::fs::File::open("/dev/urandom").about("/dev/urandom")?;
    source.read_exact(&mut random).about("/dev/urandom")?;
    let pair = KeyPair::from_random(Role::Operator, &random);
    std::fs::write(path, pair.seed()).about(path)?;
    Ok(pair)
}
