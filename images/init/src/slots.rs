//! `frond-slot`: fills the slot that doesn't run, shows and marks slots.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::process::ExitCode;

use frond_ota::Keys;
use frond_slot::limits::CONFIRMED_TRIES;
use frond_slot::{Bar, BootState, Manifest, Place, Slot, install};

use crate::command_line::CommandLine;
use crate::gate::Look;
use crate::{disk, tryboot};

const USAGE: &str = "usage: frond-slot status | install FILE | confirm | give-up | reboot";
/// What this image is: `board=…`, `version=…` in lines.
const RELEASE: &str = "/etc/frond-release";
/// Who signs images: the threshold, then public keys, one word each.
const KEYS: [&str; 2] = [
    "/etc/frond/image-release.keys",
    "/etc/frond/image-emergency.keys",
];
/// In the boot state: the highest version that was confirmed.
const FLOOR: &str = "FROND_FLOOR";
/// In the boot state: what was well when the trial began.
const NEEDS: &str = "FROND_NEEDS";
/// In the boot state: the version on trial.
const TRIAL: &str = "FROND_TRIAL";

/// Runs the command line.
pub(crate) fn run() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["status"] => status(),
        ["install", "-"] => fill(&mut io::stdin().lock()),
        ["install", path] => File::open(path).and_then(|file| fill(&mut BufReader::new(file))),
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
    let state = disk::read_state()?;
    if !is_on_trial(&state, running()?) {
        return Ok(None);
    }
    let needs = state.others.get(NEEDS).cloned().unwrap_or_default();
    let known = Look::ALL.into_iter();
    let known = known.filter(|look| needs.split(' ').any(|need| need == look.name()));
    Ok(Some(known.collect()))
}

fn is_on_trial(state: &BootState, running: Slot) -> bool {
    state.others.contains_key(TRIAL) && state.first == running
}

/// The slot is the one from now on, and nothing older is taken.
pub(crate) fn confirm(slot: Slot) -> io::Result<()> {
    let version = version();
    let state = disk::read_state()?;
    let floor = number(&state, FLOOR);
    let is_new = state.others.contains_key(TRIAL) || floor.is_none_or(|floor| floor < version);
    let is_full = state.tries(slot).0 == CONFIRMED_TRIES;
    if !is_new && state.first == slot && is_full {
        return Ok(());
    }
    if tryboot::running().is_some() {
        tryboot::confirm(slot)?;
    }
    disk::change_state(|state| {
        state.confirm(slot);
        state.others.remove(TRIAL);
        state.others.remove(NEEDS);
        if is_new {
            let floor = version.max(floor.unwrap_or(0));
            state.others.insert(FLOOR.to_owned(), floor.to_string());
        }
    })?;
    Ok(())
}

/// Restarts the machine: into the slot that is to be tried, where that takes a word.
pub(crate) fn restart() -> io::Error {
    let is_other = disk::read_state().is_ok_and(|state| {
        state.others.contains_key(TRIAL) && Some(state.first.other()) == tryboot::running()
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
    disk::change_state(|state| {
        state.give_up(slot);
        state.others.remove(TRIAL);
        state.others.remove(NEEDS);
    })?;
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

fn number(state: &BootState, name: &str) -> Option<u64> {
    state.others.get(name)?.parse().ok()
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

fn fill(from: &mut impl Read) -> io::Result<()> {
    let state = disk::read_state()?;
    if is_on_trial(&state, running()?) {
        // The other one is what the box goes back to.
        return Err(io::Error::other(
            "this slot is on trial: updates wait for its end",
        ));
    }
    let floor = number(&state, FLOOR).unwrap_or(0);
    let bar = Bar {
        release: keys(KEYS[0]),
        emergency: keys(KEYS[1]),
        board: release("board").unwrap_or_default(),
        // What runs is in force, confirmed or not.
        floor: floor.max(version()),
    };
    let slot = running()?.other();
    let mut spare = Spare { slot, told: 0 };
    let manifest = install(from, &bar, &mut spare).map_err(io::Error::other)?;
    let well = Look::ALL.into_iter().filter(|look| look.take().is_ok());
    let well: Vec<&str> = well.map(Look::name).collect();
    disk::change_state(|state| {
        state.try_slot(slot);
        state
            .others
            .insert(TRIAL.to_owned(), manifest.version.to_string());
        state.others.insert(NEEDS.to_owned(), well.join(" "));
    })?;
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
    /// Percent that were told of.
    told: u64,
}

impl Place for Spare {
    type Target = File;

    fn begin(&mut self, manifest: &Manifest) -> io::Result<()> {
        println!(
            "version {} ({}) is written",
            manifest.version, manifest.name
        );
        disk::change_state(|state| state.spoil(self.slot)).map(|_| ())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_box_goes_back_to_is_not_written_over() {
        let mut state = BootState::default();
        assert!(!is_on_trial(&state, Slot::A));
        state.try_slot(Slot::B);
        state.others.insert(TRIAL.to_owned(), "2".to_owned());
        assert!(is_on_trial(&state, Slot::B));
        // It was given up by the loader: the old one runs, and takes the next.
        assert!(!is_on_trial(&state, Slot::A));
    }
}
