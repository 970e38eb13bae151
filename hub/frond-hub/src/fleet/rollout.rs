use std::path::PathBuf;

use frond_fleet::{Plan, Question, Wave, Window};

use super::course::{Course, Shown};
use super::{Hub, read_bytes, sign};

/// Brings a bundle to boxes in waves.
#[derive(Debug, clap::Args)]
pub(super) struct Rollout {
    /// The bundle
    bundle: PathBuf,
    /// How many boxes have it after each wave: a number or a share
    #[arg(long, value_delimiter = ',', default_value = "1,5%,25%,100%", value_parser = Wave::parse)]
    waves: Vec<Wave>,
    /// Boxes that come first
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    first: Vec<String>,
    /// Seconds to wait after a wave that went well
    #[arg(long, default_value_t = 60)]
    bake: u64,
    /// Stop when more than this share of the boxes that were told failed
    #[arg(long, value_name = "PERCENT", default_value_t = 5)]
    stop_at: u8,
    /// Seconds a wave may take: the boxes' window and some more
    #[arg(long, default_value_t = 660)]
    wave_time: u64,
    /// Tell boxes in these hours only, like "02:00-05:00" or "mon-fri 22:00-04:00 +01:00"
    #[arg(long = "window", value_name = "HOURS", value_parser = Window::parse)]
    windows: Vec<Window>,
    /// Spread the boxes of a wave over so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    jitter: u64,
    /// Who wants it
    #[arg(long, default_value = "")]
    by: String,
    /// Leave it to the hub's fleet service and don't watch
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    hub: Hub,
}

/// Changes a rollout that is under way.
#[derive(Debug, clap::Args)]
pub(super) struct Change {
    /// Who wants it
    #[arg(long, default_value = "")]
    by: String,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    hub: Hub,
}

/// Shows how a rollout goes.
#[derive(Debug, clap::Args)]
pub(super) struct Watch {
    /// Go on until it is over
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    hub: Hub,
}

impl Rollout {
    pub(super) fn run(&self) -> Result<(), String> {
        sign::read(&self.bundle)?;
        let plan = Plan {
            waves: self.waves.clone(),
            first: self.first.clone(),
            bake_s: self.bake,
            stop_at_percent: self.stop_at,
            wave_s: self.wave_time,
            windows: self.windows.clone(),
            jitter_s: self.jitter,
            by: self.by.clone(),
        };
        plan.check()?;
        let bundle = read_bytes(&self.bundle)?;
        let mut course = Course::join(&self.hub)?;
        if self.detach && !course.is_driven_elsewhere() {
            return Err("no fleet service runs that it could be left to".to_owned());
        }
        let start = Question::Start(Box::new(plan), bundle);
        if self.detach {
            return course.change(&start, &self.shown);
        }
        course.ask(&start)?;
        course.follow(&self.shown)
    }
}

impl Change {
    pub(super) fn pause(&self) -> Result<(), String> {
        self.change(&Question::Pause(self.by.clone()))
    }

    pub(super) fn abort(&self) -> Result<(), String> {
        self.change(&Question::Abort(self.by.clone()))
    }

    /// Whoever drives it goes on with it; if nobody does, this one.
    pub(super) fn resume(&self) -> Result<(), String> {
        let mut course = Course::join(&self.hub)?;
        if course.is_driven_elsewhere() {
            return course.change(&Question::Resume, &self.shown);
        }
        course.ask(&Question::Resume)?;
        course.follow(&self.shown)
    }

    fn change(&self, question: &Question) -> Result<(), String> {
        Course::join(&self.hub)?.change(question, &self.shown)
    }
}

impl Watch {
    pub(super) fn run(&self) -> Result<(), String> {
        let mut course = Course::watch(&self.hub)?;
        if self.follow {
            course.follow(&self.shown)
        } else {
            course.show_once(&self.shown)
        }
    }
}
