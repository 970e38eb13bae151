//! The first process of an image, and the tool for its slots.
//!
//! One program under four names: `init` of the initial file system finds the root and checks it
//! block by block, `init` of the root mounts the rest and keeps `frond` running, `frond-slot`
//! fills and marks slots, and `frond-lease` is what the DHCP client calls. It knows nothing of
//! messages: how `frond` is doing it learns as any service manager would.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the first process has a clock, files, threads and a console"
)]

mod command_line;
mod devices;
mod disk;
mod early;
mod gate;
mod hound;
mod keep;
mod lease;
mod logs;
mod marks;
mod message;
mod modules;
mod mounts;
mod probe;
mod processes;
mod service;
mod slots;
mod stick;
mod system;
mod trial;
mod tryboot;
mod wait;
mod web;
mod wires;

use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args().next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    match name {
        "frond-slot" => slots::run(),
        "frond-lease" => lease::run(),
        _ if std::process::id() != 1 => {
            eprintln!("{name}: this is the first process of an image; see frond-slot");
            ExitCode::FAILURE
        }
        "init" if early::is_initial() => early::run(),
        _ => system::run(),
    }
}
