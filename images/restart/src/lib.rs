//! Restarts the machine with a word for its firmware, as `reboot(2)` has it.
//!
//! The Raspberry Pi's starts its other boot partition once when that word is `0 tryboot`. This
//! crate knows the system call and nothing else.

use std::ffi::CStr;
use std::io;

/// Restarts at once: what was not synced is lost. Comes back only with an error.
#[expect(
    unsafe_code,
    reason = "a restart with a word has no safe interface anywhere"
)]
#[must_use]
pub fn restart_with(word: &CStr) -> io::Error {
    // SAFETY: the constants are those that the kernel asks for, and `word` is a text with an end
    // that lives for as long as the call; the kernel copies it and writes nothing.
    unsafe {
        libc::syscall(
            libc::SYS_reboot,
            libc::LINUX_REBOOT_MAGIC1,
            libc::LINUX_REBOOT_MAGIC2,
            libc::LINUX_REBOOT_CMD_RESTART2,
            word.as_ptr(),
        );
    }
    io::Error::last_os_error()
}
