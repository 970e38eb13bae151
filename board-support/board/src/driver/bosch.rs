use bme280::Error;
use bme280::i2c::BME280;
use embedded_hal::delay::DelayNs;
use embedded_hal::i2c::I2c;

use super::{bus_fault, measures, not_itself};
use crate::measure::{Quantity, Reason, Sampled};

/// The register that tells the two apart, and what a BMP280 says in it.
const ID_REGISTER: u8 = 0xD0;
const BMP280_ID: u8 = 0x58;

pub(super) fn sample<B: I2c, D: DelayNs>(bus: &mut B, delay: &mut D, address: u8) -> Sampled {
    let mut id = [0];
    bus.write_read(address, &[ID_REGISTER], &mut id)
        .map_err(|error| bus_fault(&error, address))?;
    let mut sensor = BME280::new(bus, address);
    sensor.init(delay).map_err(|error| fault(error, address))?;
    let measured = sensor
        .measure(delay)
        .map_err(|error| fault(error, address))?;
    let temperature = (Quantity::Temperature, f64::from(measured.temperature));
    let pressure = (Quantity::Pressure, f64::from(measured.pressure) / 100.0);
    if id == [BMP280_ID] {
        return measures(&[temperature, pressure]);
    }
    let humidity = (Quantity::Humidity, f64::from(measured.humidity));
    measures(&[temperature, humidity, pressure])
}

fn fault<E: embedded_hal::i2c::Error>(error: Error<E>, address: u8) -> Reason {
    match error {
        Error::Bus(error) => bus_fault(&error, address),
        Error::UnsupportedChip => not_itself(address, "BME280 or BMP280"),
        Error::Delay
        | Error::InvalidData
        | Error::CompensationFailed
        | Error::NoCalibrationData => Reason::of(format_args!(
            "the BME280 at {address:#04x} answered nonsense"
        )),
    }
}
