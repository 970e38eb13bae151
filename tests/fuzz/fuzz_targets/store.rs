//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz store`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sim::fuzz::store(data));
