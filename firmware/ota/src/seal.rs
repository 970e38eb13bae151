//! The file a bundle travels in. Version 1:
//!
//! ```text
//! "frondcfg"  version: u8 = 1   roots: u8   root * roots   bundle
//! root, bundle = length: u32 LE   body   signatures: u8   (key: 56 letters, Ed25519: 64 bytes) *
//! ```
//!
//! The bodies are postcard, read only when their signatures are good.

use crate::limits::{BUNDLE_BYTES_MAX, ROOT_BYTES_MAX, ROOTS_MAX};
use crate::signed::take;
use crate::{Bundle, Digest, Signed};

const MAGIC: &[u8] = b"frondcfg";
const VERSION: u8 = 1;

/// A bundle with its signatures, and the roots that lead to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Roots after the first, for boxes that don't know them yet.
    pub roots: Vec<Signed>,
    /// The [`Bundle`].
    pub bundle: Signed,
}

impl Sealed {
    /// Around a bundle that nobody has signed yet.
    #[must_use]
    pub fn new(bundle: &Bundle, roots: Vec<Signed>) -> Self {
        Self {
            roots,
            bundle: Signed::new(bundle.encode()),
        }
    }

    /// Its name.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bundle.body)
    }

    /// What it says, whoever signed it: for those who make bundles.
    #[must_use]
    pub fn content(&self) -> Option<Bundle> {
        Bundle::parse(&self.bundle.body).ok()
    }

    /// As a file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(VERSION);
        let roots = self.roots.len().min(ROOTS_MAX);
        out.push(u8::try_from(roots).unwrap_or(u8::MAX));
        for root in self.roots.iter().take(roots) {
            root.encode(&mut out);
        }
        self.bundle.encode(&mut out);
        out
    }

    /// Finds the parts by their lengths and believes nothing of them.
    ///
    /// # Errors
    /// What is wrong with the form.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.len() > BUNDLE_BYTES_MAX {
            return Err("it is too large");
        }
        let mut rest = bytes
            .strip_prefix(MAGIC)
            .ok_or("it is no bundle of Frond's")?;
        match take(&mut rest, 1) {
            Some([VERSION]) => {}
            Some(_) => return Err("its format is newer than this program"),
            None => return Err(CUT),
        }
        let count = take(&mut rest, 1).and_then(|it| it.first()).ok_or(CUT)?;
        let count = usize::from(*count);
        if count > ROOTS_MAX {
            return Err("it has too many roots");
        }
        let mut roots = Vec::new();
        for _ in 0..count {
            roots.push(Signed::decode(&mut rest, ROOT_BYTES_MAX).ok_or(CUT)?);
        }
        let bundle = Signed::decode(&mut rest, BUNDLE_BYTES_MAX).ok_or(CUT)?;
        if rest.is_empty() {
            Ok(Self { roots, bundle })
        } else {
            Err("it goes on after its end")
        }
    }
}

const CUT: &str = "it is cut short or damaged";
