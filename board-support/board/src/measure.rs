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
    /// In the unit of that; always a number.
    pub value: f64,
    /// Why it is uncertain, if it is.
    pub doubt: Option<Doubt>,
}

/// Why a value is not to be believed as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It is at an end of what the sensor can measure: the truth may lie beyond.
    AtEnd,
    /// It is what the sensor shows after power came, before it measured.
    Fresh,
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

impl Measure {
    /// A value that is believed.
    #[must_use]
    pub const fn good(quantity: Quantity, value: f64) -> Self {
        Self {
            quantity,
            value,
            doubt: None,
        }
    }

    /// A value of a sensor that measures from `low` to `high`: it is uncertain there and beyond.
    #[must_use]
    pub fn within(quantity: Quantity, value: f64, (low, high): (f64, f64)) -> Self {
        let is_inside = value > low && value < high;
        Self {
            quantity,
            value,
            doubt: (!is_inside).then_some(Doubt::AtEnd),
        }
    }

    /// How far it is to be believed.
    #[must_use]
    pub const fn quality(&self) -> Quality {
        match self.doubt {
            None => Quality::Good,
            Some(Doubt::AtEnd | Doubt::Fresh) => Quality::Uncertain,
        }
    }
}

impl Doubt {
    /// In words for who reads the value.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::AtEnd => "at the end of what the sensor can measure",
            Self::Fresh => "what the sensor shows before it has measured",
        }
    }
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
    fn a_value_is_certain_only_between_the_ends() {
        let quality = |value| Measure::within(Quantity::Humidity, value, (0.0, 100.0)).quality();
        for value in [0.1, 50.0, 99.9] {
            assert_eq!(quality(value), Quality::Good, "{value}");
        }
        for value in [-1.0, 0.0, 100.0, 120.0, f64::NAN] {
            assert_eq!(quality(value), Quality::Uncertain, "{value}");
        }
    }

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
