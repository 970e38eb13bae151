use crate::{Bundle, Choice, Digest, File, Sealed, Shelf, Trust};

/// A configuration to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The box's own file.
    Factory,
    /// A bundle's.
    Bundle(Digest, Box<Bundle>),
}

/// Why a configuration cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It is certainly not there.
    #[error("it is not on the disk")]
    Absent,
    /// It is another text than was meant.
    #[error("it is damaged on the disk")]
    Damaged,
    /// Nobody that was ever trusted here signed it.
    #[error("it is not signed by those this box trusts")]
    Unsigned,
    /// It may be all right.
    #[error("it cannot be read from the disk: {0}")]
    Unreadable(String),
}

impl Start {
    /// Which it is.
    #[must_use]
    pub const fn choice(&self) -> Choice {
        match self {
            Self::Factory => Choice::Factory,
            Self::Bundle(digest, _) => Choice::Bundle(*digest),
        }
    }

    /// The version; 0 is the box's own file.
    #[must_use]
    pub fn version(&self) -> u64 {
        match self {
            Self::Factory => 0,
            Self::Bundle(_, bundle) => bundle.version,
        }
    }

    /// Reads a configuration and judges it anew: it is the one that was meant, and was signed.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub fn load(shelf: &dyn Shelf, trust: &Trust, choice: Choice) -> Result<Self, Unusable> {
        let Choice::Bundle(digest) = choice else {
            return Ok(Self::Factory);
        };
        let sealed = read(shelf, digest)?;
        // The roots that led to its signers lie beside it.
        if !trust.led_on(&sealed.roots).ever_allowed(&sealed.bundle) {
            return Err(Unusable::Unsigned);
        }
        let bundle = Bundle::parse(&sealed.bundle.body).map_err(|_| Unusable::Damaged)?;
        Ok(Self::Bundle(digest, Box::new(bundle)))
    }
}

/// A bundle of the disk's, of which only the digest is known to be right.
pub(crate) fn read(shelf: &dyn Shelf, digest: Digest) -> Result<Sealed, Unusable> {
    let bytes = shelf.read(File::Bundle(digest));
    let bytes = bytes.map_err(Unusable::Unreadable)?;
    let sealed = Sealed::decode(&bytes.ok_or(Unusable::Absent)?);
    let sealed = sealed.map_err(|_| Unusable::Damaged)?;
    if sealed.digest() == digest {
        Ok(sealed)
    } else {
        Err(Unusable::Damaged)
    }
}
