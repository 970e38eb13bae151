//! `frond config …`: on a box with a running frond it is asked, on one without the files are
//! looked at.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use data_encoding::BASE64;
use frond_config::{Ota, Source};
use frond_ota::limits::BUNDLE_BYTES_MAX;
use serde_json::{Value, json};

use super::ask::ask;
use super::asked::Question;
use super::identity::Identity;
use super::offline::Offline;
use super::store::Store;

mod shown;

/// Shows and changes the configuration of this box.
#[derive(Debug, Parser)]
#[command(name = "frond config", bin_name = "frond config")]
struct Cli {
    /// The box's own file, with the ota block
    #[arg(
        short = 'c',
        long,
        value_name = "FILE",
        default_value = "/etc/frond/frond.conf"
    )]
    #[arg(global = true)]
    config: PathBuf,
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what is in force and what is on trial
    Status,
    /// Look whether a bundle would be taken here, and change nothing
    Check { bundle: PathBuf },
    /// Show what a bundle would change
    Diff { bundle: PathBuf },
    /// Try a bundle: it goes back by itself unless it is confirmed in time
    Apply { bundle: PathBuf },
    /// Confirm what is on trial, whatever is not well
    Confirm,
    /// Give up what is on trial; else go back by so many configurations
    Rollback {
        #[arg(default_value_t = 1)]
        steps: u64,
    },
    /// Show what was in force
    History,
    /// Show the key of this box, which is born if need be, and the code that claims it
    Identity,
    /// Go to the rescue configuration
    Rescue {
        /// Make the one in force the rescue configuration instead
        #[arg(long)]
        keep: bool,
    },
}

/// Runs the command line after `frond config`.
pub(crate) fn run() -> ExitCode {
    let words = std::env::args().skip(1);
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match answer(&cli) {
        Ok(answer) if cli.json => say(&answer.to_string()),
        Ok(answer) => say(&shown::text(&cli.command, &answer)),
        Err(why) => {
            if cli.json {
                say(&json!({ "error": why }).to_string());
            } else {
                let _ = writeln!(std::io::stderr(), "frond config: {why}");
            }
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn answer(cli: &Cli) -> Result<Value, String> {
    let ota = read_block(&cli.config)?;
    if let Command::Identity = cli.command {
        let identity = Identity::of(Path::new(&ota.store))?;
        let (key, code) = identity.shown();
        return Ok(json!({ "identity": key, "code": code }));
    }
    let question = question(&cli.command)?;
    let store = Store::new(&ota.store, ota.second.as_deref());
    if let Some(answer) = ask(&store.control(), &question) {
        return answer;
    }
    let question = Question::parse(&question.to_string())?;
    Offline::new(&ota, &cli.config).answer(question)
}

fn question(command: &Command) -> Result<Value, String> {
    let bundle = |what: &str, path: &Path| {
        let bytes = read_bundle(path)?;
        Ok::<_, String>(json!({ "do": what, "bundle": BASE64.encode(&bytes) }))
    };
    Ok(match command {
        Command::Status => json!({ "do": "status" }),
        Command::Check { bundle: path } | Command::Diff { bundle: path } => bundle("check", path)?,
        Command::Apply { bundle: path } => bundle("apply", path)?,
        Command::Confirm => json!({ "do": "confirm" }),
        Command::Rollback { steps } => json!({ "do": "rollback", "steps": steps }),
        Command::History => json!({ "do": "history" }),
        Command::Identity => json!({ "do": "status" }),
        Command::Rescue { keep: false } => json!({ "do": "rescue" }),
        Command::Rescue { keep: true } => json!({ "do": "keep_as_rescue" }),
    })
}

fn read_bundle(path: &Path) -> Result<Vec<u8>, String> {
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(named)?;
    let most = u64::try_from(BUNDLE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(named)?;
    Ok(bytes)
}

fn read_block(path: &Path) -> Result<Ota, String> {
    let loaded = frond_config::load(&path.to_string_lossy(), &Files);
    let loaded = loaded.map_err(|errors| errors.to_string())?;
    loaded.config.ota.ok_or_else(|| {
        format!(
            "{} has no ota block: this box is not changed from elsewhere; see the README",
            path.display()
        )
    })
}

/// Files and environment of this process.
struct Files;

impl Source for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("open {path}: {error}"))
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
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
