use std::cell::Cell;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpiocdev::Request;
use gpiocdev::line::{EdgeDetection, EdgeKind, Value};
use gpiocdev::request::Builder;
use rustix::event::PollFlags;
use rustix::time::{ClockId, clock_gettime};

use crate::chips;
use crate::line_spec::{Bias, LineSpec};
use crate::roots::Roots;
use crate::told::plain;
use crate::wait::until_ready;

/// Who the kernel's tools show as holding a line.
const CONSUMER: &str = "frond";

/// How often a line that is a file is looked at: the kernel tells of no change.
const FILE_LOOK_EVERY: Duration = Duration::from_millis(10);

/// Changes that are told at once.
const EVENTS_MAX: usize = 64;

/// A digital input.
#[derive(Debug)]
pub struct InputLine {
    source: Source,
    active_low: bool,
}

#[derive(Debug)]
enum Source {
    Chip(Request),
    /// A file, and what it held last.
    File(PathBuf, Cell<bool>),
}

/// An input changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEvent {
    /// Whether it is active from then on.
    pub active: bool,
    /// When: on a chip as the kernel saw it, however late it is told.
    pub at: Instant,
}

/// A digital output.
#[derive(Debug)]
pub struct OutputLine {
    sink: Sink,
    active_low: bool,
}

#[derive(Debug)]
enum Sink {
    Chip(Request),
    File(PathBuf),
}

impl InputLine {
    /// Takes a line for reading.
    ///
    /// # Errors
    /// Why it cannot be had, in words.
    pub fn open(
        roots: &Roots,
        spec: &LineSpec,
        bias: Bias,
        active_low: bool,
    ) -> Result<Self, String> {
        if let LineSpec::File(path) = spec {
            let path = roots.sys.join(path);
            let held = read_file(&path)?;
            let source = Source::File(path, Cell::new(held));
            return Ok(Self { source, active_low });
        }
        let mut builder = located(roots, spec)?;
        builder
            .as_input()
            .with_edge_detection(EdgeDetection::BothEdges);
        match bias {
            Bias::AsIs => {}
            Bias::Up => drop(builder.with_bias(gpiocdev::line::Bias::PullUp)),
            Bias::Down => drop(builder.with_bias(gpiocdev::line::Bias::PullDown)),
            Bias::None => drop(builder.with_bias(gpiocdev::line::Bias::Disabled)),
        }
        let request = builder.request().map_err(|error| taken(spec, &error))?;
        Ok(Self {
            source: Source::Chip(request),
            active_low,
        })
    }

    /// Whether the line is active now.
    ///
    /// # Errors
    /// Why nobody knows.
    pub fn is_active(&self) -> Result<bool, String> {
        let high = match &self.source {
            Source::Chip(request) => {
                let value = request.lone_value().map_err(|error| error.to_string())?;
                value == Value::Active
            }
            Source::File(path, _) => read_file(path)?,
        };
        Ok(high != self.active_low)
    }

    /// Waits until the line changes, at most for this long; every change since the last call, in
    /// their order. It may end early with none.
    ///
    /// # Errors
    /// The chip is gone.
    pub fn wait(&self, at_most: Duration) -> Result<Vec<LineEvent>, String> {
        match &self.source {
            Source::Chip(request) => self.events(request, at_most),
            Source::File(path, held) => {
                std::thread::park_timeout(at_most.min(FILE_LOOK_EVERY));
                let high = read_file(path)?;
                let has_changed = held.replace(high) != high;
                let at = Instant::now();
                Ok(Vec::from_iter(has_changed.then(|| self.event(high, at))))
            }
        }
    }

    fn events(&self, request: &Request, at_most: Duration) -> Result<Vec<LineEvent>, String> {
        let mut events = Vec::new();
        let mut patience = at_most;
        while events.len() < EVENTS_MAX
            && until_ready(request.as_fd(), PollFlags::IN, patience)
                .map_err(|error| plain(&error))?
        {
            let edge = request.read_edge_event();
            let edge = edge.map_err(|error| error.to_string())?;
            let high = match edge.kind {
                EdgeKind::Rising => true,
                EdgeKind::Falling => false,
            };
            events.push(self.event(high, moment(edge.timestamp_ns)));
            patience = Duration::ZERO;
        }
        Ok(events)
    }

    const fn event(&self, high: bool, at: Instant) -> LineEvent {
        let active = high != self.active_low;
        LineEvent { active, at }
    }
}

/// The moment that the kernel counts in nanoseconds of `CLOCK_MONOTONIC`; none after now.
fn moment(at_ns: u64) -> Instant {
    let (now, clock) = (Instant::now(), clock_gettime(ClockId::Monotonic));
    let seconds = Duration::from_secs(clock.tv_sec.try_into().unwrap_or(0));
    let clock = seconds + Duration::from_nanos(clock.tv_nsec.try_into().unwrap_or(0));
    let ago = clock.saturating_sub(Duration::from_nanos(at_ns));
    now.checked_sub(ago).unwrap_or(now)
}

impl OutputLine {
    /// Takes a line for writing; it is set to `active` with that.
    ///
    /// # Errors
    /// Why it cannot be had, in words.
    pub fn open(
        roots: &Roots,
        spec: &LineSpec,
        active_low: bool,
        active: bool,
    ) -> Result<Self, String> {
        if let LineSpec::File(path) = spec {
            let mut line = Self {
                sink: Sink::File(roots.sys.join(path)),
                active_low,
            };
            line.set(active)?;
            return Ok(line);
        }
        let mut builder = located(roots, spec)?;
        builder.as_output(value(active != active_low));
        let request = builder.request().map_err(|error| taken(spec, &error))?;
        Ok(Self {
            sink: Sink::Chip(request),
            active_low,
        })
    }

    /// Sets the line.
    ///
    /// # Errors
    /// Why it may not be as it should.
    pub fn set(&mut self, active: bool) -> Result<(), String> {
        let high = active != self.active_low;
        match &self.sink {
            Sink::Chip(request) => request
                .set_lone_value(value(high))
                .map_err(|error| error.to_string()),
            Sink::File(path) => {
                let file = std::fs::OpenOptions::new().write(true).open(path);
                let text: &[u8] = if high { b"1\n" } else { b"0\n" };
                file.and_then(|mut file| io::Write::write_all(&mut file, text))
                    .map_err(|error| format!("{}: {}", path.display(), plain(&error)))
            }
        }
    }
}

const fn value(high: bool) -> Value {
    if high { Value::Active } else { Value::Inactive }
}

fn located(roots: &Roots, spec: &LineSpec) -> Result<Builder, String> {
    let mut builder = Request::builder();
    builder.with_consumer(CONSUMER);
    match spec {
        LineSpec::Named(name) => {
            let (chip, offset) = chips::line_called(roots, name)?;
            builder.on_chip(chip).with_line(offset);
        }
        LineSpec::Numbered { chip, offset } => {
            builder
                .on_chip(chips::chip_called(roots, chip)?)
                .with_line(*offset);
        }
        LineSpec::File(path) => return Err(format!("{path} is a file")),
    }
    Ok(builder)
}

fn taken(spec: &LineSpec, error: &gpiocdev::Error) -> String {
    format!("{spec} cannot be had (does another program hold it?): {error}")
}

fn read_file(path: &std::path::Path) -> Result<bool, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{}: {}", path.display(), plain(&error)))?;
    match text.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(format!("{} holds {other:?}, not 0 or 1", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_a_file_is_read_and_written_both_ways() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().to_owned(),
            dev: dir.path().to_owned(),
        };
        let spec = LineSpec::File("value".to_owned());
        let input = |low| InputLine::open(&roots, &spec, Bias::AsIs, low);
        assert!(input(false).is_err());
        let file = dir.path().join("value");
        std::fs::write(&file, "0\n").unwrap();
        for low in [false, true] {
            let mut output = OutputLine::open(&roots, &spec, low, false).unwrap();
            let input = input(low).unwrap();
            assert_eq!(input.is_active(), Ok(false));
            output.set(true).unwrap();
            assert_eq!(input.is_active(), Ok(true));
            let raw = std::fs::read_to_string(&file).unwrap();
            assert_eq!(raw, if low { "0\n" } else { "1\n" });
        }
        std::fs::write(&file, "in\n").unwrap();
        assert!(input(false).is_err());
    }

    #[test]
    fn every_change_is_told_with_its_level_and_moment() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().to_owned(),
            dev: dir.path().to_owned(),
        };
        let spec = LineSpec::File("value".to_owned());
        std::fs::write(dir.path().join("value"), "0\n").unwrap();
        for low in [false, true] {
            let mut output = OutputLine::open(&roots, &spec, low, false).unwrap();
            let input = InputLine::open(&roots, &spec, Bias::AsIs, low).unwrap();
            assert_eq!(input.wait(Duration::ZERO), Ok(vec![]));
            for active in [true, false, true] {
                let before = Instant::now();
                output.set(active).unwrap();
                let events = input.wait(Duration::ZERO).unwrap();
                let levels: Vec<_> = events.iter().map(|event| event.active).collect();
                assert_eq!(levels, [active]);
                assert!(events[0].at >= before);
                assert_eq!(input.wait(Duration::ZERO), Ok(vec![]));
            }
        }
    }

    #[test]
    fn a_moment_of_the_kernel_is_one_of_ours() {
        let clock = clock_gettime(ClockId::Monotonic);
        let now_ns = u64::try_from(clock.tv_sec * 1_000_000_000 + clock.tv_nsec).unwrap();
        let earlier = Instant::now();
        let ago = |ns: u64| Instant::now().duration_since(moment(ns));
        let second = Duration::from_secs(1);
        assert!(ago(now_ns - 1_000_000_000) >= second);
        assert!(ago(now_ns - 1_000_000_000) < second + earlier.elapsed() + second);
        // What the kernel cannot have seen yet is now.
        assert!(ago(now_ns + 60_000_000_000) < second + earlier.elapsed());
    }
}
