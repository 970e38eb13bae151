use std::io;

use embedded_hal::spi::SpiDevice;
use linux_embedded_hal::SpidevDevice;
use linux_embedded_hal::spidev::{SpiModeFlags, Spidev, SpidevOptions};

use crate::roots::Roots;
use crate::told::{Help, told};

/// A device on an SPI bus, with the chip select that the kernel leads for it.
pub struct Spi {
    device: SpidevDevice,
}

/// How a device wants to be talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpiOptions {
    /// The fastest clock it takes, in hertz.
    pub clock_hz: u32,
    /// When bits are read.
    pub mode: SpiMode,
}

/// Which edge of the clock counts, as datasheets number it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpiMode {
    /// The clock rests low; bits are read as it rises.
    #[default]
    Mode0,
    /// The clock rests low; bits are read as it falls.
    Mode1,
    /// The clock rests high; bits are read as it falls.
    Mode2,
    /// The clock rests high; bits are read as it rises.
    Mode3,
}

const HELP: Help = Help {
    missing: "switch SPI on (dtparam=spi=on)",
    denied: "put the service into the group spi",
    busy: "another program has it",
};

impl Default for SpiOptions {
    fn default() -> Self {
        Self {
            clock_hz: 1_000_000,
            mode: SpiMode::Mode0,
        }
    }
}

impl Spi {
    /// Opens the device of that name below `/dev` (`spidev0.0`).
    ///
    /// # Errors
    /// When it is not there, is no SPI device, or does not take the options.
    pub fn open(roots: &Roots, name: &str, options: SpiOptions) -> io::Result<Self> {
        let path = roots.device(name);
        let mode = match options.mode {
            SpiMode::Mode0 => SpiModeFlags::SPI_MODE_0,
            SpiMode::Mode1 => SpiModeFlags::SPI_MODE_1,
            SpiMode::Mode2 => SpiModeFlags::SPI_MODE_2,
            SpiMode::Mode3 => SpiModeFlags::SPI_MODE_3,
        };
        let mut wanted = SpidevOptions::new();
        wanted.bits_per_word(8).max_speed_hz(options.clock_hz);
        let wanted = wanted.mode(mode).build();
        let opened = Spidev::open(&path).and_then(|mut device| {
            device.configure(&wanted)?;
            Ok(device)
        });
        let device = opened.map_err(|error| told(&path, &error, HELP))?;
        let device = SpidevDevice(device);
        Ok(Self { device })
    }

    /// The device as drivers want it.
    pub fn device(&mut self) -> &mut impl SpiDevice {
        &mut self.device
    }
}

impl std::fmt::Debug for Spi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spi").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_spi_device_is_refused_by_name() {
        let roots = Roots::default();
        for (name, want) in [
            ("no-such-spidev", "/dev/no-such-spidev: "),
            ("no-such-spidev", "dtparam=spi=on"),
            ("/dev/null", "/dev/null: "),
        ] {
            let error = Spi::open(&roots, name, SpiOptions::default()).unwrap_err();
            assert!(error.to_string().contains(want), "{error}");
        }
    }
}
