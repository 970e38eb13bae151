//! `frond-hub fleet …`: those who sign configurations, and the way to the boxes.

#![expect(
    clippy::disallowed_methods,
    reason = "a command line reads files and the clock"
)]

mod bucket;
mod claim;
mod course;
mod draft;
mod files;
mod host;
mod keys;
mod list;
mod progress;
mod publish;
mod rollout;
mod serve;
mod sign;

pub(crate) use course::is_served;
pub(crate) use host::Host;
pub(crate) use keys::is_key;

use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Parser, Subcommand};
use frond_clock::{Instant, Now, Timestamp};
use frond_config::{HandshakeFirst, OtaLogin, Secret, Tls};
use frond_runtime::Caller;

use files::{read_bytes, read_text, write_bytes};

/// Signs configurations and brings them to the boxes.
#[derive(Debug, Parser)]
#[command(name = "frond-hub fleet", bin_name = "frond-hub fleet")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key and write its seed to a file; its public half is shown
    Key(keys::New),
    /// Show the public half of a seed
    Public {
        /// File with a seed
        seed: PathBuf,
    },
    /// Show the trust block for the boxes' own files
    Trust(keys::Trust),
    /// Name other keys: a root that follows the one in force
    Rotate(keys::Rotate),
    /// Make a bundle of a configuration and sign it
    Sign(sign::Sign),
    /// Add a signature to a bundle
    Cosign {
        /// The bundle
        bundle: PathBuf,
        /// Files with seeds
        #[arg(long = "key", value_name = "SEED", required = true)]
        keys: Vec<PathBuf>,
    },
    /// Show what a bundle says; its signatures are not judged
    Show {
        /// The bundle
        bundle: PathBuf,
    },
    /// Bring a bundle to all it is for, at once
    Publish(publish::Publish),
    /// Bring a bundle to boxes in waves, and stop when too many fail
    Rollout(rollout::Rollout),
    /// Show how a rollout goes
    Status(rollout::Watch),
    /// Tell no further box for now
    Pause(rollout::Change),
    /// Go on with a rollout that is paused, or that nobody drives any more
    Resume(rollout::Change),
    /// Tell no further box, and take back what was not read yet
    Abort(rollout::Change),
    /// Show the boxes
    List(list::List),
    /// Take a box for one's own, by the code that its status page shows
    Claim(claim::Claim),
    /// Take a box off the list
    Forget(list::Forget),
    /// Serve the fleet to other programs at a hub that does not by itself
    Serve(serve::Serve),
}

/// Where the boxes' hub is.
#[derive(Debug, clap::Args)]
struct Hub {
    /// Any NATS server of the hub
    #[arg(long, value_name = "URL", default_value = "nats://127.0.0.1:4222")]
    server: String,
    /// As whom
    #[arg(long)]
    user: Option<String>,
    /// File with the user's password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// File with the seed of the user's nkey
    #[arg(long, value_name = "FILE")]
    nkey: Option<PathBuf>,
    /// File with the user's JWT and seed
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,
    /// Who may have signed the server's certificate [default: whoever the system trusts]
    #[arg(long, value_name = "FILE")]
    tlsca: Option<PathBuf>,
    /// Certificate to show to the server
    #[arg(long, value_name = "FILE", requires = "tlskey")]
    tlscert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tlscert")]
    tlskey: Option<PathBuf>,
    /// The server wants TLS before it says anything
    #[arg(long)]
    tlsfirst: bool,
    /// Bucket that boxes follow
    #[arg(long, default_value = "FROND_CONFIG")]
    bucket: String,
    /// Bucket in which boxes say how they are
    #[arg(long, default_value = "FROND_FLEET")]
    registry: String,
    /// Bucket in which rollouts are kept
    #[arg(long, default_value = "FROND_ROLLOUT")]
    rollouts: String,
    /// Seconds after which a box that says nothing is silent
    #[arg(long, default_value_t = frond_fleet::limits::SILENT_SECONDS)]
    silent: i64,
    /// File with the seed by which it is signed that boxes on trial reached the hub, while this
    /// command drives a rollout or serves
    #[arg(long, value_name = "SEED")]
    confirm_key: Option<PathBuf>,
}

/// The buckets, and when a box is silent.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) bucket: String,
    pub(crate) registry: String,
    pub(crate) rollouts: String,
    pub(crate) silent_s: i64,
    /// File with the seed by which it is signed that boxes on trial reached the hub.
    pub(crate) confirm_key: Option<PathBuf>,
}

impl Places {
    /// Makes the buckets that are not there.
    fn make(&self, caller: &mut Caller) -> Result<(), String> {
        bucket::make(caller, &self.bucket, "configurations for the boxes")?;
        bucket::make(caller, &self.registry, "how the boxes are")?;
        bucket::make(caller, &self.rollouts, "how rollouts go")
    }
}

impl Hub {
    fn places(&self) -> Places {
        Places {
            bucket: self.bucket.clone(),
            registry: self.registry.clone(),
            rollouts: self.rollouts.clone(),
            silent_s: self.silent,
            confirm_key: self.confirm_key.clone(),
        }
    }

    fn connect(&self) -> Result<Caller, String> {
        self.connect_as(&OtaLogin {
            user: self.user.clone(),
            password: secret(self.password_file.as_deref())?,
            token: None,
            nkey: secret(self.nkey.as_deref())?,
            credentials: self.creds.as_deref().map(shown),
        })
    }

    fn connect_as(&self, login: &OtaLogin) -> Result<Caller, String> {
        Caller::connect(&self.server, login, &self.tls())
    }

    fn tls(&self) -> Tls {
        let mut tls = match self.tlscert.as_deref().zip(self.tlskey.as_deref()) {
            Some((cert, key)) => Tls::from_flags(&shown(cert), &shown(key), None, false),
            None => Tls::default(),
        };
        tls.ca_file = self.tlsca.as_deref().map(shown);
        if self.tlsfirst {
            tls.handshake_first = HandshakeFirst::Yes;
        }
        tls
    }
}

/// Runs the command line after `frond-hub fleet`.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse_from(std::env::args().skip(1)) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let done = match &cli.command {
        Command::Key(new) => new.run(),
        Command::Public { seed } => keys::show_public(seed),
        Command::Trust(trust) => trust.run(),
        Command::Rotate(rotate) => rotate.run(),
        Command::Sign(sign) => sign.run(),
        Command::Cosign { bundle, keys } => sign::cosign(bundle, keys),
        Command::Show { bundle } => sign::show(bundle),
        Command::Publish(publish) => publish.run(),
        Command::Rollout(rollout) => rollout.run(),
        Command::Status(watch) => watch.run(),
        Command::Pause(change) => change.pause(),
        Command::Resume(change) => change.resume(),
        Command::Abort(change) => change.abort(),
        Command::List(list) => list.run(),
        Command::Claim(claim) => claim.run(),
        Command::Forget(forget) => forget.run(),
        Command::Serve(serve) => serve.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "frond-hub fleet: {why}");
            ExitCode::FAILURE
        }
    }
}

/// What a file has, when there is one.
fn secret(path: Option<&Path>) -> Result<Option<Secret>, String> {
    let text = path.map(read_text).transpose()?;
    Ok(text.map(|text| Secret::new(text.trim().to_owned())))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn now() -> Now {
    Now {
        mono: Instant::START,
        wall: Timestamp::from_nanos(now_s() * 1_000_000_000),
    }
}

/// Seconds since 1970.
fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_commands_fit_together() {
        Cli::command().debug_assert();
    }
}
