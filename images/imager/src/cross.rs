use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::debian::Debian;
use crate::error::{About as _, Error, Outcome, openly, quietly, text_of};
use crate::place::Place;
use crate::tools::need;

/// Builds for other machines with what `cargo`, `pip` and `apt-get` have: the standard library from
/// Debian's sources of the very compiler that is here, linked by zig.
#[derive(Debug)]
pub struct Cross {
    place: Place,
    target: String,
    zig: PathBuf,
    library: PathBuf,
}

/// What can be built for.
pub const TARGETS: [&str; 3] = [
    "aarch64-unknown-linux-musl",
    "armv7-unknown-linux-musleabihf",
    "x86_64-unknown-linux-musl",
];
/// The release of Debian whose backports have the sources.
const RELEASE: &str = "trixie";
const ZIG: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];
/// Whatever the folders are called here, they are called that in what is built.
const CALLED: [&str; 3] = ["/frond", "/cargo", "/rust"];

impl Cross {
    /// Makes sure of everything that is needed; the first time this takes a minute or two.
    ///
    /// # Errors
    /// What is missing.
    pub fn prepare(place: &Place, target: &str) -> Outcome<Self> {
        if !TARGETS.contains(&target) {
            return Err(Error::new(format!(
                "{target}: one of {}",
                TARGETS.join(", ")
            )));
        }
        need(&[("/usr/bin/xz", "xz-utils"), ("/usr/bin/gcc", "gcc")])?;
        let _alone = place.alone()?;
        let zig = zig(place)?;
        let library = library(place, target, &zig)?;
        Ok(Self {
            place: place.clone(),
            target: target.to_owned(),
            zig,
            library,
        })
    }

    /// Builds packages with a profile; where their binaries are.
    ///
    /// # Errors
    /// When cargo fails; it has said why.
    pub fn build(&self, packages: &[&str], profile: &str) -> Outcome<PathBuf> {
        let start = Instant::now();
        let made = self.place.made("cross")?;
        let mut cargo = cargo(&self.zig);
        cargo.current_dir(self.place.sources());
        cargo.args(["zigbuild", "--quiet", "--locked", "--profile", profile]);
        cargo.args(["--target", &self.target]);
        for package in packages {
            cargo.args(["-p", package]);
        }
        let variable = format!(
            "CARGO_TARGET_{}_RUSTFLAGS",
            self.target.to_uppercase().replace('-', "_")
        );
        cargo
            .env(variable, self.flags()?)
            .env("CARGO_TARGET_DIR", &made);
        openly(&mut cargo)?;
        eprintln!(
            "imager: {} built in {:.0?}",
            packages.join(", "),
            start.elapsed()
        );
        Ok(made.join(&self.target).join(profile))
    }

    fn flags(&self) -> Outcome<String> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        let sources = self.place.sources().canonicalize().about("the sources")?;
        let folders = [sources, home.unwrap_or_default(), self.library.clone()];
        let mut flags = format!(
            "--sysroot {} -Clink-self-contained=no",
            self.library.display()
        );
        for (folder, called) in folders.iter().zip(CALLED) {
            flags.push_str(&format!(
                " --remap-path-prefix={}={called}",
                folder.display()
            ));
        }
        Ok(flags)
    }
}

/// zig, from PyPI.
fn zig(place: &Place) -> Outcome<PathBuf> {
    let folder = place.made("zig")?;
    let bin = folder.join("venv/bin");
    let done = folder.join("done");
    if std::fs::read_to_string(&done).ok() != Some(ZIG.join(" ")) {
        eprintln!("imager: fetching {}", ZIG.join(" and "));
        quietly(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(folder.join("venv")),
        )?;
        quietly(
            Command::new(bin.join("pip"))
                .args(["install", "--quiet"])
                .args(ZIG),
        )?;
        std::fs::write(&done, ZIG.join(" ")).about(&done)?;
    }
    Ok(bin)
}

fn cargo(zig: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    let path = std::env::var("PATH").unwrap_or_default();
    cargo.env("PATH", format!("{}:{path}", zig.display()));
    // What a surrounding cargo told us is not for this one.
    for name in [
        "CARGO",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(name);
    }
    cargo
}

/// The standard library, built once for each compiler and target.
fn library(place: &Place, target: &str, zig: &Path) -> Outcome<PathBuf> {
    let sources = place.sources();
    let told = text_of(Command::new("rustc").arg("-vV").current_dir(sources))?;
    let mut lines = told
        .lines()
        .filter_map(|line| line.strip_prefix("release: "));
    let release = lines
        .next()
        .ok_or_else(|| Error::new("rustc tells no release"))?;
    let home = place.made(&format!("library/{release}"))?;
    let folder = home.join(format!("lib/rustlib/{target}/lib"));
    if folder.join("done").exists() {
        return Ok(home);
    }
    let debian = Debian::open(&place.made("debian")?, "amd64", RELEASE)?;
    let fetched = debian.fetch(&[format!("rust-src={release}+dfsg*")])?;
    let unpacked = place.made_anew("library/sources")?;
    for package in &fetched {
        package.unpack(&unpacked, &["./usr/src/rustc-*/library/*"])?;
    }
    eprintln!("imager: building the standard library {release} for {target}");
    let made = place.made_anew("library/build")?;
    let rust = unpacked.join(format!("usr/src/rustc-{release}"));
    let mut cargo = cargo(zig);
    cargo.args([
        "zigbuild",
        "--quiet",
        "--release",
        "--locked",
        "--target",
        target,
    ]);
    cargo.args(["--features", "panic-unwind,backtrace", "--manifest-path"]);
    cargo
        .arg(rust.join("library/sysroot/Cargo.toml"))
        .current_dir(sources);
    cargo
        .env("CARGO_TARGET_DIR", &made)
        .env("RUSTC_BOOTSTRAP", "1");
    // In its debug information and in the texts of its panics.
    let remap = format!("--remap-path-prefix={}=/rust", rust.display());
    let flags = format!("-Zforce-unstable-if-unmarked -Cembed-bitcode=yes {remap}");
    openly(cargo.env("RUSTFLAGS", flags))?;
    std::fs::create_dir_all(&folder).about(&folder)?;
    let deps = made.join(target).join("release/deps");
    for entry in std::fs::read_dir(&deps)
        .about(&deps)?
        .filter_map(Result::ok)
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libsysroot-") {
            std::fs::copy(entry.path(), folder.join(&name)).about(&name)?;
        }
    }
    for name in ["library/sources", "library/build"] {
        place.made_anew(name)?;
    }
    std::fs::write(folder.join("done"), release).about(&folder)?;
    Ok(home)
}
