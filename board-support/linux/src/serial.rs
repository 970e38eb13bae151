use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::fs::OFlags;
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr,
};

use crate::roots::Roots;
use crate::told::{Help, told};
use crate::wait::until_ready;

/// How long a port may take no byte before a write gives up.
const WRITE_WAIT: Duration = Duration::from_secs(5);

const HELP: Help = Help {
    missing: "is the adapter plugged in, and the port switched on (enable_uart=1)?",
    denied: "put the service into the group dialout",
    busy: "another program has it: a console or a modem manager?",
};

/// A serial port, raw: bytes as they come.
#[derive(Debug)]
pub struct Serial {
    port: File,
}

/// How a port is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialOptions {
    /// Bits per second.
    pub baud: u32,
    /// 7 or 8.
    pub data_bits: u8,
    /// 1 or 2.
    pub stop_bits: u8,
    /// The ninth bit.
    pub parity: Parity,
}

/// What the ninth bit is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parity {
    /// There is none.
    #[default]
    None,
    /// It makes the count of ones even.
    Even,
    /// It makes the count of ones odd.
    Odd,
}

impl Default for SerialOptions {
    fn default() -> Self {
        Self {
            baud: 9_600,
            data_bits: 8,
            stop_bits: 1,
            parity: Parity::None,
        }
    }
}

impl Serial {
    /// Opens a port and forgets what came before.
    ///
    /// # Errors
    /// When it is not there, is no port, or cannot be set that way.
    pub fn open(roots: &Roots, name: &str, options: SerialOptions) -> io::Result<Self> {
        let path = roots.device(name);
        let port = open(&path).and_then(|port| set(port.as_fd(), options).map(|()| port));
        let port = port.map_err(|error| told(&path, &error, HELP))?;
        Ok(Self { port })
    }

    /// Waits for bytes, at most for this long; 0 when none came.
    ///
    /// # Errors
    /// The system's; `UnexpectedEof` when the port is gone.
    pub fn read(&mut self, bytes: &mut [u8], at_most: Duration) -> io::Result<usize> {
        if !until_ready(self.port.as_fd(), PollFlags::IN, at_most)? {
            return Ok(0);
        }
        match self.port.read(bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if is_nothing(&error) => Ok(0),
            read => read,
        }
    }

    /// Writes all of it, however slowly the far side takes it.
    ///
    /// # Errors
    /// The system's; `TimedOut` when the far side takes nothing for five seconds, with how much
    /// of it went.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut went = 0;
        while let Some(rest) = bytes.get(went..).filter(|rest| !rest.is_empty()) {
            match self.write_some(rest, WRITE_WAIT)? {
                0 => {
                    let all = bytes.len();
                    let text = format!("the far side took {went} of {all} bytes, then no more");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                more => went += more,
            }
        }
        Ok(())
    }

    /// Writes what the port takes, waiting at most for this long until it takes any; how much went.
    ///
    /// # Errors
    /// The system's.
    pub fn write_some(&mut self, bytes: &[u8], at_most: Duration) -> io::Result<usize> {
        if !until_ready(self.port.as_fd(), PollFlags::OUT, at_most)? {
            return Ok(0);
        }
        match self.port.write(bytes) {
            Err(error) if is_nothing(&error) => Ok(0),
            written => written,
        }
    }

    /// The port itself, not blocking, for who waits in another way.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.port.into()
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn wrong(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn set(port: BorrowedFd<'_>, options: SerialOptions) -> io::Result<()> {
    let size = match options.data_bits {
        7 => ControlModes::CS7,
        8 => ControlModes::CS8,
        other => return Err(wrong(format!("{other} data bits: a port has 7 or 8"))),
    };
    if !matches!(options.stop_bits, 1 | 2) {
        let other = options.stop_bits;
        return Err(wrong(format!("{other} stop bits: a port has 1 or 2")));
    }
    let mut settings = tcgetattr(port)?;
    settings.make_raw();
    settings.set_speed(options.baud)?;
    let modes = &mut settings.control_modes;
    modes.insert(ControlModes::CREAD | ControlModes::CLOCAL);
    modes.remove(ControlModes::CSIZE);
    modes.insert(size);
    modes.set(ControlModes::CSTOPB, options.stop_bits == 2);
    modes.set(ControlModes::PARENB, options.parity != Parity::None);
    modes.set(ControlModes::PARODD, options.parity == Parity::Odd);
    modes.remove(ControlModes::CRTSCTS);
    tcsetattr(port, OptionalActions::Now, &settings)?;
    tcflush(port, QueueSelector::IOFlush)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    /// The far end of a port, and the port's name.
    fn pair() -> (File, String) {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        let name = ptsname(&far, Vec::new()).unwrap().into_string().unwrap();
        (File::from(far), name)
    }

    const BOUND: Duration = Duration::from_secs(5);

    #[test]
    fn bytes_pass_as_they_are_both_ways() {
        let (mut far, name) = pair();
        let mut port = Serial::open(&Roots::default(), &name, SerialOptions::default()).unwrap();
        let raw = b"\x03\r\n\x11\0\xFF";
        far.write_all(raw).unwrap();
        let mut bytes = [0; 16];
        let mut read = 0;
        while read < raw.len() {
            let more = port.read(&mut bytes[read..], BOUND).unwrap();
            assert_ne!(more, 0, "nothing came");
            read += more;
        }
        assert_eq!(&bytes[..read], raw);
        port.write(b"W\r\n").unwrap();
        let mut back = [0; 3];
        far.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"W\r\n");
        assert_eq!(port.read(&mut bytes, Duration::from_millis(1)).unwrap(), 0);
        drop(far);
        assert!(port.read(&mut bytes, BOUND).is_err(), "a port that is gone");
    }

    #[test]
    fn a_far_side_that_is_slow_gets_all_and_one_that_sleeps_is_told() {
        let (far, name) = pair();
        let mut port = Serial::open(&Roots::default(), &name, SerialOptions::default()).unwrap();
        let text: Vec<u8> = (0..=250).cycle().take(64 << 10).collect();
        let mut went = 0;
        loop {
            match port
                .write_some(&text[went..], Duration::from_millis(1))
                .unwrap()
            {
                0 => break,
                more => went += more,
            }
        }
        assert!(
            (1..text.len()).contains(&went),
            "{went} bytes without a reader"
        );
        let mut reader = far.try_clone().unwrap();
        let all = text.len();
        let reading = std::thread::spawn(move || {
            let mut read = vec![0; all];
            reader.read_exact(&mut read).map(|()| read)
        });
        port.write(&text[went..]).unwrap();
        assert!(reading.join().unwrap().unwrap() == text);
    }

    #[test]
    fn what_is_no_port_is_refused_by_name() {
        let roots = Roots::default();
        let refused = |name: &str, options| {
            let error = Serial::open(&roots, name, options).unwrap_err().to_string();
            assert!(
                error.starts_with(&*roots.device(name).to_string_lossy()),
                "{error}"
            );
            error
        };
        let usual = SerialOptions::default();
        refused("/dev/null", usual);
        assert!(refused("no-such-port", usual).contains("enable_uart=1"));
        let (_far, name) = pair();
        for data_bits in [0, 5, 6, 9] {
            assert!(refused(&name, SerialOptions { data_bits, ..usual }).contains("data bits"));
        }
        for stop_bits in [0, 3] {
            assert!(refused(&name, SerialOptions { stop_bits, ..usual }).contains("stop bits"));
        }
    }
}
