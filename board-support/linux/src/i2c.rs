use frond_board::{Driver, Reason, Sampled};
use linux_embedded_hal::{Delay, I2cdev};

use crate::roots::Roots;

/// An I²C bus. It is opened for each sample: an adapter that was not there may come.
#[derive(Clone, Debug)]
pub struct I2cBus {
    path: std::path::PathBuf,
}

impl I2cBus {
    /// The bus of that name below `/dev`.
    #[must_use]
    pub fn new(roots: &Roots, name: &str) -> Self {
        Self {
            path: roots.device(name),
        }
    }

    /// One sample of a sensor. It may hang as long as the bus does.
    ///
    /// # Errors
    /// Why there is no value.
    pub fn sample(&self, driver: &Driver) -> Sampled {
        let mut bus = I2cdev::new(&self.path).map_err(|error| {
            let shown = self.path.display();
            Reason::of(format_args!("the bus {shown} does not open: {error}"))
        })?;
        driver.sample(&mut bus, &mut Delay)
    }
}
