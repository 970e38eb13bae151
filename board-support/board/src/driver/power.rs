use embedded_hal::i2c::I2c;
use ina219::SyncIna219;
use ina219::address::Address;
use ina219::calibration::UnCalibrated;
use ina219::errors::{BusVoltageReadError, ShuntVoltageReadError};

use super::{bus_fault, measures};
use crate::measure::{Measure, Quantity, Reason, Sampled};

/// What the chip takes on the line it measures, in volt, and over the resistor as it is after power
/// came.
const VOLT: (f64, f64) = (-0.001, 26.0);
const DROP_VOLT: (f64, f64) = (-0.32, 0.32);

/// Voltage and the drop over the resistor are measured, the rest is Ohm's law: the chip's own
/// arithmetic would have to be set up anew after each loss of its power.
pub(super) fn sample<B: I2c>(bus: &mut B, address: u8, shunt_ohm: f64) -> Sampled {
    let at = Address::from_byte(address)
        .map_err(|_| Reason::of(format_args!("no INA219 is at {address:#04x}")))?;
    if !(shunt_ohm.is_finite() && shunt_ohm > 0.0) {
        return Err(Reason::of(format_args!(
            "no current flows through {shunt_ohm} ohm: give the resistor of the INA219"
        )));
    }
    let mut sensor = SyncIna219::new_unchecked(bus, at, UnCalibrated);
    let nonsense = || {
        Reason::of(format_args!(
            "the INA219 at {address:#04x} answered nonsense"
        ))
    };
    let volt = sensor.bus_voltage().map_err(|error| match error {
        BusVoltageReadError::I2cError(error) => bus_fault(&error, address),
        BusVoltageReadError::BusVoltageOutOfRange { .. } => nonsense(),
    })?;
    let drop = sensor.shunt_voltage().map_err(|error| match error {
        ShuntVoltageReadError::I2cError(error) => bus_fault(&error, address),
        ShuntVoltageReadError::ShuntVoltageOutOfRange { .. } => nonsense(),
    })?;
    let volt = f64::from(volt.voltage_mv()) / 1_000.0;
    let drop_volt = f64::from(drop.shunt_voltage_uv()) / 1_000_000.0;
    let ampere = drop_volt / shunt_ohm;
    let voltage = Measure::within(Quantity::Voltage, volt, VOLT);
    let (least, most) = DROP_VOLT;
    let ends = (least / shunt_ohm, most / shunt_ohm);
    let current = Measure::within(Quantity::Current, ampere, ends);
    let power = Measure {
        quantity: Quantity::Power,
        value: volt * ampere,
        doubt: voltage.doubt.or(current.doubt),
    };
    measures(&[voltage, current, power])
}
