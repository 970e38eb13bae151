//! The only crate with tokio: sockets, timers, the disk thread, HTTP, signals.
