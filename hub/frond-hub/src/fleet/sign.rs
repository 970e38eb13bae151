use std::path::{Path, PathBuf};

use frond_ota::limits::BUNDLE_BYTES_MAX;
use frond_ota::{Bundle, Purpose, Sealed, Target};

use super::draft::{self, Checked};
use super::{keys, now_s, read_bytes, read_text, say, write_bytes};

#[derive(Debug, clap::Args)]
pub(super) struct Sign {
    /// The configuration
    config: PathBuf,
    /// A file it includes
    #[arg(long, value_name = "FILE")]
    include: Vec<PathBuf>,
    /// Rises from one bundle to the next [default: seconds since 1970]
    #[arg(long)]
    version: Option<u64>,
    /// device:NAME, group:NAME or all
    #[arg(long = "to", value_name = "WHO", required = true, value_parser = target)]
    targets: Vec<Target>,
    /// Days after which it is not taken any more
    #[arg(long, default_value_t = 30)]
    days: u32,
    /// Seconds in which a box must confirm it, instead of the box's own
    #[arg(long)]
    window: Option<u32>,
    /// It may be older than what boxes have, up to this version; needs the emergency keys
    #[arg(long, value_name = "VERSION")]
    downgrade_from: Option<u64>,
    /// With that: from then on what is newer than this is taken [default: as before]
    #[arg(long, value_name = "VERSION", requires = "downgrade_from")]
    new_floor: Option<u64>,
    /// Who made it
    #[arg(long, default_value = "")]
    by: String,
    /// Why
    #[arg(long, default_value = "")]
    note: String,
    /// A root for boxes that don't know it yet, in order
    #[arg(long, value_name = "FILE")]
    root: Vec<PathBuf>,
    /// Files with seeds
    #[arg(long = "key", value_name = "SEED", required = true)]
    keys: Vec<PathBuf>,
    /// Sign it whatever is wrong with it
    #[arg(long)]
    unchecked: bool,
    /// File for the bundle
    #[arg(long, short)]
    out: PathBuf,
}

fn target(text: &str) -> Result<Target, String> {
    match text.split_once(':') {
        Some(("device", name)) => Ok(Target::Device(name.to_owned())),
        Some(("group", name)) => Ok(Target::Group(name.to_owned())),
        None if text == "all" => Ok(Target::Everyone),
        Some(_) | None => Err("write device:NAME, group:NAME or all".to_owned()),
    }
}

const PARTLY: &str = "not checked: it includes files or uses variables that only the boxes have";

impl Sign {
    pub(super) fn run(&self) -> Result<(), String> {
        let now_s = now_s();
        let mut files = Vec::new();
        for path in &self.include {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            files.push((name.into_owned(), read_text(path)?));
        }
        let version = self
            .version
            .unwrap_or_else(|| u64::try_from(now_s).unwrap_or(1));
        let bundle = Bundle {
            version,
            issued_s: now_s,
            expires_s: now_s + i64::from(self.days) * 86_400,
            targets: self.targets.clone(),
            downgrade_from: self.downgrade_from,
            new_floor: self.new_floor,
            window_s: self.window,
            by: self.by.clone(),
            note: self.note.clone(),
            config: read_text(&self.config)?,
            files,
        };
        bundle.check()?;
        let name = self.config.display().to_string();
        match draft::check(&bundle, &name) {
            Ok(Checked::Whole) => {}
            Ok(Checked::Partly) => say(PARTLY),
            Err(why) if self.unchecked => say(&format!("signed all the same: {why}")),
            Err(why) => return Err(format!("{why}\n(--unchecked signs it all the same)")),
        }
        let roots: Result<Vec<_>, String> =
            self.root.iter().map(|it| keys::read_root(it)).collect();
        let mut sealed = Sealed::new(&bundle, roots?);
        for seed in &self.keys {
            sealed.bundle.sign(Purpose::Bundle, &keys::pair(seed)?);
        }
        let bytes = sealed.encode();
        if bytes.len() > BUNDLE_BYTES_MAX {
            let length = bytes.len();
            return Err(format!(
                "the bundle has {length} bytes, {BUNDLE_BYTES_MAX} are the most"
            ));
        }
        write_bytes(&self.out, &bytes)?;
        say(&format!("version {version}, {}", sealed.digest()));
        Ok(())
    }
}

pub(super) fn cosign(path: &Path, seeds: &[PathBuf]) -> Result<(), String> {
    let mut sealed = read(path)?;
    for seed in seeds {
        sealed.bundle.sign(Purpose::Bundle, &keys::pair(seed)?);
    }
    write_bytes(path, &sealed.encode())
}

pub(super) fn show(path: &Path) -> Result<(), String> {
    let sealed = read(path)?;
    let bundle = sealed.content().ok_or("its content is unknown")?;
    let signers = sealed.bundle.signatures.iter().map(|it| it.key.as_str());
    let signers = signers.collect::<Vec<_>>().join(" ");
    let targets = bundle
        .targets
        .iter()
        .map(shown)
        .collect::<Vec<_>>()
        .join(" ");
    say(&format!(
        "version    {}\ndigest     {}\nfor        {targets}\nby         {}\nnote       {}\n\
         signed by  {signers}\n\n{}",
        bundle.version,
        sealed.digest(),
        bundle.by,
        bundle.note,
        bundle.config
    ));
    Ok(())
}

fn shown(target: &Target) -> String {
    match target {
        Target::Device(name) => format!("device:{name}"),
        Target::Group(name) => format!("group:{name}"),
        Target::Everyone => "all".to_owned(),
    }
}

pub(super) fn read(path: &Path) -> Result<Sealed, String> {
    let sealed = Sealed::decode(&read_bytes(path)?);
    sealed.map_err(|why| format!("{}: {why}", path.display()))
}
