use ads1x1x::{Ads1x1x, Error, FullScaleRange, TargetAddr, channel};
use embedded_hal::delay::DelayNs;
use embedded_hal::i2c::I2c;

use super::{bus_fault, measures};
use crate::limits::CONVERSION_POLLS_MAX;
use crate::measure::{Measure, Quantity, Reason, Sampled};

/// How fine a converter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdcKind {
    /// An ADS1015: 12 bits.
    Bits12,
    /// An ADS1115: 16 bits.
    Bits16,
}

/// Between which pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdcInput {
    /// A0 and ground.
    A0,
    /// A1 and ground.
    A1,
    /// A2 and ground.
    A2,
    /// A3 and ground.
    A3,
    /// A0 and A1.
    A0A1,
    /// A2 and A3.
    A2A3,
}

/// The largest voltage, which decides how fine the small ones are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdcRange {
    /// 6.144 V
    V6_144,
    /// 4.096 V
    V4_096,
    /// 2.048 V
    V2_048,
    /// 1.024 V
    V1_024,
    /// 0.512 V
    V0_512,
    /// 0.256 V
    V0_256,
}

impl AdcRange {
    /// In volt.
    #[must_use]
    pub const fn volt(self) -> f64 {
        match self {
            Self::V6_144 => 6.144,
            Self::V4_096 => 4.096,
            Self::V2_048 => 2.048,
            Self::V1_024 => 1.024,
            Self::V0_512 => 0.512,
            Self::V0_256 => 0.256,
        }
    }

    const fn chip(self) -> FullScaleRange {
        match self {
            Self::V6_144 => FullScaleRange::Within6_144V,
            Self::V4_096 => FullScaleRange::Within4_096V,
            Self::V2_048 => FullScaleRange::Within2_048V,
            Self::V1_024 => FullScaleRange::Within1_024V,
            Self::V0_512 => FullScaleRange::Within0_512V,
            Self::V0_256 => FullScaleRange::Within0_256V,
        }
    }
}

pub(super) fn sample<B: I2c, D: DelayNs>(
    bus: &mut B,
    delay: &mut D,
    address: u8,
    (kind, input, range): (AdcKind, AdcInput, AdcRange),
) -> Sampled {
    let at = match address {
        0x48 => TargetAddr::Gnd,
        0x49 => TargetAddr::Vdd,
        0x4A => TargetAddr::Sda,
        0x4B => TargetAddr::Scl,
        _ => return Err(Reason::of(format_args!("no ADS1x1x is at {address:#04x}"))),
    };
    // A macro, for each pin is a type and each chip another.
    macro_rules! read {
        ($chip:expr, $steps:expr) => {{
            let mut chip = $chip;
            chip.set_full_scale_range(range.chip())
                .map_err(|error| fault(error, address))?;
            let raw = match input {
                AdcInput::A0 => wait(delay, address, || chip.read(channel::SingleA0)),
                AdcInput::A1 => wait(delay, address, || chip.read(channel::SingleA1)),
                AdcInput::A2 => wait(delay, address, || chip.read(channel::SingleA2)),
                AdcInput::A3 => wait(delay, address, || chip.read(channel::SingleA3)),
                AdcInput::A0A1 => wait(delay, address, || chip.read(channel::DifferentialA0A1)),
                AdcInput::A2A3 => wait(delay, address, || chip.read(channel::DifferentialA2A3)),
            };
            volt(raw?, $steps, range)
        }};
    }
    let measured = match kind {
        AdcKind::Bits12 => read!(Ads1x1x::new_ads1015(bus, at), 2_048.0),
        AdcKind::Bits16 => read!(Ads1x1x::new_ads1115(bus, at), 32_768.0),
    };
    measures(&[measured])
}

/// The chip counts from `-steps` to `steps - 1`, and stops there: a loop that is cut or overdriven
/// shows as one of both.
pub(super) fn volt(raw: i16, steps: f64, range: AdcRange) -> Measure {
    let volt = |raw: f64| raw / steps * range.volt();
    let ends = (volt(-steps), volt(steps - 1.0));
    Measure::within(Quantity::Voltage, volt(f64::from(raw)), ends)
}

/// Asks until the conversion is done, within a bound.
fn wait<E: embedded_hal::i2c::Error, D: DelayNs>(
    delay: &mut D,
    address: u8,
    mut read: impl FnMut() -> nb::Result<i16, Error<E>>,
) -> Result<i16, Reason> {
    for _ in 0..CONVERSION_POLLS_MAX {
        match read() {
            Ok(raw) => return Ok(raw),
            Err(nb::Error::WouldBlock) => delay.delay_ms(1),
            Err(nb::Error::Other(error)) => return Err(fault(error, address)),
        }
    }
    Err(Reason::of(format_args!(
        "the converter at {address:#04x} does not finish"
    )))
}

fn fault<E: embedded_hal::i2c::Error>(error: Error<E>, address: u8) -> Reason {
    match error {
        Error::I2C(error) => bus_fault(&error, address),
        Error::InvalidInputData => Reason::of(format_args!(
            "the converter at {address:#04x} answered nonsense"
        )),
    }
}
