use std::io::Write as _;
use std::process::ExitCode;

use clap::CommandFactory;
use frond_config::Ota;
use frond_node::{LinkMakers, Node};

use crate::attend::{Attendance, Part};
use crate::check;
use crate::cli::{CLUSTER_FLAGS, Cli};
use crate::clock::Clock;
use crate::files::program;
use crate::limits::{SIDE_THREADS_MAX, SIDE_THREADS_NICE};
use crate::log::{FATAL, Log};
use crate::options::Options;
use crate::reload::detail;
use crate::server::Server;
use crate::signals;
use crate::steward::{Hands, Steward, Text, Took};

mod stewarded;

/// What tells one binary from another: its name, and the kinds of peers it knows.
#[derive(Debug)]
pub struct Product {
    /// `frond` or `frond-hub`.
    pub name: &'static str,
    /// What else it does, when its first argument is another: lines for `--help`.
    pub commands: &'static str,
    /// The links it can make.
    pub links: fn() -> LinkMakers,
    /// Who looks after the configuration, given the block that says how; `None`: nobody can.
    pub steward: Option<StewardMaker>,
    /// Who stands beside the server; `None`: nobody.
    pub attend: Option<Attendance>,
}

impl Product {
    /// Whether that stands beside its server.
    pub(crate) fn attends(&self, part: Part) -> bool {
        self.attend.is_some_and(|it| it.part == part)
    }
}

/// Makes who looks after the configuration.
pub type StewardMaker = fn(&Ota) -> Box<dyn Steward>;

/// Runs the program until it ends.
#[must_use]
pub fn run(product: &Product) -> ExitCode {
    match try_run(product) {
        Ok(()) => ExitCode::SUCCESS,
        // Said on the log already.
        Err(why) if why.is_empty() => ExitCode::FAILURE,
        Err(why) => {
            eprint(&format!("{}: {why}", program()));
            ExitCode::FAILURE
        }
    }
}

fn try_run(product: &Product) -> Result<(), String> {
    let cli = Cli::parse_from_process()?;
    let bare = is_bare(&cli, &program());
    if cli.help {
        print(&help(product));
        return Ok(());
    }
    if cli.version {
        print(&format!(
            "{}: v{} (Frond {})",
            program(),
            frond_node::VERSION,
            env!("CARGO_PKG_VERSION")
        ));
        return Ok(());
    }
    if let Some(spec) = &cli.signal {
        return signals::send(spec, &program());
    }
    let read = |text: &Text| {
        let options = Options::read(&cli, bare, text).map_err(|error| error.to_string())?;
        check::abilities(product, &options.config)?;
        Ok(options)
    };
    if cli.test == Some(true) && cli.config.is_none() {
        return Err(
            "must specify [-c, --config] option to check configuration file syntax".to_owned(),
        );
    }
    let options = read(&Text::Own)?;
    let seed = check::seed(product, &options.config)?;
    let steward = steward(product, &options)?;
    if cli.test == Some(true) {
        // What a start finds wrong later, a check says now.
        Node::build(Clock::start(None, Vec::new()).now(), &options.config, seed)?;
        return tell_valid(&options);
    }
    match steward {
        Some(steward) => stewarded::serve_looked_after(product, steward, &read),
        None => serve(product, options, None, &read).map(|_| ()),
    }
}

/// Who looks after the configuration, if the file wants that.
fn steward(product: &Product, options: &Options) -> Result<Option<Box<dyn Steward>>, String> {
    match (&options.config.ota, product.steward) {
        (None, _) => Ok(None),
        (Some(ota), Some(make)) => Ok(Some(make(ota))),
        (Some(_), None) => {
            let text = format!(
                "{} changes its own configuration by nobody: remove ota",
                product.name
            );
            Err(options.config.wrong(&["ota"], text).to_string())
        }
    }
}

/// A start without any wish; under the name of nats-server it is a start of that, on all
/// addresses and without JetStream.
fn is_bare(cli: &Cli, program: &str) -> bool {
    cli.is_plain() && program != "nats-server"
}

/// What it takes; flags for peers that it does not know are not among them.
fn help(product: &Product) -> String {
    let has_cluster = (product.links)().cluster.is_some();
    let mut command = Cli::command().name(product.name).about(about(product));
    if !has_cluster {
        command = command.mut_args(|flag| {
            let is_hidden = flag.get_help_heading() == Some(CLUSTER_FLAGS);
            flag.hide(is_hidden)
        });
    }
    let after = command.get_after_help().map(ToString::to_string);
    let after = format!("{}\n\n{}", product.commands, after.unwrap_or_default());
    command.after_help(after).render_help().to_string()
}

fn about(product: &Product) -> String {
    format!(
        "{}: a NATS server for the edge. An ack means the disk has the message.",
        product.name
    )
}

/// `-t`: nats-server fails a mere check on warnings.
fn tell_valid(options: &Options) -> Result<(), String> {
    if let Some(warning) = options.warnings.first() {
        return Err(warning.to_string());
    }
    let path = options
        .path
        .as_ref()
        .map(|path| path.display().to_string())
        .unwrap_or_default();
    for note in &options.notes {
        eprint(&format!("{}: {note}", program()));
    }
    // A start goes on without them, as nats-server's, and this is what it says.
    for text in check::missing_credentials(&options.config) {
        eprint(&format!("{}: {text}", program()));
    }
    eprint(&format!(
        "{}: configuration file {path} is valid ({})",
        program(),
        options.digest
    ));
    Ok(())
}

/// Runs a server to its end; whether it is to start anew.
fn serve(
    product: &Product,
    mut options: Options,
    steward: Option<(&mut dyn Steward, Text)>,
    reread: &dyn Fn(&Text) -> Result<Options, String>,
) -> Result<Took, String> {
    let log =
        Log::start(&options.config.log, detail(&options)).map_err(|error| {
            match &options.config.log.file {
                Some(file) => format!("log file {file}: {error}"),
                None => format!("syslog: {error}"),
            }
        })?;
    abort_on_panic();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(SIDE_THREADS_MAX)
        .on_thread_start(|| {
            // Linux counts it for each thread; who may not has threads like any other.
            let _ = rustix::process::nice(SIDE_THREADS_NICE);
        })
        .thread_stack_size(256 * 1024)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let local = tokio::task::LocalSet::new();
    let ended = local.block_on(&runtime, async {
        let server = Server::start(product, &options).await?;
        let mut hands = Hands {
            product,
            options: &mut options,
            log: &log,
            reread,
        };
        Ok(server.run(&mut hands, steward).await)
    });
    if let Err(why) = &ended {
        let why: &String = why;
        tracing::error!(target: FATAL, "{why}");
        // The reason is on the log; a log file alone would leave a terminal dark.
        if options.config.log.file.is_none() {
            return Err(String::new());
        }
    }
    ended
}

/// A defect ends the process, so that a supervisor starts it anew from the disk; a half-changed
/// node must not go on. The store catches what redb does with a damaged file, on its own threads
/// and while it opens, and goes on without that file.
fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let in_redb = panic
            .location()
            .is_some_and(|at| at.file().contains("/redb-"));
        if !in_redb {
            report(panic);
            std::process::abort();
        }
    }));
}

/// What was asked for on the command line. A reader that has seen enough is no fault.
fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}

/// The last words of a program without a log.
fn eprint(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;
    use clap::Parser as _;

    #[test]
    fn in_the_place_of_nats_server_its_defaults_apply() {
        let words = |line: &str| {
            let words = line.split(' ').map(ToOwned::to_owned);
            Cli::try_parse_from(args::normalise(words).unwrap()).unwrap()
        };
        for line in [
            "frond",
            "frond -D",
            "frond --name till --log /x --trace=true",
        ] {
            assert!(is_bare(&words(line), "frond"), "{line}");
            assert!(!is_bare(&words(line), "nats-server"), "{line}");
        }
        for line in [
            "frond -p 4222",
            "frond -D --jetstream=false",
            "frond --routes nats://a:1",
        ] {
            assert!(!is_bare(&words(line), "frond"), "{line}");
        }
    }
}
