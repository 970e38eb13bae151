//! `cargo run -p imager -- cross TARGET | build BOARD | run BOARD | yocto`

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool that writes files and answers on the terminal"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use imager::{
    Built, Cross, Error, Forward, Machine, Outcome, Place, Profile, Signers, Wanted, build,
    disk_of, generated,
};

/// Builds programs, images and bundles for boards, and starts images under QEMU.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Build frond and frond-hub for another machine
    Cross {
        /// aarch64-unknown-linux-musl, armv7-unknown-linux-musleabihf or x86_64-unknown-linux-musl
        target: String,
        /// Only this package
        #[arg(short, long, value_name = "NAME")]
        package: Vec<String>,
        /// Of the workspace's Cargo.toml
        #[arg(long, default_value = "firmware")]
        profile: String,
    },
    /// Build the image of a board, and the bundle that brings boxes there
    Build(Build),
    /// Write the files of the meta layer that follow from the sources
    Yocto,
    /// Start a board's image under QEMU; it must have been built
    Run {
        /// A file of images/profiles, without .toml
        board: String,
        #[arg(long, default_value_t = 1)]
        version: u64,
        /// Ports of this machine's loopback and of the guest
        #[arg(long, value_name = "HOST:GUEST", default_values = ["4222:4222", "8222:8222"])]
        forward: Vec<String>,
        /// Size of the disk in MiB
        #[arg(long, default_value_t = 1024)]
        disk: u64,
    },
}

#[derive(Debug, Parser)]
struct Build {
    /// A file of images/profiles, without .toml
    board: String,
    /// Rises from one release to the next
    #[arg(long, default_value_t = 1)]
    version: u64,
    /// It may replace newer ones up to this; needs a seed of the emergency keys
    #[arg(long, value_name = "VERSION")]
    downgrade_from: Option<u64>,
    /// File with a seed to sign with (`frond-hub fleet key FILE` makes one)
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Public key of those that boxes believe, instead of those that sign here
    #[arg(long, value_name = "KEY")]
    release: Vec<String>,
    /// Public key of those that boxes believe when it burns
    #[arg(long, value_name = "KEY")]
    emergency: Vec<String>,
    /// Another frond than the one of this workspace
    #[arg(long, value_name = "FILE")]
    frond: Option<PathBuf>,
    /// Leave out the packed image
    #[arg(long)]
    unpacked: bool,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Task::Cross {
            target,
            package,
            profile,
        } => cross(&target, &package, &profile),
        Task::Yocto => yocto(),
        Task::Build(task) => make(&task).map(|_| ()),
        Task::Run {
            board,
            version,
            forward,
            disk,
        } => run(&board, version, &forward, disk),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("imager: {error}");
            ExitCode::FAILURE
        }
    }
}

fn cross(target: &str, packages: &[String], profile: &str) -> Outcome<()> {
    let place = Place::here()?;
    let both = ["frond", "frond-hub"];
    let mut names: Vec<&str> = packages.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.extend(both);
    }
    let folder = Cross::prepare(&place, target)?.build(&names, profile)?;
    for name in names {
        let path = folder.join(name);
        println!("{} {} bytes", path.display(), size(&path)?);
    }
    Ok(())
}

fn yocto() -> Outcome<()> {
    for (path, text) in generated(&Place::here()?)? {
        let written = std::fs::write(&path, text);
        written.map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn make(task: &Build) -> Outcome<Built> {
    let place = Place::here()?;
    let profile = Profile::read(&place, &task.board)?;
    let folder = Cross::prepare(&place, &profile.target)?;
    let mut names = vec!["frond-init"];
    if task.frond.is_none() {
        names.push("frond");
    }
    let folder = folder.build(&names, "firmware")?;
    let wanted = Wanted {
        version: task.version,
        downgrade_from: task.downgrade_from,
        frond: task.frond.clone().unwrap_or_else(|| folder.join("frond")),
        init: folder.join("frond-init"),
        libraries: Vec::new(),
        folder: place.made("out")?,
        is_packed: !task.unpacked,
    };
    let signers = Signers::new(&place, &task.key, &task.release, &task.emergency)?;
    let built = build(&place, &profile, &wanted, &signers)?;
    let files = [
        Some(&built.image),
        built.packed.as_ref(),
        Some(&built.bundle),
    ];
    for path in files.into_iter().flatten() {
        println!("{} {} bytes", path.display(), size(path)?);
    }
    Ok(built)
}

fn run(board: &str, version: u64, forwards: &[String], mib: u64) -> Outcome<()> {
    let place = Place::here()?;
    let profile = Profile::read(&place, board)?;
    let out = place.made("out")?;
    let image = out.join(format!("frond-{board}-{version:04}.img"));
    if !image.exists() {
        let text = format!("cargo run -p imager -- build {board} makes it");
        return Err(Error::new(format!("{}: {text}", image.display())));
    }
    let disk = place
        .made("run")?
        .join(format!("{board}-{version:04}.disk"));
    if !disk.exists() {
        disk_of(&image, &disk, mib)?;
    }
    println!("the disk is {}: remove it to begin anew", disk.display());
    let forwards: Option<Vec<Forward>> = forwards.iter().map(|it| forward(it)).collect();
    let machine = Machine {
        disk: disk.display().to_string(),
        stick: None,
        forwards: forwards.ok_or_else(|| Error::new("a forward is HOST:GUEST"))?,
        clock: None,
        console: None,
        monitor: None,
    };
    let mut child = machine.start(&profile)?;
    let ended = child
        .wait()
        .map_err(|error| Error::new(error.to_string()))?;
    if ended.success() {
        Ok(())
    } else {
        Err(Error::new(format!("QEMU ended: {ended}")))
    }
}

fn forward(text: &str) -> Option<Forward> {
    let (host, guest) = text.split_once(':')?;
    Some(Forward {
        host: host.parse().ok()?,
        guest: guest.parse().ok()?,
    })
}

fn size(path: &std::path::Path) -> Outcome<u64> {
    let data = std::fs::metadata(path);
    let data = data.map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
    Ok(data.len())
}
