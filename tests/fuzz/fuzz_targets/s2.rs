//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz s2`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sim::fuzz::s2(data));
