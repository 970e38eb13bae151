use std::io::{self, Read, Seek, SeekFrom, Write};

use data_encoding::HEXLOWER;
use flate2::read::GzDecoder;
use frond_ota::Keys;
use sha2::{Digest as _, Sha256};

use crate::limits::{PACKED_PIECE_BYTES_MAX, PIECE_BYTES};
use crate::{Manifest, Part, Refusal, open};

/// What a bundle is held against.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Keys that sign releases.
    pub release: Keys,
    /// Keys that sign when it burns, also older ones.
    pub emergency: Keys,
    /// What this box is.
    pub board: String,
    /// The highest version that was confirmed.
    pub floor: u64,
}

/// Why a slot was not filled.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The bundle is not for here. Nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The source or a partition failed, or holds something else than the manifest says.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Where the parts go.
pub trait Place {
    /// A partition.
    type Target: Read + Write + Seek;

    /// The bundle is good: the slot is about to be written. From here on it must not be started.
    ///
    /// # Errors
    /// When that cannot be made sure of.
    fn begin(&mut self, manifest: &Manifest) -> io::Result<()>;

    /// The partition of that name in the slot that doesn't run, and its length in bytes.
    ///
    /// # Errors
    /// When there is none, or it cannot be opened.
    fn target(&mut self, name: &str) -> io::Result<(Self::Target, u64)>;

    /// So many bytes of so many are written.
    fn progress(&mut self, done: u64, whole: u64);

    /// Makes sure that what was written is on the medium, and that it is read from there again.
    ///
    /// # Errors
    /// The device's.
    fn sync(&mut self, target: &mut Self::Target) -> io::Result<()>;
}

/// Fills the slot that doesn't run: signatures first, then piece by piece, each verified before it
/// is written; at the end all of it is read back and verified again. The caller marks the slot.
///
/// # Errors
/// Why not; after [`Place::begin`] the slot holds nothing that may be started.
pub fn install(
    from: &mut impl Read,
    bar: &Bar,
    place: &mut impl Place,
) -> Result<Manifest, InstallError> {
    let opened = open(from)?;
    let manifest = Manifest::verify(
        &opened.signed,
        &bar.release,
        &bar.emergency,
        &bar.board,
        bar.floor,
    )?;
    let whole = manifest.parts.iter().map(|part| part.bytes).sum();
    place.begin(&manifest)?;
    let mut done = 0;
    for part in &manifest.parts {
        let (mut target, room) = place.target(&part.name)?;
        if part.bytes > room {
            return Err(wrong(&format!("{} has no room for it", part.name)).into());
        }
        target.seek(SeekFrom::Start(0))?;
        for hash in &part.pieces {
            let piece = next_piece(from, hash)?;
            target.write_all(&piece)?;
            done += piece.len() as u64;
            place.progress(done, whole);
        }
        place.sync(&mut target)?;
        read_back(&mut target, part)?;
    }
    Ok(manifest)
}

/// The next piece, when it is the one that was signed.
fn next_piece(from: &mut impl Read, hash: &str) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > PACKED_PIECE_BYTES_MAX {
        return Err(wrong("a piece is too large"));
    }
    let mut packed = vec![0; length];
    from.read_exact(&mut packed)?;
    let mut piece = Vec::new();
    let most = PIECE_BYTES as u64 + 1;
    GzDecoder::new(packed.as_slice())
        .take(most)
        .read_to_end(&mut piece)?;
    if is(&piece, hash) {
        Ok(piece)
    } else {
        Err(wrong("a piece is not what was signed"))
    }
}

fn read_back(target: &mut (impl Read + Seek), part: &Part) -> io::Result<()> {
    target.seek(SeekFrom::Start(0))?;
    let mut left = part.bytes;
    let mut piece = vec![0; PIECE_BYTES];
    for hash in &part.pieces {
        let length = usize::try_from(left).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
        let piece = piece.get_mut(..length).unwrap_or_default();
        target.read_exact(piece)?;
        if !is(piece, hash) {
            return Err(wrong("the medium does not give back what was written"));
        }
        left -= length as u64;
    }
    Ok(())
}

fn is(piece: &[u8], hash: &str) -> bool {
    HEXLOWER.encode(&Sha256::digest(piece)) == hash
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests;
