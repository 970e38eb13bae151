//! What is said on the console: few words, each with the seconds since the kernel started.

/// Says something on the console.
pub(crate) fn say(text: &str) {
    let up = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let up = up.split(' ').next().unwrap_or("?");
    println!("frond-init: [{up}] {text}");
}

/// Says what went wrong and goes on.
pub(crate) fn grumble<T, E: core::fmt::Display>(what: &str, result: Result<T, E>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            say(&format!("{what}: {error}"));
            None
        }
    }
}
