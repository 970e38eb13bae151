use std::io;
use std::path::Path;

use frond_config::{JetStreamEncryption, StoreCipher};
use frond_ledger::Recovered;
use frond_store::{
    Cipher, Encryption, FileDisk, Options as StoreOptions, Secret, Store, make_private,
};

use crate::limits::JOURNAL_BYTES_MAX;
use crate::options::plain;

/// Opens the data directory, making it when it is not there.
pub(crate) fn open(
    dir: &Path,
    nonce: u64,
    message_bytes_max: u64,
    encryption: &JetStreamEncryption,
) -> Result<(Store<FileDisk>, Recovered), String> {
    make(dir).map_err(|error| unusable(dir, &error))?;
    let disk = FileDisk::open(dir)
        .map_err(|error| format!("data directory {}: {}", dir.display(), plain(&error)))?;
    warn_of_strangers(dir);
    let mut options = StoreOptions::leaf(nonce);
    // A commit must fit a quarter of the journal.
    let wanted = message_bytes_max.saturating_mul(4).next_multiple_of(4096);
    options.journal_bytes = wanted.clamp(options.journal_bytes, JOURNAL_BYTES_MAX);
    options.encryption = encryption_of(encryption);
    Store::open(disk, &options).map_err(|error| error.to_string())
}

/// Makes a directory with all above it. Each name is on the disk when this returns: what is
/// synced in a directory that nobody can find is lost all the same.
fn make(dir: &Path) -> io::Result<()> {
    let missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    let made: Vec<&Path> = dir.ancestors().take_while(missing).collect();
    make_private(dir)?;
    for dir in made {
        let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
        std::fs::File::open(above.unwrap_or_else(|| Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// Without a key there is none.
fn encryption_of(config: &JetStreamEncryption) -> Option<Encryption> {
    let secret = |secret: &frond_config::Secret| Secret::new(secret.expose().as_bytes());
    Some(Encryption {
        cipher: match config.cipher {
            StoreCipher::ChaCha => Cipher::ChaCha,
            StoreCipher::Aes => Cipher::Aes,
        },
        key: secret(config.key.as_ref()?),
        previous: config.previous.as_ref().map(secret),
    })
}

/// Streams of a nats-server in the same place are not read: say so, and how to bring them over.
fn warn_of_strangers(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    let accounts = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("streams").is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    for account in accounts {
        tracing::warn!(
            "{} holds streams of a nats-server for account {account}: they are left alone and not served; \
             start nats-server there and source or copy them from here",
            dir.display()
        );
    }
}

/// Why there can be no data directory there, in nats-server's words and with the place.
/// spec: nats-server v2.15.1 server/jetstream.go (`enableJetStream`)
fn unusable(dir: &Path, error: &io::Error) -> String {
    let dir = dir.display();
    let is_file = [io::ErrorKind::NotADirectory, io::ErrorKind::AlreadyExists];
    if is_file.contains(&error.kind()) {
        return format!("Can't start JetStream: storage directory is not a directory: {dir}");
    }
    let why = plain(error);
    format!(
        "Can't start JetStream: could not create storage directory - {dir}: {why} (name another: -sd DIR, or store_dir in jetstream)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_way_of_the_data_directory_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for dir in [file.path().to_owned(), file.path().join("jetstream")] {
            let said = open(&dir, 1, 1024, &JetStreamEncryption::default()).unwrap_err();
            assert!(
                said.contains("storage directory is not a directory"),
                "{said}"
            );
            assert!(said.contains(&dir.display().to_string()), "{said}");
        }
    }
}
