//! A file from an `https` URL, for a thread that may wait: bundles of configurations and of images.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use frond_config::Tls;

use crate::fetch::{Place, REDIRECTS_MAX};
use crate::tls::{Season, secure};

mod answer;
#[cfg(test)]
mod tests;

use answer::{Answer, Body};

/// What is to be brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// From where: `https` only.
    pub url: String,
    /// Who may have signed the server's certificate; `None`: whoever the system trusts.
    pub ca_file: Option<String>,
    /// The tag that the server gave to what is here already.
    pub tag: Option<String>,
    /// Bytes it may have; of more nothing is brought.
    pub bytes_max: u64,
    /// How long all of it may take.
    pub time_max: Duration,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Downloaded {
    /// It is what is here already.
    Unchanged,
    /// It was written whole.
    Whole {
        /// The tag that the server gives it.
        tag: Option<String>,
        /// How long it is.
        bytes: u64,
    },
}

/// Without a byte for so long the server is given up.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// Bytes read at once.
const CHUNK_BYTES: usize = 16 * 1024;

impl Download {
    /// Brings it. When that fails, a part of it may have been written.
    ///
    /// # Errors
    /// Why not, with the URL.
    pub fn run(&self, into: &mut dyn Write) -> Result<Downloaded, String> {
        self.run_in(&Arc::default(), into)
    }

    /// The same, with certificates judged by that time.
    pub(crate) fn run_in(
        &self,
        season: &Arc<Season>,
        into: &mut dyn Write,
    ) -> Result<Downloaded, String> {
        let until = Instant::now() + self.time_max;
        self.follow(season, until, into)
            .map_err(|why| format!("{}: {why}", self.url))
    }

    fn follow(
        &self,
        season: &Arc<Season>,
        until: Instant,
        into: &mut dyn Write,
    ) -> Result<Downloaded, String> {
        let mut url = self.url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let place = Place::of(&url)?;
            if place.scheme != "https" {
                return Err(format!("{url} is not https"));
            }
            let stream = dial(&place, until)?;
            let mut stream = secure(stream, place.host, &self.rules(), Arc::clone(season))?;
            let asked = self.question(&place);
            let asked = stream
                .write_all(asked.as_bytes())
                .and_then(|()| stream.flush());
            asked.map_err(|error| told(&error))?;
            let (answer, early) = answer::head(&mut |chunk| read(&mut stream, until, chunk))?;
            match answer {
                Answer::Unchanged => return Ok(Downloaded::Unchanged),
                Answer::Elsewhere(to) if to.starts_with('/') => {
                    url = format!("https://{}{to}", place.authority);
                }
                Answer::Elsewhere(to) => url = to,
                Answer::Body(body) => {
                    let more = &mut |chunk: &mut [u8]| read(&mut stream, until, chunk);
                    let bytes = self.bring(&body, &early, more, into)?;
                    return Ok(Downloaded::Whole {
                        tag: body.tag,
                        bytes,
                    });
                }
            }
        }
        Err(format!("stopped after {REDIRECTS_MAX} redirects"))
    }

    fn rules(&self) -> Tls {
        let mut rules = Tls::default();
        rules.ca_file.clone_from(&self.ca_file);
        rules
    }

    /// Version 1.0: the answer is not in chunks and ends with the connection.
    fn question(&self, place: &Place<'_>) -> String {
        let tag = self.tag.as_deref();
        let known = tag.map_or_else(String::new, |it| format!("If-None-Match: {it}\r\n"));
        format!(
            "GET {} HTTP/1.0\r\nHost: {}\r\nAccept: */*\r\n{known}Connection: close\r\n\r\n",
            place.path, place.authority
        )
    }

    fn bring(
        &self,
        body: &Body,
        early: &[u8],
        more: &mut dyn FnMut(&mut [u8]) -> Result<usize, String>,
        into: &mut dyn Write,
    ) -> Result<u64, String> {
        let most = self.bytes_max;
        let too_long = || format!("it is longer than {most} bytes");
        if body.length.is_some_and(|length| length > most) {
            return Err(too_long());
        }
        let wanted = body.length.unwrap_or(u64::MAX);
        let (mut chunk, mut got) = (early.to_vec(), 0_u64);
        loop {
            let left = usize::try_from(wanted - got).unwrap_or(usize::MAX);
            chunk.truncate(left);
            got += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            if got > most {
                return Err(too_long());
            }
            let written = into.write_all(&chunk);
            written.map_err(|error| format!("it cannot be written: {error}"))?;
            if got == wanted {
                return Ok(got);
            }
            chunk.resize(CHUNK_BYTES, 0);
            let read = more(&mut chunk)?;
            chunk.truncate(read);
            if read == 0 {
                return match body.length {
                    None => Ok(got),
                    Some(wanted) => Err(format!("it ends after {got} of {wanted} bytes")),
                };
            }
        }
    }
}

fn dial(place: &Place<'_>, until: Instant) -> Result<TcpStream, String> {
    let named = |error: &io::Error| format!("dial tcp {}: {error}", place.authority);
    let addresses = (place.host, place.port).to_socket_addrs();
    let mut why = format!("{} has no address", place.host);
    for address in addresses.map_err(|error| named(&error))? {
        match TcpStream::connect_timeout(&address, limit(until)?) {
            Ok(stream) => {
                let limit = Some(limit(until)?);
                let set = stream.set_read_timeout(limit);
                let set = set.and_then(|()| stream.set_write_timeout(limit));
                set.map_err(|error| named(&error))?;
                return Ok(stream);
            }
            Err(error) => why = named(&error),
        }
    }
    Err(why)
}

/// How long the next step may take.
fn limit(until: Instant) -> Result<Duration, String> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err("it took too long".to_owned());
    }
    Ok(left.min(SILENCE_MAX))
}

fn read(stream: &mut impl Read, until: Instant, chunk: &mut [u8]) -> Result<usize, String> {
    limit(until)?;
    loop {
        match stream.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map_err(|error| told(&error)),
        }
    }
}

fn told(error: &io::Error) -> String {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the system's kinds are many"
    )]
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "the server says nothing".to_owned(),
        // An end that nobody signed may be a cut.
        io::ErrorKind::UnexpectedEof => "the connection was cut".to_owned(),
        _ => error.to_string(),
    }
}
