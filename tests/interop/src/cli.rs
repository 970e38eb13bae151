//! The `nats` command-line tool, pointed at one server and at nothing of the person who runs the tests.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::peers::nats_cli;
use crate::server::Server;

/// The tool with these arguments, for one server.
#[must_use]
pub fn nats(server: &Server, args: &[&str]) -> Command {
    let mut command = at_home(server, nats_cli());
    command.args(["--server", &server.url(), "--timeout", "10s"]);
    command.args(args);
    command
}

/// A program that finds its settings in the folder of a server.
#[must_use]
pub fn at_home(server: &Server, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env("HOME", server.dir())
        .env("XDG_CONFIG_HOME", server.dir())
        .env_remove("NATS_URL")
        .env_remove("NATS_CONTEXT")
        .stdin(Stdio::null());
    command
}
