use embedded_hal::delay::DelayNs;
use embedded_hal::i2c::I2c;
use sht4x::{Address, Error, Precision, Sht4x};

use super::{bus_fault, measures};
use crate::measure::{Measure, Quantity, Reason, Sampled};

/// What it measures; the humidity's formula goes beyond on both sides.
const CELSIUS: (f64, f64) = (-40.0, 125.0);
const PERCENT: (f64, f64) = (0.0, 100.0);

pub(super) fn sample<B: I2c, D: DelayNs>(bus: &mut B, delay: &mut D, address: u8) -> Sampled {
    let at = match address {
        0x44 => Address::Address0x44,
        0x45 => Address::Address0x45,
        0x46 => Address::Address0x46,
        _ => return Err(Reason::of(format_args!("no SHT4x is at {address:#04x}"))),
    };
    let mut sensor = Sht4x::new_with_address(bus, at);
    let measured = sensor
        .measure(Precision::High, delay)
        .map_err(|error| match error {
            Error::I2c(error) => bus_fault(&error, address),
            Error::Crc => Reason::of(format_args!(
                "the answer from {address:#04x} was garbled: check the wires"
            )),
            _ => Reason::of(format_args!(
                "the SHT4x at {address:#04x} answered nonsense"
            )),
        })?;
    let milli = |value: i32| f64::from(value) / 1_000.0;
    let temperature = milli(measured.temperature_milli_celsius());
    let humidity = milli(measured.humidity_milli_percent());
    measures(&[
        Measure::within(Quantity::Temperature, temperature, CELSIUS),
        Measure::within(Quantity::Humidity, humidity, PERCENT),
    ])
}
