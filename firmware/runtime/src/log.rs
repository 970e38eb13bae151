use std::fmt::{self, Write as _};
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::Registry;

use self::sink::Sink;
use crate::clock::{local, wall_clock};

mod file;
mod sink;
mod syslog;

/// Says something on the log, for who stands beside the server: something to look at, or a step.
pub fn say(text: &str, is_bad: bool) {
    if is_bad {
        tracing::warn!("{text}");
    } else {
        tracing::info!("{text}");
    }
}

/// Lines that end the process carry this target and print as `[FTL]`.
pub(crate) const FATAL: &str = "fatal";

/// Where log lines go and which: shared, so that a reload or a signal can change it.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    detail: AtomicU8,
    output: Mutex<Output>,
}

/// Where lines go, and what they begin with.
#[derive(Debug)]
struct Output {
    options: frond_config::Log,
    sink: Sink,
}

/// What is logged besides information, warnings and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Debugging lines.
    pub(crate) debug: bool,
    /// Every protocol line. As nats-server's, it comes with or without those.
    pub(crate) trace: bool,
}

impl Detail {
    fn wants(self, level: Level) -> bool {
        if level <= Level::INFO {
            true
        } else if level == Level::DEBUG {
            self.debug
        } else {
            self.trace
        }
    }

    fn bits(self) -> u8 {
        u8::from(self.debug) | u8::from(self.trace) << 1
    }

    const fn of(bits: u8) -> Self {
        Self {
            debug: bits & 1 != 0,
            trace: bits & 2 != 0,
        }
    }
}

impl Log {
    /// Starts logging for the whole process.
    ///
    /// # Errors
    /// When the log file cannot be opened for appending, or no syslog answers.
    pub(crate) fn start(options: &frond_config::Log, detail: Detail) -> io::Result<Self> {
        let output = Output {
            options: options.clone(),
            sink: Sink::open(options)?,
        };
        let shared = Shared {
            detail: AtomicU8::new(detail.bits()),
            output: Mutex::new(output),
        };
        let log = Self(Arc::new(shared));
        // A second logger in one process (tests) keeps the first.
        let _ = tracing::subscriber::set_global_default(Registry::default().with(log.clone()));
        Ok(log)
    }

    /// Goes on as other options say.
    ///
    /// # Errors
    /// When the new place cannot be opened; then the old one goes on.
    pub(crate) fn apply(&self, options: &frond_config::Log) -> io::Result<()> {
        let mut output = self.output();
        if output.options.file != options.file {
            output.sink = Sink::open(options)?;
        }
        output.options = options.clone();
        Ok(())
    }

    /// Changes how much is logged.
    pub(crate) fn set_detail(&self, detail: Detail) {
        self.0.detail.store(detail.bits(), Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
    }

    /// Opens the log file again, after it was rotated away; false when the log goes to none.
    ///
    /// # Errors
    /// When it cannot be opened; then the old one goes on.
    pub(crate) fn reopen(&self) -> io::Result<bool> {
        self.output().sink.reopen()
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.0.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants(&self, level: Level) -> bool {
        Detail::of(self.0.detail.load(Ordering::Relaxed)).wants(level)
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("frond") && self.wants(*metadata.level())
            || metadata.target() == FATAL
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let tag = match *metadata.level() {
            _ if metadata.target() == FATAL => "FTL",
            Level::ERROR => "ERR",
            Level::WARN => "WRN",
            Level::INFO => "INF",
            Level::DEBUG => "DBG",
            Level::TRACE => "TRC",
        };
        let mut words = String::new();
        event.record(&mut Words(&mut words));
        let mut output = self.output();
        let mut head = format!("[{}] ", std::process::id());
        if output.options.time {
            push_time(&mut head, output.options.time_utc);
        }
        output.sink.write(tag, &head, &words);
    }
}

/// `2026/11/29 19:27:30.123456 `.
fn push_time(line: &mut String, utc: bool) {
    let now = wall_clock();
    let now = if utc { now } else { local(now) };
    let (year, month, day, hour, minute, second, nanos) = now.civil();
    let micros = nanos / 1000;
    let _ = write!(
        line,
        "{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06} "
    );
}

/// The message as it is, other fields as ` name=value`.
struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debugging_and_protocol_lines_are_two_switches() {
        for (debug, trace) in [(false, false), (true, false), (false, true), (true, true)] {
            let detail = Detail::of(Detail { debug, trace }.bits());
            assert_eq!(detail, Detail { debug, trace });
            assert_eq!(
                (detail.wants(Level::DEBUG), detail.wants(Level::TRACE)),
                (debug, trace)
            );
            assert!(detail.wants(Level::INFO) && detail.wants(Level::ERROR));
        }
    }
}
