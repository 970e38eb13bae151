use std::io;
use std::path::PathBuf;
use std::time::Duration;

use gpiocdev::Request;
use gpiocdev::line::{EdgeDetection, Value};
use gpiocdev::request::Builder;

use crate::line_spec::{Bias, LineSpec};

use crate::roots::Roots;
use crate::told::plain;

/// Who the kernel's tools show as holding a line.
const CONSUMER: &str = "frond";

/// How often a line that is a file is looked at: the kernel tells of no change.
const FILE_LOOK_EVERY: Duration = Duration::from_millis(10);

/// A digital input.
#[derive(Debug)]
pub struct InputLine {
    source: Source,
    active_low: bool,
}

#[derive(Debug)]
enum Source {
    Chip(Request),
    File(PathBuf),
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
            read_file(&path)?;
            let source = Source::File(path);
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
            Source::File(path) => read_file(path)?,
        };
        Ok(high != self.active_low)
    }

    /// Waits until the line may have changed, at most for this long.
    ///
    /// # Errors
    /// The chip is gone.
    pub fn wait(&self, at_most: Duration) -> Result<(), String> {
        match &self.source {
            Source::Chip(request) => {
                let ready = request
                    .wait_edge_event(at_most)
                    .map_err(|e| e.to_string())?;
                if ready {
                    request.read_edge_event().map_err(|e| e.to_string())?;
                }
            }
            Source::File(_) => std::thread::park_timeout(at_most.min(FILE_LOOK_EVERY)),
        }
        Ok(())
    }
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
            let found = gpiocdev::find_named_line(name);
            let found =
                found.ok_or_else(|| format!("no line of this machine is called {name:?}"))?;
            builder.on_chip(&found.chip).with_line(found.info.offset);
        }
        LineSpec::Numbered { chip, offset } => {
            builder.on_chip(roots.device(chip)).with_line(*offset);
        }
        LineSpec::File(path) => return Err(format!("{path} is a file")),
    }
    Ok(builder)
}

fn taken(spec: &LineSpec, error: &gpiocdev::Error) -> String {
    format!("{spec:?} cannot be had: {error}")
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
    fn a_line_that_is_not_there_is_told_by_name() {
        let roots = Roots::default();
        let spec = LineSpec::Named("NO_SUCH_LINE".to_owned());
        let error = InputLine::open(&roots, &spec, Bias::Up, false).unwrap_err();
        assert_eq!(error, "no line of this machine is called \"NO_SUCH_LINE\"");
    }
}
