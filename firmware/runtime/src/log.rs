use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::Registry;

use crate::clock::wall_clock;

/// Lines that end the process carry this target and print as `[FTL]`.
pub(crate) const FATAL: &str = "fatal";

/// Where log lines go and which: shared, so that a reload or a signal can change it.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    detail: AtomicU8,
    with_time: bool,
    sink: Mutex<Sink>,
}

#[derive(Debug)]
enum Sink {
    Stderr,
    File { path: PathBuf, file: File },
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Information, warnings and errors.
    Normal,
    /// With debugging lines.
    Debug,
    /// With every protocol line.
    Trace,
}

impl Log {
    /// Starts logging for the whole process.
    ///
    /// # Errors
    /// When the log file cannot be opened for appending.
    pub(crate) fn start(path: Option<&Path>, with_time: bool, detail: Detail) -> io::Result<Self> {
        let sink = path.map_or(Ok(Sink::Stderr), Sink::open)?;
        let shared = Shared {
            detail: AtomicU8::new(detail as u8),
            with_time,
            sink: Mutex::new(sink),
        };
        let log = Self(Arc::new(shared));
        // A second logger in one process (tests) keeps the first.
        let _ = tracing::subscriber::set_global_default(Registry::default().with(log.clone()));
        Ok(log)
    }

    /// Changes how much is logged.
    pub(crate) fn set_detail(&self, detail: Detail) {
        self.0.detail.store(detail as u8, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
    }

    /// Opens the log file again, after it was rotated away.
    ///
    /// # Errors
    /// When it cannot be opened; then the old one goes on.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let mut sink = self.0.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if let Sink::File { path, .. } = &*sink {
            let path = path.clone();
            *sink = Sink::open(&path)?;
        }
        Ok(())
    }

    fn wants(&self, level: Level) -> bool {
        let detail = self.0.detail.load(Ordering::Relaxed);
        let needed = if level <= Level::INFO {
            Detail::Normal
        } else if level == Level::DEBUG {
            Detail::Debug
        } else {
            Detail::Trace
        };
        needed as u8 <= detail
    }
}

impl Sink {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self::File {
            path: path.to_owned(),
            file,
        })
    }

    /// A log that cannot be written must not stop the server.
    fn write(&mut self, line: &str) {
        let _ = match self {
            Self::Stderr => io::stderr().write_all(line.as_bytes()),
            Self::File { file, .. } => file.write_all(line.as_bytes()),
        };
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("frond") && self.wants(*metadata.level())
            || metadata.target() == FATAL
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = format!("[{}] ", std::process::id());
        if self.0.with_time {
            push_time(&mut line);
        }
        let metadata = event.metadata();
        let tag = match *metadata.level() {
            _ if metadata.target() == FATAL => "FTL",
            Level::ERROR => "ERR",
            Level::WARN => "WRN",
            Level::INFO => "INF",
            Level::DEBUG => "DBG",
            Level::TRACE => "TRC",
        };
        let _ = write!(line, "[{tag}] ");
        event.record(&mut Words(&mut line));
        line.push('\n');
        self.0
            .sink
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write(&line);
    }
}

/// `2026/11/29 19:27:30.123456 `, in UTC.
fn push_time(line: &mut String) {
    let (year, month, day, hour, minute, second, nanos) = wall_clock().civil();
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
