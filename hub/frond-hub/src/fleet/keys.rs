use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use frond_account::nkey::{KeyPair, Role};
use frond_ota::{Keys, Purpose, Root, Signed};

use super::{read_text, say, write_bytes};

#[derive(Debug, clap::Args)]
pub(super) struct New {
    /// File for the seed, which only its owner can read
    out: PathBuf,
}

/// Keys of the roles.
#[derive(Debug, clap::Args)]
pub(super) struct Trust {
    /// Version of the root
    #[arg(long, default_value_t = 1)]
    version: u32,
    /// Public key of those who name others
    #[arg(long, value_name = "KEY", required = true)]
    root: Vec<String>,
    /// How many of them must sign
    #[arg(long, default_value_t = 1)]
    root_threshold: u8,
    /// Public key of those who sign configurations
    #[arg(long, value_name = "KEY", required = true)]
    release: Vec<String>,
    /// How many of them must sign
    #[arg(long, default_value_t = 1)]
    release_threshold: u8,
    /// Public key of those who may allow older configurations
    #[arg(long, value_name = "KEY")]
    emergency: Vec<String>,
    /// How many of them must sign
    #[arg(long, default_value_t = 1)]
    emergency_threshold: u8,
    /// Public key by which the hub signs that boxes on trial reached it (`fleet { confirm_key }`)
    #[arg(long, value_name = "KEY")]
    hub: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Rotate {
    #[command(flatten)]
    keys: Trust,
    /// Files with seeds: of the root in force and of the new one
    #[arg(long = "key", value_name = "SEED", required = true)]
    seeds: Vec<PathBuf>,
    /// File for the root, which `sign --root` takes
    #[arg(long, short)]
    out: PathBuf,
}

impl New {
    pub(super) fn run(&self) -> Result<(), String> {
        let mut random = [0; 32];
        let none = |error: getrandom::Error| format!("the system gives no randomness: {error}");
        getrandom::fill(&mut random).map_err(none)?;
        let pair = KeyPair::from_random(Role::Operator, &random);
        let named = |error: std::io::Error| format!("{}: {error}", self.out.display());
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.out);
        let mut file = file.map_err(named)?;
        writeln!(file, "{}", pair.seed()).map_err(named)?;
        say(&pair.public_key());
        Ok(())
    }
}

impl Trust {
    fn root(&self) -> Result<Root, String> {
        let keys = |threshold, keys: &[String]| Keys {
            threshold,
            keys: keys.to_vec(),
        };
        let root = Root {
            version: self.version,
            root: keys(self.root_threshold, &self.root),
            release: keys(self.release_threshold, &self.release),
            emergency: keys(self.emergency_threshold, &self.emergency),
            hub: keys(1, &self.hub),
        };
        root.check().map_err(|error| error.to_string())?;
        Ok(root)
    }

    pub(super) fn run(&self) -> Result<(), String> {
        let root = self.root()?;
        let block = |name: &str, keys: &Keys| {
            let (threshold, keys) = (keys.threshold, keys.keys.join(", "));
            format!("  {name} {{ threshold: {threshold}, keys: [{keys}] }}\n")
        };
        let mut text = format!("trust {{\n  version: {}\n", root.version);
        text += &block("root", &root.root);
        text += &block("release", &root.release);
        for (name, keys) in [("emergency", &root.emergency), ("hub", &root.hub)] {
            if !keys.keys.is_empty() {
                text += &block(name, keys);
            }
        }
        say(&format!("{text}}}"));
        Ok(())
    }
}

impl Rotate {
    pub(super) fn run(&self) -> Result<(), String> {
        let mut signed = self.keys.root()?.to_signed();
        for seed in &self.seeds {
            signed.sign(Purpose::Root, &pair(seed)?);
        }
        let bytes = serde_json::to_vec(&signed).map_err(|error| error.to_string())?;
        write_bytes(&self.out, &bytes)
    }
}

/// A root that [`Rotate`] wrote.
pub(super) fn read_root(path: &Path) -> Result<Signed, String> {
    let text = read_text(path)?;
    serde_json::from_str(&text).map_err(|_| format!("{} is no root", path.display()))
}

/// The key in a file.
pub(super) fn pair(path: &Path) -> Result<KeyPair, String> {
    let text = read_text(path)?;
    let pair = KeyPair::from_seed(text.trim());
    let pair = pair.map_err(|error| format!("{}: {error}", path.display()))?;
    if pair.public_key().starts_with('O') {
        Ok(pair)
    } else {
        Err(format!(
            "{} holds no operator's seed (SO...)",
            path.display()
        ))
    }
}

/// Whether a file holds a key.
///
/// # Errors
/// Why it does not.
pub(crate) fn is_key(path: &Path) -> Result<(), String> {
    pair(path).map(|_| ())
}

pub(super) fn show_public(path: &Path) -> Result<(), String> {
    say(&pair(path)?.public_key());
    Ok(())
}
