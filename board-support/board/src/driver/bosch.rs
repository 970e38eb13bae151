use bme280::Error;
use bme280::i2c::BME280;
use embedded_hal::delay::DelayNs;
use embedded_hal::i2c::I2c;

use super::{bus_fault, measures, not_itself};
use crate::measure::{Measure, Quantity, Reason, Sampled};

/// The register that tells the two apart, and what a BMP280 says in it.
const ID_REGISTER: u8 = 0xD0;
const BMP280_ID: u8 = 0x58;

/// Where pressure, temperature and humidity are, and what stands for a temperature that was not
/// measured: the chip lost its settings with its power.
const DATA_REGISTER: u8 = 0xF7;
const SKIPPED: [u8; 3] = [0x80, 0, 0];

/// The driver cuts values to these.
const CELSIUS: (f64, f64) = (-40.0, 85.0);
const PERCENT: (f64, f64) = (0.0, 100.0);
const HECTOPASCAL: (f64, f64) = (300.0, 1_100.0);

pub(super) fn sample<B: I2c, D: DelayNs>(bus: &mut B, delay: &mut D, address: u8) -> Sampled {
    let mut id = [0];
    bus.write_read(address, &[ID_REGISTER], &mut id)
        .map_err(|error| bus_fault(&error, address))?;
    let mut sensor = BME280::new(&mut *bus, address);
    sensor.init(delay).map_err(|error| fault(error, address))?;
    let measured = sensor
        .measure(delay)
        .map_err(|error| fault(error, address))?;
    let mut raw = [0; 8];
    bus.write_read(address, &[DATA_REGISTER], &mut raw)
        .map_err(|error| bus_fault(&error, address))?;
    if raw[3..6] == SKIPPED {
        return Err(Reason::of(format_args!(
            "the BME280 at {address:#04x} lost its power while it measured"
        )));
    }
    let temperature = f64::from(measured.temperature);
    let temperature = Measure::within(Quantity::Temperature, temperature, CELSIUS);
    let pressure = f64::from(measured.pressure) / 100.0;
    let pressure = Measure::within(Quantity::Pressure, pressure, HECTOPASCAL);
    if id == [BMP280_ID] {
        return measures(&[temperature, pressure]);
    }
    let humidity = f64::from(measured.humidity);
    let humidity = Measure::within(Quantity::Humidity, humidity, PERCENT);
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
