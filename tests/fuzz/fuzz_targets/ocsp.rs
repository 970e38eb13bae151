//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz ocsp`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sim::fuzz::ocsp(data));
