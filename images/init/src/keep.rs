//! What is kept from one start to the next: the state and the data partition.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::hound::Hound;
use crate::message::say;
use crate::wait::wait_for;
use crate::{disk, mounts};

/// In the boot state, before a partition's name: it was made, and is never made again.
const MADE: &str = "FROND_MADE_";
/// e2fsck: nothing is left wrong.
const WELL_MAX: i32 = 1;

/// Mounts a partition at `at`: made when it never was, checked and mended when it was. What holds
/// data is never made anew.
///
/// # Errors
/// When it cannot be mended.
pub(crate) fn keep(name: &str, at: &str, hound: &mut Hound) -> io::Result<()> {
    let device = disk::wait_for_partition(name)?;
    let made = format!("{MADE}{}", name.to_uppercase());
    let is_made = disk::read_state()?.others.contains_key(&made);
    if is_made {
        mend(name, &device, hound)?;
    } else if mounts::kept(&device, at).is_ok() {
        // The power went between the first mount and its note.
        return note(made);
    } else {
        say(&format!("{name}: a file system is made"));
        let options = "lazy_itable_init=1,lazy_journal_init=0,nodiscard";
        let words = [
            "-q", "-F", "-t", "ext4", "-m", "1", "-E", options, "-L", name,
        ];
        let status = run("/sbin/mke2fs", &words, &device, hound)?;
        if !status.success() {
            return Err(io::Error::other(format!("{name}: it cannot be made")));
        }
    }
    mounts::kept(&device, at)?;
    if is_made { Ok(()) } else { note(made) }
}

fn note(made: String) -> io::Result<()> {
    disk::change_state(|state| {
        state.others.insert(made, "1".to_owned());
    })?;
    Ok(())
}

/// The journal is played back, and what else can be mended without a question; if that is not
/// enough, with all answers yes.
fn mend(name: &str, device: &Path, hound: &mut Hound) -> io::Result<()> {
    for answer in ["-p", "-y"] {
        let status = run("/sbin/e2fsck", &[answer], device, hound)?;
        match status.code() {
            Some(0) => {
                say(&format!("{name}: clean"));
                return Ok(());
            }
            Some(code) if code <= WELL_MAX => {
                say(&format!("{name}: mended"));
                return Ok(());
            }
            Some(_) | None => say(&format!("{name}: e2fsck {answer}: {status}")),
        }
    }
    Err(io::Error::other(format!("{name}: it cannot be mended")))
}

fn run(program: &str, words: &[&str], device: &Path, hound: &mut Hound) -> io::Result<ExitStatus> {
    let mut child = Command::new(program).args(words).arg(device).spawn()?;
    let ended = wait_for(Duration::MAX, || {
        hound.feed();
        child.try_wait().transpose()
    });
    ended.unwrap_or_else(|| Err(io::Error::other(format!("{program} does not end"))))
}
