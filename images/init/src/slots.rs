//! `frond-slot`: fills the slot that doesn't run, shows and marks slots.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use frond_ota::Keys;
use frond_slot::{Bar, Manifest, Place, Slot, install};

use crate::command_line::CommandLine;
use crate::gate::Look;
use crate::system::USER;
use crate::{disk, marks, tryboot};

const USAGE: &str =
    "usage: frond-slot status | install FILE | offer FILE | fetch URL | confirm | give-up | reboot";
/// What this image is: `board=…`, `version=…` in lines.
const RELEASE: &str = "/etc/frond-release";
/// Who signs images: the threshold, then public keys, one word each.
const KEYS: [&str; 2] = [
    "/etc/frond/image-release.keys",
    "/etc/frond/image-emergency.keys",
];

/// How long a web server may be silent.
const PATIENCE_S: &str = "60";

/// Why a bundle is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Somebody wants just this one.
    Hand,
    /// It was found, and is found again after it was given up.
    Itself,
}

/// Runs the command line.
pub(crate) fn run() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["status"] => status(),
        ["install", path] => take(path, By::Hand),
        ["offer", path] => take(path, By::Itself),
        ["fetch", address] => fetch(address),
        ["confirm"] => running().and_then(confirm),
        ["give-up"] => running().and_then(give_up),
        ["reboot"] => crate::system::ask_for_reboot(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("frond-slot: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The slot that runs.
pub(crate) fn running() -> io::Result<Slot> {
    let slot = CommandLine::read().slot;
    slot.ok_or_else(|| io::Error::other("this system was not started from a slot"))
}

/// Whether the slot that runs was never confirmed, and what was well before it.
pub(crate) fn trial() -> io::Result<Option<Vec<Look>>> {
    let needs = marks::trial(&disk::read_state()?, running()?);
    Ok(needs.map(|needs| {
        let known = Look::ALL.into_iter();
        let known = known.filter(|look| needs.split(' ').any(|need| need == look.name()));
        known.collect()
    }))
}

/// The slot is the one from now on, and nothing older is taken.
pub(crate) fn confirm(slot: Slot) -> io::Result<()> {
    let version = version();
    if !marks::confirm(&mut disk::read_state()?, slot, version) {
        return Ok(());
    }
    if tryboot::running().is_some() {
        tryboot::confirm(slot)?;
    }
    disk::change_state(|state| {
        marks::confirm(state, slot, version);
    })?;
    Ok(())
}

/// Restarts the machine: into the slot that is to be tried, where that takes a word.
pub(crate) fn restart() -> io::Error {
    let is_other = disk::read_state().is_ok_and(|state| {
        tryboot::running().is_some_and(|slot| marks::is_next(&state, slot.other()))
    });
    if is_other {
        return tryboot::restart();
    }
    match rustix::system::reboot(rustix::system::RebootCommand::Restart) {
        Ok(()) => io::Error::other("the machine does not restart"),
        Err(error) => error.into(),
    }
}

/// The slot is not good: the other one starts next.
pub(crate) fn give_up(slot: Slot) -> io::Result<()> {
    let version = version();
    disk::change_state(|state| marks::give_up(state, slot, version))?;
    Ok(())
}

/// What this image is.
pub(crate) fn release(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(RELEASE).unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.split_once('='));
    Some(lines.find(|(key, _)| *key == name)?.1.to_owned())
}

fn version() -> u64 {
    release("version")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

fn status() -> io::Result<()> {
    let state = disk::read_state()?;
    println!("running {} version {}", running()?.name(), version());
    println!("next {}", state.first.name());
    for slot in [Slot::A, Slot::B] {
        println!("{} has {} starts left", slot.name(), state.tries(slot).0);
    }
    for (name, value) in &state.others {
        println!("{name}={value}");
    }
    Ok(())
}

fn keys(path: &str) -> Keys {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut words = text.split_whitespace();
    Keys {
        threshold: words.next().and_then(|it| it.parse().ok()).unwrap_or(0),
        keys: words.map(str::to_owned).collect(),
    }
}

fn take(path: &str, by: By) -> io::Result<()> {
    if path == "-" {
        return fill(&mut io::stdin().lock(), by);
    }
    fill(&mut BufReader::new(File::open(path)?), by)
}

/// From a web server, piece by piece as it comes. Nobody there is believed: what counts are the
/// signatures. What talks to it may do what `frond` may, and nothing else.
fn fetch(address: &str) -> io::Result<()> {
    let mut command = Command::new("/bin/busybox");
    command.args(["wget", "-q", "-T", PATIENCE_S, "-O", "-", address]);
    command.uid(USER).gid(USER).stdin(Stdio::null());
    let mut client = command.stdout(Stdio::piped()).spawn()?;
    let missing = || io::Error::other("no pipe");
    let filled = match client.stdout.take().ok_or_else(missing) {
        Ok(from) => fill(&mut BufReader::new(from), By::Itself),
        Err(error) => Err(error),
    };
    // It has ended, or has nobody to tell any more.
    let status = client.wait()?;
    filled.map_err(|error| io::Error::other(format!("{address}: {error} (wget: {status})")))
}

fn fill(from: &mut impl Read, by: By) -> io::Result<()> {
    let state = disk::read_state()?;
    let running = running()?;
    if marks::trial(&state, running).is_some() {
        // The other one is what the box goes back to.
        return Err(io::Error::other(
            "this slot is on trial: updates wait for its end",
        ));
    }
    let bar = Bar {
        release: keys(KEYS[0]),
        emergency: keys(KEYS[1]),
        board: release("board").unwrap_or_default(),
        // What runs is in force, confirmed or not.
        floor: marks::floor(&state).unwrap_or(0).max(version()),
    };
    let slot = running.other();
    let given_up = match by {
        By::Hand => None,
        By::Itself => marks::given_up(&state, running),
    };
    let mut spare = Spare {
        slot,
        given_up,
        told: 0,
    };
    let manifest = install(from, &bar, &mut spare).map_err(io::Error::other)?;
    let well = Look::ALL.into_iter().filter(|look| look.take().is_ok());
    let well: Vec<&str> = well.map(Look::name).collect();
    disk::change_state(|state| marks::begin(state, slot, manifest.version, &well.join(" ")))?;
    println!(
        "version {} starts next, on trial in {}",
        manifest.version,
        slot.name()
    );
    Ok(())
}

/// The slot that doesn't run.
struct Spare {
    slot: Slot,
    /// A version that is not tried again.
    given_up: Option<u64>,
    /// Percent that were told of.
    told: u64,
}

impl Place for Spare {
    type Target = File;

    fn begin(&mut self, manifest: &Manifest) -> io::Result<()> {
        if self.given_up == Some(manifest.version) {
            let version = manifest.version;
            return Err(io::Error::other(format!(
                "version {version} was given up here: it is only taken by hand (frond-slot install)"
            )));
        }
        println!(
            "version {} ({}) is written",
            manifest.version, manifest.name
        );
        disk::change_state(|state| marks::spoil(state, self.slot)).map(|_| ())
    }

    fn target(&mut self, name: &str) -> io::Result<(File, u64)> {
        let path = disk::wait_for_partition(&format!("{name}_{}", self.slot.letter()))?;
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let bytes = file.seek(SeekFrom::End(0))?;
        Ok((file, bytes))
    }

    fn progress(&mut self, done: u64, whole: u64) {
        let percent = done * 100 / whole.max(1) / 10 * 10;
        if percent > self.told {
            self.told = percent;
            println!("{percent} %");
        }
    }

    fn sync(&mut self, target: &mut File) -> io::Result<()> {
        target.sync_all()?;
        // Read back from the medium, not from memory.
        Ok(rustix::fs::fadvise(
            &*target,
            0,
            None,
            rustix::fs::Advice::DontNeed,
        )?)
    }
}
