use std::path::PathBuf;

use embedded_hal::i2c::{ErrorKind, ErrorType, I2c, NoAcknowledgeSource, Operation};
use frond_board::{Driver, Reason, Sampled};
use linux_embedded_hal::i2cdev::linux::LinuxI2CError;
use linux_embedded_hal::{Delay, I2cdev};
use rustix::io::Errno;

use crate::roots::Roots;
use crate::told::{Help, told};

const HELP: Help = Help {
    missing: "switch I2C on (dtparam=i2c_arm=on)",
    denied: "put the service into the group i2c",
    busy: "another program has it",
};

/// An I²C bus. It is opened for each sample: an adapter that was not there may come.
#[derive(Clone, Debug)]
pub struct I2cBus {
    path: PathBuf,
    /// Where the kernel shows the devices of all buses.
    devices: PathBuf,
}

impl I2cBus {
    /// The bus of that name below `/dev`.
    #[must_use]
    pub fn new(roots: &Roots, name: &str) -> Self {
        Self {
            path: roots.device(name),
            devices: roots.sys.join("bus/i2c/devices"),
        }
    }

    /// One sample of a sensor. It may hang as long as the bus does.
    ///
    /// # Errors
    /// Why there is no value.
    pub fn sample(&self, driver: &Driver) -> Sampled {
        let mut bus = Bus {
            device: I2cdev::new(&self.path).map_err(|error| self.closed(&error.into()))?,
            errno: None,
        };
        let sampled = driver.sample(&mut bus, &mut Delay);
        let owner = self.owner(driver.address());
        match (sampled, bus.errno, owner) {
            (Err(_), Some(Errno::BUSY), Some(owner)) => Err(Reason::of(format_args!(
                "the kernel's driver {owner} has {:#04x}: read its files below /sys, or unload it",
                driver.address()
            ))),
            (sampled, _, _) => sampled,
        }
    }

    fn closed(&self, error: &std::io::Error) -> Reason {
        Reason::new(&told(&self.path, error, HELP).to_string())
    }

    /// The kernel's own driver for what is at this address.
    fn owner(&self, address: u8) -> Option<String> {
        let bus = self.path.file_name()?.to_str()?.strip_prefix("i2c-")?;
        let device = self.devices.join(format!("{bus}-{address:04x}/driver"));
        let driver = std::fs::read_link(device).ok()?;
        Some(driver.file_name()?.to_str()?.to_owned())
    }
}

/// The bus with the kernel's errors as its drivers mean them.
struct Bus {
    device: I2cdev,
    /// Of the last fault.
    errno: Option<Errno>,
}

/// What the kernel said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fault(Errno);

impl ErrorType for Bus {
    type Error = Fault;
}

impl I2c for Bus {
    fn transaction(
        &mut self,
        address: u8,
        operations: &mut [Operation<'_>],
    ) -> Result<(), Self::Error> {
        let done = I2c::<u8>::transaction(&mut self.device, address, operations);
        done.map_err(|error| {
            let errno = match error.inner() {
                LinuxI2CError::Errno(errno) => Some(*errno),
                LinuxI2CError::Io(error) => error.raw_os_error(),
            };
            let errno = errno.map_or(Errno::IO, Errno::from_raw_os_error);
            self.errno = Some(errno);
            Fault(errno)
        })
    }
}

impl embedded_hal::i2c::Error for Fault {
    /// spec: Linux Documentation/i2c/fault-codes.rst, and drivers/i2c/busses/i2c-bcm2835.c, which
    /// says EREMOTEIO when nobody acknowledges and ETIMEDOUT when a line is held.
    fn kind(&self) -> ErrorKind {
        match self.0 {
            Errno::REMOTEIO | Errno::NXIO => ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address),
            Errno::TIMEDOUT | Errno::IO | Errno::PROTO | Errno::BUSY => ErrorKind::Bus,
            Errno::AGAIN => ErrorKind::ArbitrationLoss,
            Errno::OVERFLOW => ErrorKind::Overrun,
            _ => ErrorKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux_embedded_hal::i2cdev::linux::LinuxI2CError;

    /// A bus on which every transfer ends in the same way.
    struct Ending(Errno);

    impl ErrorType for Ending {
        type Error = Fault;
    }

    impl I2c for Ending {
        fn transaction(&mut self, _: u8, _: &mut [Operation<'_>]) -> Result<(), Fault> {
            Err(Fault(self.0))
        }
    }

    #[test]
    fn what_the_kernel_says_is_told_as_what_it_means() {
        let driver = Driver::Bme280 { address: 0x76 };
        for (errno, words) in [
            (121, "nobody answers at 0x76: is the sensor connected?"),
            (6, "nobody answers at 0x76: is the sensor connected?"),
            (110, "stuck (asking 0x76): check its wires"),
            (5, "stuck (asking 0x76): check its wires"),
            (71, "stuck (asking 0x76): check its wires"),
            (11, "another master holds the bus"),
            (75, "the bus was too fast for 0x76"),
            (95, "the bus gave no answer from 0x76"),
        ] {
            let mut bus = Ending(Errno::from_raw_os_error(errno));
            let reason = driver.sample(&mut bus, &mut Delay).unwrap_err();
            assert!(reason.as_str().contains(words), "{errno}: {reason}");
        }
    }

    #[test]
    fn a_bus_that_does_not_open_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().to_owned(),
            dev: dir.path().to_owned(),
        };
        let bus = I2cBus::new(&roots, "/dev/i2c-77");
        let reason = bus.sample(&Driver::Ds323x).unwrap_err();
        assert!(reason.as_str().contains("dtparam=i2c_arm=on"), "{reason}");
        let denied = LinuxI2CError::Io(std::io::Error::from_raw_os_error(13));
        let reason = bus.closed(&denied.into());
        assert!(reason.as_str().contains("the group i2c"), "{reason}");
    }

    #[test]
    fn what_the_kernel_drives_itself_is_found_by_its_driver() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().to_owned(),
            dev: dir.path().to_owned(),
        };
        let device = dir.path().join("bus/i2c/devices/1-0068");
        std::fs::create_dir_all(&device).unwrap();
        let bus = I2cBus::new(&roots, "i2c-1");
        assert_eq!(bus.owner(0x68), None);
        std::os::unix::fs::symlink("../../drivers/rtc-ds1307", device.join("driver")).unwrap();
        assert_eq!(bus.owner(0x68).as_deref(), Some("rtc-ds1307"));
        assert_eq!(bus.owner(0x69), None);
    }
}
