use embedded_hal::delay::DelayNs;
use embedded_hal::i2c::{ErrorKind, I2c, NoAcknowledgeSource};

use crate::measure::{Measure, Quantity, Reason, Sampled};

mod adc;
mod bosch;
mod clock;
mod power;
mod sensirion;
mod thermometer;

pub use adc::{AdcInput, AdcKind, AdcRange};

/// A sensor on an I²C bus.
///
/// Nothing is remembered between two samples: a sensor that was pulled out and put back, or
/// replaced by another, is read like on the first day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Driver {
    /// Temperature, pressure and humidity (a BMP280 has no humidity).
    Bme280 {
        /// 0x76 or 0x77.
        address: u8,
    },
    /// Temperature and humidity.
    Sht4x {
        /// 0x44 to 0x46.
        address: u8,
    },
    /// One voltage of an ADS1013 to ADS1115.
    Ads1x1x {
        /// 0x48 to 0x4B.
        address: u8,
        /// 12 or 16 bits.
        kind: AdcKind,
        /// Which pins.
        input: AdcInput,
        /// The largest voltage.
        range: AdcRange,
    },
    /// Voltage, current and power.
    Ina219 {
        /// 0x40 to 0x4F.
        address: u8,
        /// The resistor in the line, in ohm.
        shunt_ohm: f64,
    },
    /// Temperature.
    Mcp9808 {
        /// 0x18 to 0x1F.
        address: u8,
    },
    /// Temperature.
    Lm75 {
        /// 0x48 to 0x4F.
        address: u8,
    },
    /// The time of a real-time clock and its temperature; always at 0x68.
    Ds323x,
}

impl Driver {
    /// Where it is on the bus.
    #[must_use]
    pub const fn address(&self) -> u8 {
        match self {
            Self::Bme280 { address }
            | Self::Sht4x { address }
            | Self::Ads1x1x { address, .. }
            | Self::Ina219 { address, .. }
            | Self::Mcp9808 { address }
            | Self::Lm75 { address } => *address,
            Self::Ds323x => 0x68,
        }
    }

    /// What it measures.
    #[must_use]
    pub const fn quantities(&self) -> &'static [Quantity] {
        match self {
            Self::Bme280 { .. } => &[
                Quantity::Temperature,
                Quantity::Humidity,
                Quantity::Pressure,
            ],
            Self::Sht4x { .. } => &[Quantity::Temperature, Quantity::Humidity],
            Self::Ads1x1x { .. } => &[Quantity::Voltage],
            Self::Ina219 { .. } => &[Quantity::Voltage, Quantity::Current, Quantity::Power],
            Self::Mcp9808 { .. } | Self::Lm75 { .. } => &[Quantity::Temperature],
            Self::Ds323x => &[Quantity::Clock, Quantity::Temperature],
        }
    }

    /// One sample. It may take as long as the bus lets it: the caller bounds the time.
    ///
    /// # Errors
    /// Why there is no value.
    pub fn sample<B: I2c, D: DelayNs>(&self, bus: &mut B, delay: &mut D) -> Sampled {
        match *self {
            Self::Bme280 { address } => bosch::sample(bus, delay, address),
            Self::Sht4x { address } => sensirion::sample(bus, delay, address),
            Self::Ads1x1x {
                address,
                kind,
                input,
                range,
            } => adc::sample(bus, delay, address, (kind, input, range)),
            Self::Ina219 { address, shunt_ohm } => power::sample(bus, address, shunt_ohm),
            Self::Mcp9808 { address } => thermometer::sample(bus, address),
            Self::Lm75 { address } => thermometer::sample_plain(bus, address),
            Self::Ds323x => clock::sample(bus),
        }
    }
}

/// What is no number is no value.
fn measures(values: &[Measure]) -> Sampled {
    match values.iter().find(|measure| !measure.value.is_finite()) {
        Some(measure) => Err(Reason::of(format_args!(
            "the {} that was measured is no number",
            measure.quantity.name()
        ))),
        None => Ok(values.iter().copied().collect()),
    }
}

/// What a failed transfer means to who stands before the box.
fn bus_fault<E: embedded_hal::i2c::Error>(error: &E, address: u8) -> Reason {
    match error.kind() {
        ErrorKind::NoAcknowledge(NoAcknowledgeSource::Data) => Reason::of(format_args!(
            "the sensor at {address:#04x} refused what it was sent"
        )),
        ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address | NoAcknowledgeSource::Unknown) => {
            Reason::of(format_args!(
                "nobody answers at {address:#04x}: is the sensor connected?"
            ))
        }
        ErrorKind::ArbitrationLoss => Reason::of(format_args!(
            "another master holds the bus (asking {address:#04x})"
        )),
        ErrorKind::Bus => Reason::of(format_args!(
            "the bus is disturbed or stuck (asking {address:#04x}): check its wires"
        )),
        ErrorKind::Overrun => Reason::of(format_args!("the bus was too fast for {address:#04x}")),
        // The enum is open: what it may gain is told in its own words.
        ErrorKind::Other | _ => Reason::of(format_args!(
            "the bus gave no answer from {address:#04x}: {error:?}"
        )),
    }
}

fn not_itself(address: u8, what: &str) -> Reason {
    Reason::of(format_args!("what answers at {address:#04x} is no {what}"))
}

#[cfg(test)]
mod tests;
