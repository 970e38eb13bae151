use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;

/// Waits until a file is ready for this, at most for this long; whether it is.
pub(crate) fn until_ready(
    fd: BorrowedFd<'_>,
    flags: PollFlags,
    at_most: Duration,
) -> io::Result<bool> {
    unless_interrupted(at_most, |rest| {
        let wait = Timespec {
            tv_sec: i64::try_from(rest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(rest.subsec_nanos()),
        };
        let mut fds = [PollFd::from_borrowed_fd(fd, flags)];
        Ok(poll(&mut fds, Some(&wait))? > 0)
    })
}

/// A signal (a reload, say) ends a wait whatever its handler says: it goes on for the rest.
fn unless_interrupted(
    at_most: Duration,
    mut wait: impl FnMut(Duration) -> io::Result<bool>,
) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        let rest = at_most.saturating_sub(start.elapsed());
        match wait(rest) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted && !rest.is_zero() => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            waited => return waited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_no_event_no_fault_and_no_more_time() {
        let bound = Duration::from_secs(60);
        let mut rests = Vec::new();
        let waited = unless_interrupted(bound, |rest| {
            rests.push(rest);
            if rests.len() < 4 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(true)
        });
        assert!(waited.unwrap());
        assert!(rests.is_sorted_by(|a, b| a >= b) && rests[0] <= bound);
        let ever = |_| Err(io::ErrorKind::Interrupted.into());
        assert!(!unless_interrupted(Duration::ZERO, ever).unwrap());
        let gone = |_| Err(io::ErrorKind::NotFound.into());
        assert!(unless_interrupted(bound, gone).is_err());
    }
}
