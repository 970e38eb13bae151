//! Account JWTs on the disk: `<key>.jwt` in one directory, as nats-server keeps them.
//! spec: nats-server v2.15.1 server/dirstore.go

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use frond_config::{Config, ConfigErrors, Resolver};
use frond_node::Authority;

use crate::limits::JWT_BYTES_MAX;
use crate::options::plain;

/// The directory of account JWTs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimsDir(PathBuf);

const EXTENSION: &str = "jwt";
const RESOLVER: &[&str] = &["resolver", "account_resolver", "accounts_resolver"];

impl ClaimsDir {
    /// Where a configuration keeps them; `None`: nowhere. What a URL resolver found is kept beside
    /// the streams, so that a start does not need the URL.
    ///
    /// # Errors
    /// When the directory cannot be made or used.
    pub(crate) fn of(config: &Config, authority: &Authority) -> Result<Option<Self>, ConfigErrors> {
        let path = match &authority.resolver {
            Some(Resolver::Full { dir, .. } | Resolver::Cache { dir, .. }) => PathBuf::from(dir),
            Some(Resolver::Url(_)) => match &config.jetstream.store_dir {
                Some(dir) => Path::new(dir).join("accounts"),
                None => return Ok(None),
            },
            Some(Resolver::Memory) | None => return Ok(None),
        };
        let wrong = |text: String| ConfigErrors(vec![config.wrong(RESOLVER, text)]);
        if fs::metadata(&path).is_ok_and(|found| !found.is_dir() || found.permissions().readonly())
        {
            let text = "dir needs to point to an accessible directory";
            return Err(wrong(text.to_owned()));
        }
        fs::create_dir_all(&path)
            .map_err(|error| wrong(format!("mkdir {}: {}", path.display(), plain(&error))))?;
        Ok(Some(Self(path)))
    }

    /// Every JWT there, by key. What cannot be read is not there.
    ///
    /// # Errors
    /// When the directory itself cannot be read.
    pub(crate) fn read(&self) -> io::Result<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            let key = path.file_stem().and_then(|stem| stem.to_str());
            if path.extension().is_some_and(|it| it == EXTENSION)
                && let Some(key) = key
                && path.metadata().is_ok_and(|it| it.len() <= JWT_BYTES_MAX)
                && let Ok(text) = fs::read_to_string(&path)
            {
                found.insert(key.to_owned(), text);
            }
        }
        Ok(found)
    }

    /// Keeps a JWT: the old one stays whole until the new one is on the medium.
    pub(crate) fn keep(&self, key: &str, text: &str) -> Result<(), String> {
        let path = self.path(key);
        let fresh = path.with_extension("new");
        let write = || {
            let mut file = File::create(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&fresh, &path)?;
            File::open(&self.0)?.sync_all()
        };
        write().map_err(|error| format!("open {}: {}", path.display(), plain(&error)))
    }

    /// Takes a JWT away; one that is not there is away.
    pub(crate) fn remove(&self, key: &str, renames: bool) -> Result<(), String> {
        let path = self.path(key);
        let done = if renames {
            fs::rename(&path, path.with_extension("jwt.deleted"))
        } else {
            fs::remove_file(&path)
        };
        match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("remove {}: {}", path.display(), plain(&error)))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Keys are checked before they come here: they are base32.
    fn path(&self, key: &str) -> PathBuf {
        self.0.join(key).with_extension(EXTENSION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(config: &str) -> Result<Option<ClaimsDir>, String> {
        let config = frond_config::load_text(config, "x.conf", &frond_config::Nothing);
        let config = config.unwrap().config;
        let authority = frond_node::authority(&config).unwrap();
        ClaimsDir::of(&config, &authority).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_jwt_is_kept_and_taken_away() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b");
        let text = format!("resolver: {{type: full, dir: \"{}\"}}", path.display());
        let dir = dir(&text).unwrap().unwrap();
        dir.keep("AKEY", "old").unwrap();
        dir.keep("AKEY", "new").unwrap();
        dir.keep("ABC", "other").unwrap();
        let both = [("ABC", "other"), ("AKEY", "new")];
        let both = both.map(|(key, text)| (key.to_owned(), text.to_owned()));
        assert_eq!(dir.read().unwrap(), BTreeMap::from(both));
        dir.remove("AKEY", true).unwrap();
        dir.remove("ABC", false).unwrap();
        dir.remove("ABC", false).unwrap();
        assert_eq!(dir.read().unwrap(), BTreeMap::new());
        assert!(path.join("AKEY.jwt.deleted").exists() && !path.join("ABC.jwt").exists());
    }

    #[test]
    fn a_directory_that_cannot_be_is_a_clean_error() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "x").unwrap();
        for (path, want) in [
            (
                file.clone(),
                "dir needs to point to an accessible directory",
            ),
            (file.join("below"), "not a directory"),
        ] {
            let text = format!(
                "port: 1\nresolver: {{type: cache, dir: \"{}\"}}",
                path.display()
            );
            let said = dir(&text).unwrap_err();
            assert!(
                said.starts_with("x.conf:2:1: ") && said.contains(want),
                "{said}"
            );
        }
    }
}
