use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use frond_account::nkey::{KeyPair, Role};
use frond_ota::claim::{self, Side};
use frond_ota::report;
use serde_json::{Value, json};

/// The key of this box, born when it is first asked for, and the code by which a hub's people
/// claim it.
#[derive(Debug)]
pub(crate) struct Identity {
    pair: KeyPair,
    public: String,
    /// Which start of this box this is: greater than that of every one before; 0: of none.
    start: u64,
    /// Nobody claimed it yet.
    code: Option<String>,
    code_at: PathBuf,
}

/// A line of a configuration, so that a leafnode's remote can include it.
const SEED: &str = "identity.conf";
const CODE: &str = "claim-code";
const STARTS: &str = "starts";
/// In place of the code, when it was used.
const CLAIMED: &str = "claimed";

impl Identity {
    /// Of the box that keeps its configurations in that folder.
    ///
    /// # Errors
    /// The system's, or a file that is not what it should be.
    pub(crate) fn of(dir: &Path) -> Result<Self, String> {
        let said = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(dir).map_err(|error| said(dir, error))?;
        let seed_at = dir.join(SEED);
        let code_at = dir.join(CODE);
        let text = born(&seed_at, || {
            let random = random::<32>()?;
            let pair = KeyPair::from_random(Role::User, &random);
            Ok(format!("nkey: {}\n", pair.seed()))
        })
        .map_err(|error| said(&seed_at, error))?;
        let seed = text.trim().strip_prefix("nkey:").unwrap_or_default();
        let pair = KeyPair::from_seed(seed.trim());
        let pair = pair.map_err(|error| format!("{}: {error}", seed_at.display()))?;
        let code = born(&code_at, || Ok(claim::code(random::<10>()?)));
        let code = code.map_err(|error| said(&code_at, error))?;
        let code = Some(code.trim().to_owned()).filter(|it| it != CLAIMED);
        Ok(Self {
            start: 0,
            public: pair.public_key(),
            pair,
            code,
            code_at,
        })
    }

    /// Its public half, and the code while nobody claimed it.
    pub(crate) fn shown(&self) -> (&str, Option<String>) {
        (&self.public, self.code.as_deref().map(claim::shown))
    }

    /// What the hub is told: the key, and that this box knows its code.
    pub(crate) fn report(&self, device: &str) -> (Value, Value) {
        let code = self.code.as_deref();
        let proof = code.map(|code| claim::proof(code, Side::Box, device, &self.public));
        (json!(self.public), json!(proof))
    }

    /// This box starts, so many seconds after 1970 as far as it knows.
    pub(crate) fn starts(&mut self, now_s: u64) {
        self.start = started(&self.code_at.with_file_name(STARTS), now_s);
    }

    /// What this box says of itself, as nobody else can say it: an object that is not empty.
    pub(crate) fn signed(&self, device: &str, object: &str) -> String {
        report::sign(device, object, &self.pair)
    }

    /// Which start this is.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// Somebody says that this box is claimed; whether that is news.
    ///
    /// # Errors
    /// It does not know the code, or it cannot be written down.
    pub(crate) fn claimed(&mut self, device: &str, said: &[u8]) -> Result<bool, String> {
        let Some(code) = &self.code else {
            return Ok(false);
        };
        let said: Value = serde_json::from_slice(said).unwrap_or_default();
        let proof = said.get("proof").and_then(Value::as_str);
        let wanted = claim::proof(code, Side::Hub, device, &self.public);
        if !claim::is_same(proof.unwrap_or_default(), &wanted) {
            return Err("somebody wants to claim this box who does not know its code".to_owned());
        }
        replace(&self.code_at, CLAIMED).map_err(|error| error.to_string())?;
        self.code = None;
        Ok(true)
    }
}

/// The number of a start: the time, so that it goes on after what was kept was lost or brought back
/// from elsewhere, and more than the last one where the clock is not set. A full
/// disk is no reason to say nothing: such a start has it in memory only.
fn started(path: &Path, now_s: u64) -> u64 {
    let last = fs::read_to_string(path).ok();
    let last: u64 = last.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
    let start = now_s.max(last.saturating_add(1));
    let _ = replace(path, &start.to_string());
    start
}

/// What is in a file that only its owner reads; it is made when it is not there.
fn born(path: &Path, make: impl FnOnce() -> io::Result<String>) -> io::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let text = make()?;
    replace(path, &text)?;
    Ok(text)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)?;
    let dir = path.parent().unwrap_or_else(|| Path::new("."));
    fs::File::open(dir)?.sync_all()
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut random = [0; N];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_born_once_only_its_owner_reads_it_and_it_is_claimed_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = Identity::of(dir.path()).unwrap();
        let mut again = Identity::of(dir.path()).unwrap();
        first.starts(1000);
        again.starts(1);
        assert_eq!((first.start(), again.start()), (1000, 1001));
        assert_eq!(first.shown(), again.shown());
        for file in [SEED, CODE] {
            let mode = fs::metadata(dir.path().join(file)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600, "{file}");
        }
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Identity::of(other.path()).unwrap().shown(), first.shown());

        let code = first.code.clone().unwrap();
        let proof = |side| json!({ "proof": claim::proof(&code, side, "till-7", &first.public) });
        let (wrong, right) = (proof(Side::Box).to_string(), proof(Side::Hub).to_string());
        assert!(first.claimed("till-7", wrong.as_bytes()).is_err());
        assert!(first.claimed("till-8", right.as_bytes()).is_err());
        assert_eq!(first.claimed("till-7", right.as_bytes()), Ok(true));
        assert_eq!(first.claimed("till-7", right.as_bytes()), Ok(false));
        assert_eq!(Identity::of(dir.path()).unwrap().shown().1, None);
    }
}
