use embedded_hal::i2c::I2c;
use mcp9808::MCP9808;
use mcp9808::error::Error;
use mcp9808::reg_manuf_id::ManufacturerId as _;
use mcp9808::reg_temp_generic::ReadableTempRegister as _;

use super::{bus_fault, measures, not_itself};
use crate::measure::{Doubt, Measure, Quantity, Reason, Sampled};

/// Microchip's number.
const MAKER: u16 = 0x0054;

pub(super) fn sample<B: I2c>(bus: &mut B, address: u8) -> Sampled {
    let mut sensor = MCP9808::new(bus);
    let offset = address.wrapping_sub(BASE);
    let bit = |n: u8| (offset >> n) & 1 == 1;
    if offset > 7 {
        return Err(Reason::of(format_args!("no MCP9808 is at {address:#04x}")));
    }
    sensor.set_address(mcp9808::address::SlaveAddress::Alternative {
        a2: bit(2),
        a1: bit(1),
        a0: bit(0),
    });
    let fault = |error: Error<B::Error>| match error {
        Error::I2c(error) => bus_fault(&error, address),
        Error::RegisterSizeMismatch(_) => Reason::of(format_args!(
            "the MCP9808 at {address:#04x} answered nonsense"
        )),
    };
    let maker = sensor.read_manufacturer_id().map_err(fault)?;
    if maker.get_manufacturer_id() != MAKER {
        return Err(not_itself(address, "MCP9808"));
    }
    let temperature = sensor.read_temperature().map_err(fault)?;
    let raw = temperature.get_raw_value();
    let mut measured = Measure::within(Quantity::Temperature, celsius(raw), CELSIUS);
    if raw == FRESH {
        measured.doubt = Some(Doubt::Fresh);
    }
    measures(&[measured])
}

/// An LM75 or one of the many that are read like it (TMP75, TMP102, TMP105): a register of sixteen
/// bits, in 1/256 of a degree, whose last four are never set.
pub(super) fn sample_plain<B: I2c>(bus: &mut B, address: u8) -> Sampled {
    let mut bytes = [0; 2];
    bus.write_read(address, &[PLAIN_REGISTER], &mut bytes)
        .map_err(|error| bus_fault(&error, address))?;
    let raw = i16::from_be_bytes(bytes);
    if raw & 0xF != 0 {
        return Err(not_itself(address, "LM75"));
    }
    let celsius = f64::from(raw) / 256.0;
    measures(&[Measure::within(
        Quantity::Temperature,
        celsius,
        CELSIUS_PLAIN,
    )])
}

const PLAIN_REGISTER: u8 = 0;
const CELSIUS_PLAIN: (f64, f64) = (-55.0, 125.0);

/// What it measures.
const CELSIUS: (f64, f64) = (-40.0, 125.0);

/// What it shows in the quarter of a second after power came. Zero degrees that were measured carry
/// a flag: they are not below the critical temperature, which is zero after power came.
const FRESH: u16 = 0;

/// Thirteen bits in two's complement, in sixteenths; three flags above. (The driver's own
/// conversion drops the sign.)
fn celsius(raw: u16) -> f64 {
    let bits = i32::from(raw & 0x1FFF);
    let signed = if bits >= 0x1000 { bits - 0x2000 } else { bits };
    f64::from(signed) / 16.0
}

/// The address with all pins low.
const BASE: u8 = 0x18;
