//! What goes with an image: packed, with sums that are signed.

use std::path::{Path, PathBuf};
use std::process::Command;

use data_encoding::{BASE64, HEXLOWER};
use frond_ota::{Purpose, Signed};
use sha2::{Digest as _, Sha256};

use crate::error::{About as _, Outcome, quietly};
use crate::keys::Signers;

/// The image packed by xz, beside itself.
pub(crate) fn pack(image: &Path) -> Outcome<PathBuf> {
    let mut xz = Command::new("xz");
    // One thread gives the same bytes on every machine.
    xz.args(["--keep", "--force", "-T1", "-6"]).arg(image);
    quietly(&mut xz)?;
    Ok(image.with_extension("img.xz"))
}

/// SHA-256 of the files as `sha256sum` writes and checks it, and beside it who signed that.
pub(crate) fn sums(files: &[PathBuf], base: &Path, signers: &Signers) -> Outcome<()> {
    let mut text = String::new();
    for path in files {
        let mut hash = Sha256::new();
        let mut file = std::fs::File::open(path).about(path)?;
        let mut buffer = vec![0; 1024 * 1024];
        loop {
            let length = std::io::Read::read(&mut file, &mut buffer).about(path)?;
            match buffer.get(..length) {
                None | Some([]) => break,
                Some(bytes) => hash.update(bytes),
            }
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text.push_str(&format!("{}  {name}\n", HEXLOWER.encode(&hash.finalize())));
    }
    let path = base.with_extension("sha256");
    std::fs::write(&path, &text).about(&path)?;
    let mut signed = Signed::new(text.into_bytes());
    for pair in &signers.pairs {
        signed.sign(Purpose::Image, pair);
    }
    let lines = signed.signatures.iter();
    let lines = lines.map(|it| format!("{} {}\n", it.key, BASE64.encode(&it.bytes)));
    let path = base.with_extension("sha256.sig");
    std::fs::write(&path, lines.collect::<String>()).about(&path)
}
