//! Gives memory back that only the start needed.
//!
//! Reading the configuration, recovering the store and building the node run once, yet the pages
//! of their code stay mapped for as long as the process lives. This crate knows the process's own
//! address space and nothing of Frond.

#![allow(
    clippy::disallowed_methods,
    reason = "the kernel tells of a process in files"
)]

mod mapping;

use std::ffi::c_void;
use std::fs;
use std::io;
use std::ptr;

use mapping::Mapping;

/// Unmaps the program's code and constants until they are used again, and says how many bytes of
/// address space that was.
///
/// The next use of each page brings it from the page cache, or from the file where that has been
/// evicted: what is never used again no longer counts as memory in use.
///
/// # Errors
/// When what the kernel tells of this process cannot be read, or it refuses: nothing is changed then, or
/// only the mappings before the refused one.
pub fn give_back_code() -> io::Result<usize> {
    let program = fs::read_link("/proc/self/exe")?;
    let smaps = fs::read_to_string("/proc/self/smaps")?;
    let mut given = 0;
    for mapping in Mapping::unchanged(&smaps, &program.to_string_lossy()) {
        drop_pages(&mapping)?;
        given += mapping.len();
    }
    Ok(given)
}

#[expect(
    unsafe_code,
    reason = "forgetting pages of a mapping has no safe interface"
)]
fn drop_pages(mapping: &Mapping) -> io::Result<()> {
    let start: *mut c_void = ptr::with_exposed_provenance_mut(mapping.start());
    // SAFETY: the mapping is the program file's, private and not writable, and the kernel has
    // just told that no page of it differs from the file, neither in memory nor in swap: dropping
    // one brings the same bytes back. The program's own mappings are made and written before
    // `main` and never after, so that nothing changes them between.
    unsafe { rustix::mm::madvise(start, mapping.len(), rustix::mm::Advice::LinuxDontNeed) }?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests fail by panicking")]

    use std::fs;

    fn resident_kib() -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("the kernel tells of us");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssFile:"));
        let digits = line.expect("pages of files are told");
        let digits = digits.trim().trim_end_matches(" kB");
        digits.parse().expect("a number of KiB")
    }

    #[test]
    fn code_is_given_back_and_still_runs() {
        let before = resident_kib();
        let given = super::give_back_code().expect("the kernel forgets pages");
        let after = resident_kib();
        assert!(given > 0, "nothing was found");
        assert!(after < before, "{after} KiB resident, {before} before");
    }
}
