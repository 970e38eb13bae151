use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{About as _, Error, Outcome, quietly, text_of};

/// Packages of a Debian of any release and architecture, fetched and verified by `apt-get` from
/// where this machine gets its own, without touching what is installed.
#[derive(Debug)]
pub(crate) struct Debian {
    folder: PathBuf,
    architecture: String,
}

/// A fetched package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) path: PathBuf,
}

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

impl Debian {
    /// Of one architecture and release (with its updates and backports), kept in `folder`.
    pub(crate) fn open(folder: &Path, architecture: &str, release: &str) -> Outcome<Self> {
        let this = Self {
            folder: folder.join(format!("{release}-{architecture}")),
            architecture: architecture.to_owned(),
        };
        for name in ["lists/partial", "cache/archives/partial", "packages"] {
            let path = this.folder.join(name);
            std::fs::create_dir_all(&path).about(&path)?;
        }
        let source = source()?;
        let suites = ["", "-updates", "-backports"];
        let lines = suites.map(|suffix| {
            format!("deb [signed-by={KEYRING}] {source} {release}{suffix} main non-free-firmware\n")
        });
        let list = this.folder.join("sources.list");
        if std::fs::read_to_string(&list).ok() != Some(lines.concat()) {
            std::fs::write(&list, lines.concat()).about(&list)?;
            quietly(this.apt("apt-get").args(["update", "-qq"]))?;
        }
        Ok(this)
    }

    /// Fetches packages, each `name` or `name=version` (with `*`), or takes those that were
    /// fetched before.
    pub(crate) fn fetch(&self, wanted: &[String]) -> Outcome<Vec<Package>> {
        let known = self.folder.join("known.json");
        let text = std::fs::read_to_string(&known).unwrap_or_default();
        let mut names: BTreeMap<String, String> = serde_json::from_str(&text).unwrap_or_default();
        let mut all = Vec::new();
        for want in wanted {
            let file = match names.get(want) {
                Some(file) if self.packages().join(file).exists() => file.clone(),
                Some(_) | None => self.fetch_one(want)?,
            };
            all.push(parse(&self.packages().join(&file))?);
            names.insert(want.clone(), file);
        }
        let text = serde_json::to_string_pretty(&names).about(&known)?;
        std::fs::write(&known, text).about(&known)?;
        Ok(all)
    }

    fn fetch_one(&self, want: &str) -> Outcome<String> {
        eprintln!("imager: fetching {want} ({})", self.architecture);
        let new = self.folder.join("new");
        let _ = std::fs::remove_dir_all(&new);
        std::fs::create_dir_all(&new).about(&new)?;
        quietly(
            self.apt("apt-get")
                .args(["download", "-qq", want])
                .current_dir(&new),
        )?;
        let mut entries = std::fs::read_dir(&new).about(&new)?;
        let entry = entries
            .next()
            .ok_or_else(|| Error::new(format!("{want} is not there")))?;
        let name = entry
            .about(&new)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        std::fs::rename(new.join(&name), self.packages().join(&name)).about(&name)?;
        Ok(name)
    }

    /// What an empty package (of a suite: `name/suite`) stands for: the first package whose name
    /// begins so that it depends on.
    pub(crate) fn behind(&self, name: &str, prefix: &str) -> Outcome<String> {
        let mut needed = self.needs(name)?.into_iter();
        let found = needed.find(|it| it.starts_with(prefix));
        found.ok_or_else(|| Error::new(format!("{name} depends on no {prefix}…")))
    }

    /// What a package (of a suite: `name/suite`) depends on.
    pub(crate) fn needs(&self, name: &str) -> Outcome<Vec<String>> {
        let (name, suite) = name.split_once('/').unwrap_or((name, ""));
        let name = name.split('=').next().unwrap_or_default();
        let mut apt = self.apt("apt-cache");
        if !suite.is_empty() {
            apt.args(["-o", &format!("APT::Default-Release={suite}")]);
        }
        let told = text_of(apt.args(["depends", name]))?;
        let needed = told.lines();
        let needed = needed.filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(needed.map(str::to_owned).collect())
    }

    fn packages(&self) -> PathBuf {
        self.folder.join("packages")
    }

    fn apt(&self, program: &str) -> Command {
        let at = |name: &str| self.folder.join(name).display().to_string();
        let options = [
            format!("Dir::Etc::sourcelist={}", at("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Dir::Etc::preferencesparts=/dev/null".to_owned(),
            format!("Dir::State::lists={}", at("lists")),
            "Dir::State::status=/dev/null".to_owned(),
            format!("Dir::Cache={}", at("cache")),
            format!("APT::Architecture={}", self.architecture),
            format!("APT::Architectures::={}", self.architecture),
            "APT::Sandbox::User=".to_owned(),
        ];
        let mut command = Command::new(program);
        for option in options {
            command.args(["-o", &option]);
        }
        command
    }
}

impl Package {
    /// Takes what `patterns` name (paths from `./`, with `*`) out of it, into `to`.
    pub(crate) fn unpack(&self, to: &Path, patterns: &[&str]) -> Outcome<()> {
        std::fs::create_dir_all(to).about(to)?;
        let mut deb = Command::new("dpkg-deb")
            .arg("--fsys-tarfile")
            .arg(&self.path)
            .stdout(Stdio::piped())
            .spawn()
            .about("dpkg-deb")?;
        let mut tar = Command::new("tar");
        tar.args(["x", "--no-same-owner", "--wildcards", "-C"])
            .arg(to)
            .args(patterns);
        let out = deb.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let output = tar.stdin(out).output().about("tar")?;
        let _ = deb.wait();
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(format!("{}: {said}", self.path.display())))
    }
}

/// Where this machine gets its own packages.
fn source() -> Outcome<String> {
    let mut apt = Command::new("apt-get");
    apt.args(["indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)"]);
    let told = text_of(apt.arg("Created-By: Packages"))?;
    let mut lines = told
        .lines()
        .filter_map(|line| line.strip_prefix("Debian Debian "));
    let first = lines.next().map(|it| it.trim_end_matches('/').to_owned());
    first.ok_or_else(|| Error::new("apt-get knows no Debian: this needs one, and apt-get update"))
}

/// From the name of its file, `NAME_VERSION_ARCHITECTURE.deb`.
fn parse(path: &Path) -> Outcome<Package> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut words = file.split('_');
    let (Some(name), Some(version)) = (words.next(), words.next()) else {
        return Err(Error::new(format!("{file} is no package")));
    };
    File::open(path).about(path)?;
    Ok(Package {
        name: name.to_owned(),
        version: version.replace("%3a", ":"),
        path: path.to_path_buf(),
    })
}
