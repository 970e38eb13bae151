//! A network block device: how QEMU gets to a [`Medium`].

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use interop::Random;

use crate::medium::{Counts, Medium};

/// A disk behind a socket, until its power is cut.
#[derive(Debug)]
pub struct Disk {
    medium: Arc<Mutex<Option<Medium>>>,
    path: PathBuf,
    server: Option<JoinHandle<()>>,
}

const MAGIC: &[u8; 16] = b"NBDMAGICIHAVEOPT";
const OPTION: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const REQUEST: u32 = 0x2560_9513;
const REPLY: u32 = 0x6744_6698;
/// Fixed newstyle, no zeroes.
const FLAGS: u16 = 3;
/// Has flags, flush.
const EXPORT_FLAGS: u16 = 1 | 4;
const OPTION_EXPORT_NAME: u32 = 1;
const OPTION_ABORT: u32 = 2;
const OPTION_GO: u32 = 7;
const ACK: u32 = 1;
const INFO: u32 = 3;
const UNSUPPORTED: u32 = 0x8000_0001;
const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
const INVALID: u32 = 22;
const BROKEN: u32 = 5;
const REQUEST_BYTES_MAX: u32 = 32 * 1024 * 1024;

impl Disk {
    /// Serves a medium on a socket of that path.
    ///
    /// # Errors
    /// When there can be no such socket.
    pub fn serve(medium: Medium, path: &Path) -> io::Result<Self> {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path)?;
        let medium = Arc::new(Mutex::new(Some(medium)));
        let shared = Arc::clone(&medium);
        let server = std::thread::spawn(move || {
            // QEMU connects once.
            if let Ok((stream, _)) = listener.accept() {
                let _ = attend(stream, &shared);
            }
        });
        Ok(Self {
            medium,
            path: path.to_path_buf(),
            server: Some(server),
        })
    }

    /// For QEMU's `file=`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("nbd:unix:{}", self.path.display())
    }

    /// Cuts the power: from now on nothing is answered, and what was not flushed is left to chance.
    ///
    /// # Errors
    /// When what is certain cannot be written.
    pub fn cut(&self, random: &mut Random) -> io::Result<Counts> {
        let medium = self
            .medium
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        medium.map_or_else(|| Ok(Counts::default()), |mut medium| medium.cut(random))
    }
}

impl Disk {
    /// What a cut would leave of so many bytes from there on; the power stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn glance(&self, place: (u64, u64), random: &mut Random, to: &Path) -> io::Result<()> {
        let medium = self.medium.lock().unwrap_or_else(PoisonError::into_inner);
        let medium = medium.as_ref();
        medium.map_or(Ok(()), |medium| medium.glance(place, random, to))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Who was never connected to waits for somebody.
        let _ = UnixStream::connect(&self.path);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn attend(mut stream: UnixStream, medium: &Mutex<Option<Medium>>) -> io::Result<()> {
    let locked = || medium.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = locked().as_ref().map_or(Ok(0), Medium::bytes)?;
    if !greet(&mut stream, bytes)? {
        return Ok(());
    }
    let mut content = Vec::new();
    loop {
        let mut head = [0; 28];
        stream.read_exact(&mut head)?;
        let [
            magic,
            flags_and_kind,
            cookie_a,
            cookie_b,
            offset_a,
            offset_b,
            length,
        ] = words(head);
        if magic != REQUEST || length > REQUEST_BYTES_MAX {
            return Err(io::Error::other("no request"));
        }
        let offset = u64::from(offset_a) << 32 | u64::from(offset_b);
        let kind = (flags_and_kind & 0xffff) as u16;
        content.resize(length as usize, 0);
        if kind == WRITE {
            stream.read_exact(&mut content)?;
        }
        let mut medium = locked();
        let Some(medium) = medium.as_mut() else {
            return Ok(());
        };
        let error = match kind {
            READ => medium.read(offset, &mut content).map_or(BROKEN, |()| 0),
            WRITE => {
                medium.write(offset, &content);
                0
            }
            FLUSH => medium.flush().map_or(BROKEN, |()| 0),
            DISCONNECT => return Ok(()),
            _ => INVALID,
        };
        let mut answer = Vec::new();
        for word in [REPLY, error, cookie_a, cookie_b] {
            answer.extend_from_slice(&word.to_be_bytes());
        }
        if kind == READ && error == 0 {
            answer.extend_from_slice(&content);
        }
        stream.write_all(&answer)?;
    }
}

/// The greeting; whether requests follow.
fn greet(stream: &mut UnixStream, bytes: u64) -> io::Result<bool> {
    stream.write_all(MAGIC)?;
    stream.write_all(&FLAGS.to_be_bytes())?;
    let _: [u8; 4] = take(stream)?;
    loop {
        if u64::from_be_bytes(take(stream)?) != OPTION {
            return Err(io::Error::other("no option"));
        }
        let option = u32::from_be_bytes(take(stream)?);
        let length = u32::from_be_bytes(take(stream)?).min(REQUEST_BYTES_MAX);
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data)?;
        match option {
            OPTION_EXPORT_NAME => {
                stream.write_all(&bytes.to_be_bytes())?;
                stream.write_all(&EXPORT_FLAGS.to_be_bytes())?;
                return Ok(true);
            }
            OPTION_GO => {
                let mut info = vec![0, 0];
                info.extend_from_slice(&bytes.to_be_bytes());
                info.extend_from_slice(&EXPORT_FLAGS.to_be_bytes());
                reply(stream, option, INFO, &info)?;
                reply(stream, option, ACK, &[])?;
                return Ok(true);
            }
            OPTION_ABORT => {
                reply(stream, option, ACK, &[])?;
                return Ok(false);
            }
            _ => reply(stream, option, UNSUPPORTED, &[])?,
        }
    }
}

fn reply(stream: &mut UnixStream, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let mut answer = OPTION_REPLY.to_be_bytes().to_vec();
    answer.extend_from_slice(&option.to_be_bytes());
    answer.extend_from_slice(&kind.to_be_bytes());
    answer.extend_from_slice(&u32::try_from(data.len()).unwrap_or(0).to_be_bytes());
    answer.extend_from_slice(data);
    stream.write_all(&answer)
}

fn take<const N: usize>(stream: &mut UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn words(bytes: [u8; 28]) -> [u32; 7] {
    let mut words = [0; 7];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = bytes.try_into().map_or(0, u32::from_be_bytes);
    }
    words
}
