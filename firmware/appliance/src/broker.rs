//! The connection to the broker: a socket within the process, with a thread that reads it.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use crate::appliance::Connect;
use crate::desk::{Event, Events};
use crate::limits::{READ_BYTES, STACK_BYTES, WRITE_WAIT};

/// The end that is written to.
#[derive(Debug)]
pub(crate) struct Broker {
    stream: UnixStream,
    /// Which connection it is: an end may be told after the next one began.
    pub(crate) nth: u64,
}

impl Broker {
    pub(crate) fn connect(connect: &Connect, nth: u64, events: &Events) -> io::Result<Self> {
        let stream = connect()?;
        stream.set_write_timeout(Some(WRITE_WAIT))?;
        let mut reader = stream.try_clone()?;
        let events = events.clone();
        let work = move || {
            let mut bytes = vec![0; READ_BYTES];
            loop {
                let read = reader.read(&mut bytes).unwrap_or(0);
                let Some(heard) = bytes.get(..read).filter(|heard| !heard.is_empty()) else {
                    let _ = events.send(Event::Gone(nth));
                    return;
                };
                if events.send(Event::Heard(nth, heard.to_vec())).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.name("field-broker".to_owned()).spawn(work)?;
        Ok(Self { stream, nth })
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }
}

impl Drop for Broker {
    /// Its reader ends with it.
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
