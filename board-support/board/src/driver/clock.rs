use ds323x::{DateTimeAccess as _, Ds323x, Error};
use embedded_hal::i2c::I2c;

use super::{bus_fault, measures};
use crate::measure::{Measure, Quantity, Reason, Sampled};

/// A clock that stood still since it was set has lost its battery: its time is no time.
pub(super) fn sample<B: I2c>(bus: &mut B) -> Sampled {
    const ADDRESS: u8 = 0x68;
    let mut clock = Ds323x::new_ds3231(bus);
    let fault = |error: Error<B::Error>| match error {
        Error::Comm(error) => bus_fault(&error, ADDRESS),
        Error::InvalidInputData | Error::InvalidDeviceState => Reason::of(format_args!(
            "the clock at {ADDRESS:#04x} answered nonsense"
        )),
    };
    if clock.has_been_stopped().map_err(fault)? {
        return Err(Reason::new(
            "the clock stood still since it was set: replace its battery and set it",
        ));
    }
    let time = clock.datetime().map_err(fault)?.and_utc().timestamp();
    let celsius = clock.temperature().map_err(fault)?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds of this century are exact in 53 bits"
    )]
    let seconds = time as f64;
    measures(&[
        Measure::good(Quantity::Clock, seconds),
        Measure::good(Quantity::Temperature, f64::from(celsius)),
    ])
}
