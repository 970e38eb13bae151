use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use frond_config::{Appliance as Options, Config};
use frond_field::{Condition, Setup, Shown};
use frond_linux::{Board, Notice, Roots, notify, notify_watchdog_interval};

use crate::desk::{Desk, Place};
use crate::limits::PATIENCE;
use crate::opening::Opening;
use crate::troubles::Trouble;

/// The way to the broker from within the process.
pub type Connect = Arc<dyn Fn() -> io::Result<UnixStream> + Send + Sync>;

/// Hears what the sensors last said, and what cannot be used, now and then.
pub type Tell = Arc<dyn Fn(Vec<Shown>, Vec<Trouble>) + Send + Sync>;

/// Sets the rescue configuration in force; why not, if it cannot be.
pub type Rescue = Arc<dyn Fn() -> Result<String, String> + Send + Sync>;

/// What the field side knows of the process that it is a part of.
#[derive(Clone)]
pub struct Around {
    /// The way to the broker.
    pub connect: Connect,
    /// Who hears of the sensors.
    pub tell: Tell,
    /// What a button that is held does.
    pub rescue: Rescue,
}

/// The field side for as long as the server lives.
pub struct Appliance {
    opening: Option<Opening>,
    around: Option<Around>,
    /// What is in force, and who serves it.
    running: Option<(Running, Desk)>,
}

/// What the desk was made of.
#[derive(Clone, Debug, PartialEq)]
struct Running {
    options: Options,
    has_streams: bool,
}

impl std::fmt::Debug for Around {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Around").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Appliance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let running = self.running.as_ref().map(|(running, _)| running);
        f.debug_struct("Appliance")
            .field("running", &running)
            .finish_non_exhaustive()
    }
}

/// Whether the block can be served: the board it names is known.
///
/// # Errors
/// What is wrong, with the place in the file.
pub fn check(config: &Config) -> Result<(), String> {
    let options = config.appliance.as_ref();
    options
        .map_or(Ok(()), |options| board(options).map(drop))
        .map_err(|why| config.wrong(&["appliance"], why).to_string())
}

fn board(options: &Options) -> Result<Board, String> {
    match &options.board {
        Some(name) => Board::find(name).map_err(|error| error.to_string()),
        None => Ok(Board::default()),
    }
}

impl Appliance {
    /// The server begins to open its data.
    #[must_use]
    pub fn begin() -> Self {
        Self {
            opening: Opening::begin(),
            around: None,
            running: None,
        }
    }

    /// The server serves.
    pub fn ready(&mut self, config: &Config, around: Around) {
        self.opening = None;
        tell(Notice::Ready);
        self.around = Some(around);
        self.run(config);
    }

    /// The options in force. A block that changed begins anew: outputs go to their safe state in
    /// between.
    pub fn options(&mut self, config: &Config) {
        let wanted = wanted(config);
        if self.running.as_ref().map(|(running, _)| running) != wanted.as_ref() {
            self.stop();
            self.run(config);
        }
    }

    /// How the server is, told by its own thread.
    pub fn condition(&mut self, condition: Condition) {
        match &self.running {
            Some((_, desk)) => desk.condition(condition),
            // Without a field side nobody probes; that this is told is all there is.
            None if notify_watchdog_interval().is_some() => tell(Notice::Alive),
            None => {}
        }
    }

    /// The server ends: this returns when outputs are safe and the watchdog sleeps.
    pub fn stopping(&mut self) {
        tell(Notice::Stopping);
        self.stop();
    }

    fn run(&mut self, config: &Config) {
        let (Some(running), Some(around)) = (wanted(config), self.around.clone()) else {
            return;
        };
        let options = &running.options;
        // It was checked before.
        let board = board(options).unwrap_or_default();
        let roots = Roots {
            sys: options.sys.clone().into(),
            dev: options.dev.clone().into(),
        };
        let place = Place { roots, board };
        let setup = Setup {
            probe_every: probe_every(options),
            patience: PATIENCE,
            has_streams: running.has_streams,
            token: token(),
            options: options.clone(),
        };
        match Desk::start(setup, place, around) {
            Ok(desk) => self.running = Some((running, desk)),
            Err(error) => tracing::error!("the field side does not start: {error}"),
        }
    }

    fn stop(&mut self) {
        if let Some((_, desk)) = self.running.take() {
            desk.stop();
            if let Some(around) = &self.around {
                (around.tell)(Vec::new(), Vec::new());
            }
        }
    }
}

fn wanted(config: &Config) -> Option<Running> {
    let options = config.appliance.clone()?;
    Some(Running {
        options,
        has_streams: config.jetstream.enabled,
    })
}

/// A word of chance: the standard library's keys are.
fn token() -> String {
    let number = RandomState::new().build_hasher().finish();
    format!("{number:x}")
}

/// As often as is asked for, and three times before the service manager loses patience.
fn probe_every(options: &Options) -> Option<Duration> {
    let own = options.watchdog.as_ref().map(|it| it.probe);
    let most = notify_watchdog_interval().map(|time| time / 3);
    own.into_iter().chain(most).min()
}

pub(crate) fn tell(notice: Notice<'_>) {
    if let Err(error) = notify(notice) {
        tracing::debug!("the service manager does not hear: {error}");
    }
}
