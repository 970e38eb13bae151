use frond_ota::{Keys, Purpose, Signed};
use serde::{Deserialize, Serialize};

use crate::limits::{MANIFEST_BYTES_MAX, PARTS_MAX, PIECE_BYTES};

/// What a bundle or an image holds. All of it is signed, and everything else is held against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The profile it was made from.
    pub board: String,
    /// Rises from one release to the next.
    pub version: u64,
    /// For people.
    pub name: String,
    /// When it was made, in seconds since 1970.
    pub issued_s: i64,
    /// It may be older than what was confirmed before, as long as that is this version at most.
    /// Needs the emergency keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downgrade_from: Option<u64>,
    /// What goes where.
    pub parts: Vec<Part>,
}

/// The content of one partition of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The partition's name without the slot's letter (`boot`, `root`).
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of each piece of it, in order.
    pub pieces: Vec<String>,
}

/// Why a bundle is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its form.
    #[error("the bundle cannot be read: {0}")]
    Malformed(String),
    /// Its signatures.
    #[error("the bundle is not signed by those this box trusts")]
    Unsigned,
    /// Its board.
    #[error("the bundle is for {bundle}, this is {here}")]
    OtherBoard {
        /// What it is for.
        bundle: String,
        /// What this is.
        here: String,
    },
    /// Its version.
    #[error("version {version} is not newer than {floor}, which was in force here")]
    Old {
        /// The bundle's.
        version: u64,
        /// The highest that was confirmed.
        floor: u64,
    },
    /// Its permit.
    #[error("only the emergency keys may allow an older version")]
    NoPermit,
}

impl Manifest {
    /// As a text to sign.
    #[must_use]
    pub fn to_signed(&self) -> Signed {
        Signed::new(serde_json::to_vec(self).unwrap_or_default())
    }

    /// From a text that enough of the keys have signed, for this board and newer than `floor`.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn verify(
        signed: &Signed,
        release: &Keys,
        emergency: &Keys,
        board: &str,
        floor: u64,
    ) -> Result<Self, Refusal> {
        let by_emergency = signed.is_signed_by(Purpose::Image, emergency);
        if !by_emergency && !signed.is_signed_by(Purpose::Image, release) {
            return Err(Refusal::Unsigned);
        }
        let manifest = Self::parse(&signed.body)?;
        if manifest.board != board {
            return Err(Refusal::OtherBoard {
                bundle: manifest.board,
                here: board.to_owned(),
            });
        }
        if manifest.downgrade_from.is_some() && !by_emergency {
            return Err(Refusal::NoPermit);
        }
        let is_allowed = manifest.downgrade_from.is_some_and(|from| floor <= from);
        if !is_allowed && manifest.version <= floor {
            return Err(Refusal::Old {
                version: manifest.version,
                floor,
            });
        }
        Ok(manifest)
    }

    fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let malformed = |why: &str| Refusal::Malformed(why.to_owned());
        if body.len() > MANIFEST_BYTES_MAX {
            return Err(malformed("its manifest is too large"));
        }
        let manifest: Self =
            serde_json::from_slice(body).map_err(|error| malformed(&error.to_string()))?;
        if manifest.parts.len() > PARTS_MAX {
            return Err(malformed("it has too many parts"));
        }
        for part in &manifest.parts {
            let pieces = usize::try_from(part.bytes.div_ceil(PIECE_BYTES as u64));
            if pieces != Ok(part.pieces.len()) {
                return Err(malformed("a part's length and its pieces differ"));
            }
        }
        Ok(manifest)
    }
}
