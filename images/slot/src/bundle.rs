//! The file that fills a slot. Version 1:
//!
//! ```text
//! "frondimg"  version: u8 = 1   length: u32 LE   manifest, signed   pieces of all parts
//! piece = length: u32 LE   gzip
//! ```
//!
//! Signatures come first and pieces are hashed one by one: a bundle is read as it comes, with one
//! piece in memory, and nothing unverified is written anywhere.

use std::io::{self, Read, Write};

use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use frond_account::nkey::KeyPair;
use frond_ota::{Purpose, Signed};
use sha2::{Digest as _, Sha256};

use crate::limits::{MANIFEST_BYTES_MAX, PIECE_BYTES};
use crate::{Manifest, Part, Refusal};

const MAGIC: &[u8; 8] = b"frondimg";
const VERSION: u8 = 1;
/// The manifest with its signatures.
const SIGNED_BYTES_MAX: usize = MANIFEST_BYTES_MAX + 8192;

/// A bundle whose beginning was read and not believed yet.
#[derive(Debug)]
pub struct Opened {
    /// The manifest and who signed it.
    pub signed: Signed,
}

/// Reads the beginning; what is left in `from` are the pieces.
///
/// # Errors
/// When it is no bundle, or the source fails.
pub fn open(from: &mut impl Read) -> io::Result<Opened> {
    let mut head = [0; 13];
    from.read_exact(&mut head)?;
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let Some((version, length)) = head.strip_prefix(MAGIC).and_then(|it| it.split_first()) else {
        return Err(wrong("it is no image bundle of Frond's"));
    };
    if *version != VERSION {
        return Err(wrong("its format is newer than this program"));
    }
    let length = length.first_chunk().copied().map_or(0, u32::from_le_bytes);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > SIGNED_BYTES_MAX {
        return Err(wrong("its manifest is too large"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    let mut rest = bytes.as_slice();
    let signed = Signed::decode(&mut rest, MANIFEST_BYTES_MAX);
    let signed = signed.filter(|_| rest.is_empty());
    let signed = signed.ok_or_else(|| wrong("it is cut short or damaged"))?;
    Ok(Opened { signed })
}

/// Writes a bundle of these parts (name and content), signed by all of `keys`; its manifest, with
/// the parts filled in.
///
/// # Errors
/// The target's.
pub fn write_bundle(
    mut manifest: Manifest,
    parts: &[(&str, &[u8])],
    keys: &[KeyPair],
    to: &mut impl Write,
) -> io::Result<Signed> {
    let hashes = |content: &[u8]| {
        let pieces = content.chunks(PIECE_BYTES);
        let hashes = pieces.map(|piece| HEXLOWER.encode(&Sha256::digest(piece)));
        hashes.collect()
    };
    manifest.parts = parts
        .iter()
        .map(|(name, content)| Part {
            name: (*name).to_owned(),
            bytes: content.len() as u64,
            pieces: hashes(content),
        })
        .collect();
    let mut signed = manifest.to_signed();
    for pair in keys {
        signed.sign(Purpose::Image, pair);
    }
    let mut head = Vec::new();
    signed.encode(&mut head);
    to.write_all(MAGIC)?;
    to.write_all(&[VERSION])?;
    to.write_all(&length(&head)?)?;
    to.write_all(&head)?;
    for piece in parts
        .iter()
        .flat_map(|(_, content)| content.chunks(PIECE_BYTES))
    {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(piece)?;
        let packed = packer.finish()?;
        to.write_all(&length(&packed)?)?;
        to.write_all(&packed)?;
    }
    Ok(signed)
}

fn length(bytes: &[u8]) -> io::Result<[u8; 4]> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    Ok(length.to_le_bytes())
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::InvalidData, refusal)
    }
}
