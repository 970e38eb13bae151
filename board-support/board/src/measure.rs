use core::fmt::{self, Write as _};

use crate::limits::{MEASURES_MAX, REASON_BYTES_MAX};

/// What a sensor gave, or why it gave nothing. There is always one of both: a stuck bus is no
/// silence.
pub type Sampled = Result<Measures, Reason>;

/// The values of one moment.
pub type Measures = heapless::Vec<Measure, MEASURES_MAX>;

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Of what.
    pub quantity: Quantity,
    /// In the unit of that.
    pub value: f64,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// In degrees Celsius.
    Temperature,
    /// Relative, in percent.
    Humidity,
    /// In hectopascal.
    Pressure,
    /// In volt.
    Voltage,
    /// In ampere.
    Current,
    /// In watt.
    Power,
    /// Seconds since 1970, of a clock.
    Clock,
    /// A number whose meaning the configuration knows.
    Number,
}

/// How far a value is to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// It was measured just now and makes sense.
    Good,
    /// It was measured and is at the edge of what the sensor can, or old.
    Uncertain,
    /// There is no value.
    Bad,
}

impl Quantity {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::Humidity => "humidity",
            Self::Pressure => "pressure",
            Self::Voltage => "voltage",
            Self::Current => "current",
            Self::Power => "power",
            Self::Clock => "clock",
            Self::Number => "value",
        }
    }

    /// The unit a value comes in.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Temperature => "C",
            Self::Humidity => "%",
            Self::Pressure => "hPa",
            Self::Voltage => "V",
            Self::Current => "A",
            Self::Power => "W",
            Self::Clock => "s",
            Self::Number => "",
        }
    }
}

impl Quality {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Uncertain => "uncertain",
            Self::Bad => "bad",
        }
    }
}

/// Why there is no value, in words for who reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason(heapless::String<REASON_BYTES_MAX>);

impl Reason {
    /// A text; what is too long is cut.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self::of(format_args!("{text}"))
    }

    /// A text to be made; what is too long is cut.
    #[must_use]
    pub fn of(text: fmt::Arguments<'_>) -> Self {
        let mut reason = Self::default();
        // Cut is better than nothing.
        let _ = reason.write_fmt(text);
        reason
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Write for Reason {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.0.push(c).map_err(|_| fmt::Error)?;
        }
        Ok(())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_is_too_long_is_cut_at_a_letter() {
        let long = [[0xC3, 0xA4]; REASON_BYTES_MAX / 2 + 1];
        let reason = Reason::new(core::str::from_utf8(long.as_flattened()).unwrap());
        assert_eq!(reason.as_str().len(), REASON_BYTES_MAX / 2 * 2);
        assert_eq!(
            Reason::of(format_args!("at {:#x}", 0x76)).as_str(),
            "at 0x76"
        );
    }
}
