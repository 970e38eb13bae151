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

/// Unmaps the program's code until it is run again, and says how many bytes of address space
/// that was.
///
/// The next instruction of each page comes from the page cache, or from the file where that has
/// been evicted: what is never run again no longer counts as memory in use.
///
/// # Errors
/// When the list of mappings cannot be read, or the kernel refuses: nothing is changed then, or
/// only the mappings before the refused one.
pub fn give_back_code() -> io::Result<usize> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let mut given = 0;
    for code in maps
        .lines()
        .filter_map(Mapping::parse)
        .filter(Mapping::is_code)
    {
        drop_pages(&code)?;
        given += code.len();
    }
    Ok(given)
}

#[expect(
    unsafe_code,
    reason = "forgetting pages of a mapping has no safe interface"
)]
fn drop_pages(code: &Mapping) -> io::Result<()> {
    let start: *mut c_void = ptr::with_exposed_provenance_mut(code.start());
    // SAFETY: the mapping is a file's, private, executable and never writable, so that no page
    // of it was ever changed: dropping one brings the same bytes back from the file.
    unsafe { rustix::mm::madvise(start, code.len(), rustix::mm::Advice::LinuxDontNeed) }?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests fail by panicking")]

    use std::fs;

    fn resident_code_kib() -> u64 {
        let maps = fs::read_to_string("/proc/self/smaps").expect("the kernel tells its mappings");
        let mut is_code = false;
        let mut sum = 0;
        for line in maps.lines() {
            if let Some(mapping) = super::Mapping::parse(line) {
                is_code = mapping.is_code();
            } else if let Some(rss) = line.strip_prefix("Rss:").filter(|_| is_code) {
                let digits = rss.trim().trim_end_matches(" kB");
                sum += digits.parse::<u64>().expect("a number of KiB");
            }
        }
        sum
    }

    #[test]
    fn code_is_given_back_and_still_runs() {
        let before = resident_code_kib();
        let given = super::give_back_code().expect("the kernel forgets pages");
        let after = resident_code_kib();
        assert!(given > 0, "no code was found");
        assert!(after < before, "{after} KiB resident, {before} before");
    }
}
