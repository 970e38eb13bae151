use std::io::{self, Write as _};
use std::path::Path;

use frond_config::Log as Options;

use super::file::LogFile;
use super::syslog::Syslog;

/// Where lines go. A file beats a remote syslog beats the local one beats standard error.
/// spec: nats-server v2.15.1 server/log.go `ConfigureLogger`.
#[derive(Debug)]
pub(super) enum Sink {
    Stderr,
    File(LogFile),
    Syslog(Syslog),
}

impl Sink {
    pub(super) fn open(options: &Options) -> io::Result<Self> {
        if let Some(path) = &options.file {
            let file = LogFile::open(Path::new(path), options.size_limit, options.max_num)?;
            return Ok(Self::File(file));
        }
        if let Some(url) = &options.remote_syslog {
            return Syslog::remote(url).map(Self::Syslog);
        }
        if options.syslog {
            return Syslog::local().map(Self::Syslog);
        }
        Ok(Self::Stderr)
    }

    /// Opens a file again, after it was moved away; false where there is none.
    pub(super) fn reopen(&mut self) -> io::Result<bool> {
        match self {
            Self::File(file) => file.reopen().map(|()| true),
            Self::Stderr | Self::Syslog(_) => Ok(false),
        }
    }

    /// A log that cannot be written must not stop the server.
    pub(super) fn write(&mut self, tag: &str, head: &str, words: &str) {
        match self {
            Self::Stderr => {
                let line = format!("{head}[{tag}] {words}\n");
                let _ = io::stderr().write_all(line.as_bytes());
            }
            Self::File(file) => {
                let line = |tag: &str, words: &str| format!("{head}[{tag}] {words}\n");
                file.write(&line(tag, words), |words| line("INF", words));
            }
            Self::Syslog(syslog) => syslog.send(tag, words),
        }
    }
}
