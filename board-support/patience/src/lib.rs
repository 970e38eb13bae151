//! Sets how long a hardware watchdog waits, as `watchdog-api.rst` of the kernel has it.
//!
//! This crate knows that one control call and nothing else.

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::ioctl::{Opcode, Updater, opcode};

/// `WDIOC_SETTIMEOUT`, `_IOWR('W', 6, int)`: the driver writes back what it took.
const SET_TIMEOUT: Opcode = opcode::read_write::<c_int>(b'W', 6);

/// Asks the driver to wait for so many whole seconds; what it waits for from now on, which may be
/// another time.
///
/// # Errors
/// The system's: it is no watchdog, or its timeout cannot be set, or not to that.
#[expect(unsafe_code, reason = "a control call has no safe interface anywhere")]
pub fn set_timeout(device: impl AsFd, timeout: Duration) -> io::Result<Duration> {
    let mut seconds = c_int::try_from(timeout.as_secs()).unwrap_or(c_int::MAX);
    // SAFETY: the number is that of `WDIOC_SETTIMEOUT`, whose argument is one `int` that the kernel
    // reads and writes, and `seconds` is one that lives for as long as the call. Any other device
    // refuses the number, as it has the letter and the size of its own in it.
    unsafe { rustix::ioctl::ioctl(device, Updater::<SET_TIMEOUT, c_int>::new(&mut seconds)) }?;
    Ok(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_kernels() {
        // `#define WDIOC_SETTIMEOUT _IOWR(WATCHDOG_IOCTL_BASE, 6, int)`
        assert_eq!(SET_TIMEOUT, 0xc004_5706);
    }

    #[test]
    fn what_is_no_watchdog_says_so() {
        let file = tempfile::tempfile().expect("a file");
        let error = set_timeout(&file, Duration::from_secs(15)).expect_err("it is a file");
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::NOTTY.raw_os_error())
        );
    }
}
