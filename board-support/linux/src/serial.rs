use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, Timespec};
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr,
};

use crate::roots::Roots;

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
        let flags = OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = i32::try_from(flags.bits()).unwrap_or(0);
        let port = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(roots.device(name))?;
        set(port.as_fd(), options)?;
        Ok(Self { port })
    }

    /// Waits for bytes, at most for this long; 0 when none came.
    ///
    /// # Errors
    /// The system's; `UnexpectedEof` when the port is gone.
    pub fn read(&mut self, bytes: &mut [u8], at_most: Duration) -> io::Result<usize> {
        let mut fds = [PollFd::new(&self.port, PollFlags::IN)];
        let wait = Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        if poll(&mut fds, Some(&wait))? == 0 {
            return Ok(0);
        }
        match self.port.read(bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            read => read,
        }
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.port.write_all(bytes)
    }

    /// The port itself, not blocking, for who waits in another way.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.port.into()
    }
}

fn set(port: BorrowedFd<'_>, options: SerialOptions) -> io::Result<()> {
    let mut settings = tcgetattr(port)?;
    settings.make_raw();
    settings.set_speed(options.baud)?;
    let modes = &mut settings.control_modes;
    modes.insert(ControlModes::CREAD | ControlModes::CLOCAL);
    modes.remove(ControlModes::CSIZE);
    modes.insert(match options.data_bits {
        7 => ControlModes::CS7,
        _ => ControlModes::CS8,
    });
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
    fn what_is_no_port_is_refused() {
        let roots = Roots::default();
        assert!(Serial::open(&roots, "/dev/null", SerialOptions::default()).is_err());
        assert!(Serial::open(&roots, "no-such-port", SerialOptions::default()).is_err());
    }
}
