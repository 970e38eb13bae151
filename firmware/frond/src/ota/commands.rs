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
    if !path.exists() {
        let path = path.display();
        return Err(format!(
            "there is no {path}: name the box's own file with -c"
        ));
    }
    let name = path.to_string_lossy();
    let loaded = frond_config::load(&name, &Files);
    // The passwords of the file are for the server; here only the block counts.
    let ota = match loaded {
        Ok(loaded) => loaded.config.ota,
        Err(errors) => {
            let without = frond_config::load(&name, &Blanks).ok();
            let ota = without.and_then(|loaded| loaded.config.ota);
            let is_whole = |ota: &Ota| !format!("{} {:?}", ota.store, ota.second).contains(BLANK);
            Some(ota.filter(is_whole).ok_or_else(|| errors.to_string())?)
        }
    };
    ota.ok_or_else(|| {
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

/// The same where a variable that is not set has a value of no meaning.
struct Blanks;

const BLANK: &str = "variable_that_is_not_set";

impl Source for Blanks {
    fn read(&self, path: &str) -> Result<String, String> {
        Files.read(path)
    }

    fn env(&self, name: &str) -> Option<String> {
        Files.env(name).or_else(|| Some(BLANK.to_owned()))
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

    const KEY: &str = "OBRVK7ZS63QZDELBDVPX52RGQAC4LQZPNLYGIBAKKCZZB63A5LDM5XXQ";

    #[test]
    fn a_box_is_asked_without_the_passwords_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("box.conf");
        let said = read_block(&path).unwrap_err();
        assert!(said.contains("with -c"), "{said}");
        let file = |store: &str| {
            let text = format!(
                "server_name: d\njetstream {{}}\nota {{ store: {store}, device: d, user: u, \
                 password: $A_WORD_OF_NOBODY\ntrust {{ root {{ keys: [{KEY}] }}, \
                 release {{ keys: [{KEY}] }} }} }}"
            );
            std::fs::write(&path, text).unwrap();
            read_block(&path)
        };
        let said = file("$A_PLACE_OF_NOBODY").unwrap_err();
        assert!(said.contains("A_PLACE_OF_NOBODY"), "{said}");
        assert_eq!(file("/x").unwrap().store, "/x");
    }
}
